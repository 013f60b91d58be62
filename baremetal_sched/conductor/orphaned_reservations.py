"""Nodes reserved by a conductor that is gone or stops: their work has failed, or is handed over.

Work that was requested but not begun is done normally. So is polled work: the machine runs the step by itself, and any
conductor can ask for its progress.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog
from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.baremetal.provisioning import completion
from baremetal_sched.baremetal.provisioning.completion import FailureReason
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.db.models import Node, NodeWork
from baremetal_sched.db.types import Rows

log = structlog.get_logger(__name__)

#: Number of nodes that are freed or taken over concurrently.
_AT_ONCE = 4

_CAN_NOT_BE_RESUMED = "The {state} state can't be resumed by conductor %s. Moving to fail state."

_TAKE_OVER = FailureReason(
    power="Pending power operation was aborted due to conductor take over",
    provisioning="Operation was aborted due to conductor take over",
    event_type="takeover",
)

_CAN_GO_ON = select(NodeWork.id).where(NodeWork.node_id == Node.id, work_queue.CAN_BE_HANDED_OVER)
_IS_POLLED = select(NodeWork.id).where(NodeWork.node_id == Node.id, NodeWork.not_before.is_not(None))


def release(host: ConductorHost) -> None:
    """Free the nodes of this conductor that are reserved by a dead one, in maintenance or not. This conductor takes
    over work that was not begun, and polled work."""
    orphan = completion.is_orphan(host.settings.conductor.heartbeat_timeout)
    begun = and_(orphan, ~_CAN_GO_ON.exists())
    _release(host, host.own(begun), begun, _TAKE_OVER)
    _take_over_work(host, host.own(and_(orphan, _CAN_GO_ON.exists())))


def release_before_start(host: ConductorHost) -> None:
    """Release reservations left by a previous process with this conductor's host name. Its polled work continues."""
    why = FailureReason(
        power="Pending power operation was aborted due to conductor restart",
        provisioning=_CAN_NOT_BE_RESUMED % host.name,
        event_type="conductor",
    )
    unfinished = and_(Node.reservation == host.name, ~_CAN_GO_ON.exists())
    _release(host, _select(host, unfinished), unfinished, why)
    _take_over_work(host, _select(host, and_(Node.reservation == host.name, _IS_POLLED.exists())))


def release_after_stop(host: ConductorHost, process: str) -> None:
    """Free the nodes that this conductor, which is ``process``, leaves unfinished, except those of a new process with
    the same host name, and polled ones: another conductor continues with them."""
    of_another = select(NodeWork.id).where(NodeWork.node_id == Node.id, NodeWork.claimed_by != process)
    why = FailureReason(
        power="Pending power operation was aborted because the conductor was stopped",
        provisioning="Operation was aborted because the conductor was stopped",
        event_type="conductor",
    )
    unfinished = and_(Node.reservation == host.name, ~of_another.exists(), ~_IS_POLLED.exists())
    _release(host, _select(host, unfinished), unfinished, why)


def _take_over_work(host: ConductorHost, node_ids: list[int]) -> None:
    def hand_over(session: Session, node_id: int) -> bool:
        work_id = session.scalar(select(NodeWork.id).where(NodeWork.node_id == node_id))
        return work_id is not None and work_queue.hand_over(session, work_id, host.name)

    def take_over(node_id: int) -> None:
        if host.database.write(partial(hand_over, node_id=node_id)):
            log.info("took work over", conductor=host.name, node_id=node_id)

    _for_each(node_ids, take_over)


def _select(host: ConductorHost, condition: ColumnElement[bool]) -> list[int]:
    return host.database.read(lambda session: list(session.scalars(select(Node.id).where(condition).order_by(Node.id))))


def _release(host: ConductorHost, node_ids: list[int], condition: ColumnElement[bool], why: FailureReason) -> None:
    def free(node_id: int) -> None:
        if host.database.write(
            partial(completion.release_abandoned, node_id=node_id, condition=condition, conductor=host.name, why=why)
        ):
            log.warning("released a node", conductor=host.name, node_id=node_id, because=why.event_type)

    _for_each(node_ids, free)


def _for_each(node_ids: Iterable[int], action: Callable[[int], None]) -> None:
    """Run the action for several nodes concurrently, as requests wait for each of them. Raises an error at the end."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(action, node_ids))


def fail_unfinished(host: ConductorHost) -> None:
    """Fail the nodes of this conductor that are in a state of work in progress without any work."""
    for state in sorted(state_machine.TRANSIENT):
        unfinished = and_(Node.reservation.is_(None), Node.provision_state == state)
        reason = (_CAN_NOT_BE_RESUMED % host.name).format(state=state)
        for node_id in host.own(unfinished):
            host.database.write(
                partial(
                    completion.fail_abandoned, node_id=node_id, condition=unfinished, conductor=host.name, reason=reason
                )
            )
            log.warning("failed an abandoned node", conductor=host.name, node_id=node_id, state=state)


def hand_over(host: ConductorHost, *, with_polls: bool = False) -> None:
    """Hand over unclaimed work to the new owners of the nodes, after this conductor has signed off.

    ``with_polls``: also polled steps for which a worker here waits for a driver that does not return.
    """
    condition = work_queue.CAN_BE_HANDED_OVER if with_polls else NodeWork.claimed_by.is_(None)

    def select_work(session: Session) -> Rows:
        return session.execute(
            select(NodeWork.id, Node.uuid, Node.conductor_group, Node.driver)
            .join(Node, Node.id == NodeWork.node_id)
            .where(NodeWork.conductor == host.name, condition)
            .order_by(NodeWork.id)
        ).all()

    membership = host.membership()
    handed = 0
    for work_id, uuid, group, driver in host.database.read(select_work):
        owner = membership.owner(uuid, group, driver)
        if owner is not None:
            handed += host.database.write(partial(work_queue.hand_over, work_id=work_id, conductor=owner))
    if handed:
        log.info("handed work over", conductor=host.name, pieces=handed)
