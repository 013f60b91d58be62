"""The sweep over ends that are due: conductors tell of what ends soon, and give back the machines of their nodes.

Each end is a transaction of its own: it takes the end, and requests the work or releases the claim. So whoever dies
leaves it as it was, or as it should be, and another conductor goes on.
"""

import time
from functools import partial
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Connection, and_, exists, or_, select
from sqlalchemy.orm import Session, aliased
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.db.clock import statement_epoch
from baremetal_sched.db.models import Node
from baremetal_sched.db.notes import note_booked
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import SchedulerError
from baremetal_sched.placement import ending
from baremetal_sched.placement.ends import ENDING
from baremetal_sched.placement.events import ENDS_SOON
from baremetal_sched.placement.events import LATE as LATE_EVENT
from baremetal_sched.placement.tables import ALLOCATIONS, CLAIM_ENDS, PROVIDERS
from baremetal_sched.scheduling.giving_back import IS_UNDER_WAY, EndedClaim, give_back
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: The most machines of one sweep, and the seconds that it takes at most.
_MOST = 5000
_SECONDS = 5.0


def sweep(database: Database, settings: Settings, conductor: str, membership: Membership) -> None:
    """Do what is due about the ends of claims of the machines of this conductor (a host name), the longest due first.

    Raises the errors of the database. What cannot be done now is left to the next sweep.
    """
    until = time.monotonic() + _SECONDS
    for consumer, is_over in database.read(partial(_due, conductor=conductor, membership=membership)):
        if time.monotonic() > until:
            break
        try:
            if is_over:
                database.write(partial(settle, consumer=consumer, settings=settings, conductor=conductor))
            else:
                database.change(partial(tell, consumer=consumer, settings=settings))
        except SchedulerError as error:
            log.warning("an end is left to the next sweep", consumer=consumer, reason=str(error))
        except Exception:  # the others must not wait for it
            log.exception("an end is left to the next sweep", consumer=consumer)


def _due(session: Session, conductor: str, membership: Membership) -> list[tuple[int, bool]]:
    """Return the consumers (ids) whose ends are due, of nodes of the conductor and of what is no node; and whether the
    end has come.

    SELECT e.consumer_id, e.ends_at <= now, n.… FROM claim_ends e JOIN allocations a ON a.consumer_id = e.consumer_id
    JOIN resource_providers p ON p.id = a.provider_id JOIN resource_providers r ON r.id = p.root_id
    LEFT JOIN nodes n ON n.uuid = r.uuid WHERE e.due_at <= now AND (<the conductor serves the node> OR <none is held>)
    AND NOT (e.state = 'ending' AND <the node is being undeployed or cleaned>) ORDER BY e.due_at, e.consumer_id LIMIT …
    """
    ends, root, now = CLAIM_ENDS.c, PROVIDERS.alias("root"), statement_epoch()
    is_own = and_(membership.served_by(conductor), ~and_(ends.state == ENDING, IS_UNDER_WAY))
    is_anybodys = and_(Node.id.is_(None), ~exists().where(_held_by(ends.consumer_id, aliased(Node))))
    rows = session.execute(
        select(ends.consumer_id, ends.ends_at <= now, Node.uuid, Node.conductor_group, Node.driver)
        .select_from(CLAIM_ENDS)
        .join(ALLOCATIONS, ALLOCATIONS.c.consumer_id == ends.consumer_id)
        .join(PROVIDERS, PROVIDERS.c.id == ALLOCATIONS.c.provider_id)
        .join(root, root.c.id == PROVIDERS.c.root_id)
        .outerjoin(Node, Node.uuid == root.c.uuid)
        .where(ends.due_at <= now, or_(is_own, is_anybodys))
        .order_by(ends.due_at, ends.consumer_id)
        .limit(_MOST)
    )
    return [
        *dict.fromkeys(
            (consumer, bool(is_over))
            for consumer, is_over, uuid, group, driver in rows
            if uuid is None or membership.owner(uuid, group, driver) == conductor
        )
    ]


def _held_by(consumer: Any, node: Any = Node) -> ColumnElement[bool]:
    """SQL condition on a node: a consumer (an id) has something of it.

    uuid IN (SELECT r.uuid FROM allocations a JOIN … p … JOIN resource_providers r ON r.id = p.root_id WHERE …)
    """
    held, own, root = ALLOCATIONS.alias("held"), PROVIDERS.alias("held_provider"), PROVIDERS.alias("held_root")
    roots = (
        select(root.c.uuid)
        .join_from(held, own, own.c.id == held.c.provider_id)
        .join(root, root.c.id == own.c.root_id)
        .where(held.c.consumer_id == consumer)
        .correlate(CLAIM_ENDS)
    )
    is_held: ColumnElement[bool] = node.uuid.in_(roots)
    return is_held


def tell(connection: Connection, consumer: int, settings: Settings) -> None:
    """Tell of the end of a consumer (an id) that it comes soon: one event of a claim for each interval of the
    settings."""
    seconds = ending.tell(connection, consumer, settings.scheduling.tell_before)
    end = None if seconds is None else ending.find(connection, consumer)
    if end is not None:
        of_one = end.claim == end.uuid
        machines = connection.scalars(select(Node.uuid).where(_held_by(consumer)).limit(2)).all() if of_one else ()
        ending.note(connection, ENDS_SOON, end, machines[0] if len(machines) == 1 else None, seconds=seconds)


def settle(session: Session, consumer: int, settings: Settings, conductor: str) -> None:
    """Give back what a consumer (an id) has, whose end has come, or go on with it; note that it is late if it cannot be
    given back now."""
    nodes = session.scalars(select(Node).where(_held_by(consumer)).order_by(Node.id).with_for_update()).all()
    connection = session.connection()
    end, is_new = ending.lock(connection, consumer)
    if end is None:
        return
    if [*session.scalars(select(Node.id).where(_held_by(consumer)).order_by(Node.id))] != [node.id for node in nodes]:
        raise StaleDataError("the consumer has other machines")
    claim = EndedClaim(
        MachineContext(session, settings), end, nodes, conductor, goes_on=end.state == ENDING and not is_new
    )
    try:
        with session.begin_nested():
            reason = give_back(claim)
    except SchedulerError as error:
        reason = str(error)
    if reason is None:
        ending.begin(connection, end)
        return
    ending.put_off(connection, end, reason)
    note_booked(session, *nodes)
    for node in nodes:
        if claim.goes_on and node.last_error:
            node.last_error = f"{claim.why} {node.last_error}"
    if end.late_since is None:
        _note_late(session, claim, reason)


def _note_late(session: Session, claim: EndedClaim, reason: str) -> None:
    connection, nodes = session.connection(), claim.nodes
    end = ending.find(connection, claim.end.consumer_id)
    ending.note(connection, LATE_EVENT, end, nodes[0].uuid if len(nodes) == 1 else None, reason=end.reason)
    log.warning("a machine is late at the end of its claim", claim=end.claim, reason=reason)
    for node in nodes:
        said = f"{claim.why} The machine cannot be given back yet: {reason}"
        history.record(session, node, said, event_type="provision", severity="ERROR", conductor=claim.conductor)
