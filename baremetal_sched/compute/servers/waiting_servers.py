"""Servers that wait until a machine is free: they are built, have no node, and a row in the queue of claims.

Locks are taken in the order server group, node, waiting request, server, consumer.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.compute import availability_zones, server_group_places, server_history, server_states
from baremetal_sched.compute.hosts import booting, instance_info
from baremetal_sched.compute.hosts.booting import Drive
from baremetal_sched.compute.hosts.node_changes import set_fault
from baremetal_sched.compute.server_history import Reason
from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import Node, Server, WaitingRequest
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.compute import ServerNotFound, TooManyServersWait
from baremetal_sched.errors.scheduling import CannotBegin, CannotWait, TooManyWaitingClaims, WaitingNotServed
from baremetal_sched.placement import waiting_requests
from baremetal_sched.placement.waiting_requests import CLAIMED, SERVER, TIMED_OUT, NewWaitingRequest
from baremetal_sched.settings import Settings

# Members of a claim's secret: what the server's config drive is made of, or the drive of a deployment that failed.
_PASSWORD, _DRIVE = "admin_password", "config_drive"

#: A server that had a machine waits again, however many others wait.
_NO_LIMIT = sys.maxsize


# -- asking ------------------------------------------------------------------------------------------------------------


def set_deadline(servers: Sequence[Server], request: TreeRequest, seconds: int | None, settings: Settings) -> None:
    """Note until when the new servers, requested together, may wait for a machine.

    ``seconds``: the requested time; None: what the settings say, for a server that can wait. Raises
    CannotWait if the servers cannot wait.
    """
    most: int = settings.scheduling.max_wait
    if seconds is None:
        seconds = min(settings.compute.wait_for_machine, most)
        if not seconds or len(servers) > 1 or not _has_class(request):
            return
    else:
        if seconds > most:
            raise CannotWait(message=f"A server may wait for {most} seconds at most; {seconds} were requested.")
        if not seconds:
            return
        if len(servers) > 1:
            raise CannotWait(message="Only a single server can wait for a machine: request one server, or do not wait.")
        request.machine_class()
    servers[0].asked_at = epoch()
    servers[0].wait_until = epoch() + seconds


def _has_class(request: TreeRequest) -> bool:
    try:
        return bool(request.machine_class())
    except SchedulerError:
        return False


def drive_of(context: MachineContext, admin_password: str | None) -> Drive:
    """Return a function that makes config drives with this password."""

    def drive(server: Server, on: Node) -> dict[str, Any]:
        zone = availability_zones.zone_of(on.conductor_group, context.settings.compute.default_availability_zone)
        return instance_info.build_config_drive(server, on, zone, admin_password)

    return drive


# -- waiting -----------------------------------------------------------------------------------------------------------


def wait(context: MachineContext, server: Server, request: TreeRequest, why: Reason, admin_password: str) -> None:
    """Have the server, which is stored, wait for a machine. Raises TooManyServersWait, WaitingNotServed."""
    limit: int = context.settings.scheduling.most_waiting
    try:
        _enter(context, server, request, why, {_PASSWORD: admin_password}, limit)
    except TooManyWaitingClaims:
        raise TooManyServersWait(limit=limit) from None


def wait_again(
    context: MachineContext, server: Server, request: TreeRequest, why: Reason, drive: Mapping[str, Any]
) -> bool:
    """Have a server wait whose deployment failed, if that can help and its time is not over; return whether it waits.

    It keeps the place in the queue that it had.
    """
    if not why.passes or server.wait_until is None:
        return False
    until = server.wait_until if context.end is None else min(server.wait_until, context.end.latest)
    if until <= (context.session.scalar(select(epoch())) or 0.0):
        return False
    try:
        _enter(context, server, request, why, {_DRIVE: drive}, _NO_LIMIT)
    except WaitingNotServed:
        return False
    return True


def _enter(
    context: MachineContext, server: Server, request: TreeRequest, why: Reason, secret: Mapping[str, Any], most: int
) -> None:
    request = replace(request, excluded=server.tried_nodes)
    new = NewWaitingRequest(
        uuid=server.uuid,
        kind=SERVER,
        resource_class=request.machine_class(),
        request=request.document(),
        project=server.project_id,
        user=server.user_id,
        since=server.asked_at,
        until=server.wait_until,
        consumer_type=booting.CONSUMER_TYPE,
        reason=why.message,
        secret=dict(secret),
        needed_trait=request.needed_trait(),
        end=context.end,
    )
    server.task = server_states.SCHEDULING
    server.updated_at = utcnow()
    context.session.flush()
    waiting_requests.enter(context.session, new, most=most)
    server_history.wait(context.session, server, why.in_full)


# -- the end of waiting ------------------------------------------------------------------------------------------------


def give(context: MachineContext, waiting: WaitingRequest, node: Node) -> bool:
    """Have the node (its row locked) deployed for the server that waits (its claim's row locked); return whether it
    fits. If the server is in a group, that was locked before the node. Raises CannotBegin if the deployment cannot
    begin there, and ServerNotFound."""
    request = TreeRequest.of(waiting.request)
    places = server_group_places.of_request(context, request)
    if places is not None:
        request = places.choices(request)[-1]
    alone = request.on(node.uuid)
    host = None if alone is None else alone.choose(context)
    if host is None:
        return False
    server = _find_waiting(context.session, waiting.uuid)
    if server is None:
        raise ServerNotFound(server=waiting.uuid)
    secret: Mapping[str, Any] = waiting.secret or {}
    waiting_requests.leave(context.session, waiting.uuid, CLAIMED)
    failure = booting.begin(context, server, request, host, _drive_from(context, secret), has_waited=True)
    if failure is not None:
        raise CannotBegin(reason=failure)
    server_history.go_on(context.session, server)
    server.updated_at = utcnow()
    return True


def leave_out(context: MachineContext, waiting: WaitingRequest, node: str, reason: str) -> None:
    """Have a server (its claim's row locked) wait for other nodes than this one (a UUID, its row locked), where its
    deployment could not begin; it is in error if that cannot help, or if as many nodes were tried as may be."""
    session = context.session
    server = _find_waiting(session, waiting.uuid)
    if server is None:
        return
    secret: Mapping[str, Any] = waiting.secret or {}
    waiting_requests.leave(session, waiting.uuid)
    server.tried_nodes = [*server.tried_nodes, node]
    server_history.go_on(session, server)
    server_history.try_again(session, server, f"The deployment on node {node} could not begin: {reason}", node)
    request = replace(TreeRequest.of(waiting.request), excluded=server.tried_nodes)
    if len(server.tried_nodes) < context.settings.compute.max_attempts:
        why = booting.why_not(context, server, request)
    else:
        why = booting.gave_up(server)
    if why.passes:
        _enter(context, server, request, why, secret, _NO_LIMIT)
    else:
        _fail(session, server, why)


def end(context: MachineContext, waiting: WaitingRequest, state: str, reason: str) -> None:
    """End the waiting of a server (its claim's row locked): it is in error, with the reason."""
    waiting_requests.leave(context.session, waiting.uuid, state)
    server = _find_waiting(context.session, waiting.uuid)
    if server is None:
        return
    if state == TIMED_OUT:
        seconds = round(waiting.deadline - waiting.asked_at)
        why = Reason(f"No valid host was found, and the server has waited for {seconds} seconds. {reason}")
    else:
        said = "No valid host was found: the server cannot be placed."
        why = Reason(f"{said} An administrator can see why.", f"{said} {reason}")
    _fail(context.session, server, why)


def _fail(session: Session, server: Server, why: Reason) -> None:
    server_history.finish(session, server, error=why.in_full)
    set_fault(server, why)


def _find_waiting(session: Session, uuid: str) -> Server | None:
    """Return the server, its row locked, if it waits."""
    server: Server | None = session.scalars(
        select(Server)
        .where(Server.uuid == uuid, Server.task == server_states.SCHEDULING)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).first()
    return server


def _drive_from(context: MachineContext, secret: Mapping[str, Any]) -> Drive:
    if _DRIVE in secret:
        return lambda *_: secret[_DRIVE]
    return drive_of(context, secret[_PASSWORD])
