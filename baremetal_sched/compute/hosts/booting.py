"""Booting servers: choosing a machine, claiming it and ordering its deployment are one transaction.

When a server becomes visible, it is on a machine, claimed whole and being deployed, or it waits, or it is in error with
a fault. The story of a boot:

1. ``boot`` has new servers that no other transaction sees yet. ``place`` chooses a machine for each; its row is locked
   until the end.
2. ``begin`` claims it, writes the server onto the node, and hands the deployment to the node's conductor. If that is
   refused for good, the claim is given back and the next machine is tried, up to ``[compute] max_attempts``.
3. Servers that were requested together are within one savepoint: if one finds no machine, all claims are taken back.
4. The commit makes all of it visible at once. If another transaction won a race, ``StaleDataError`` undoes everything,
   and the transaction runner begins again at 1.
5. If the deployment fails later, ``servers.follow_up`` gives the machine back and calls ``place`` again.

Locks are taken in the order server group, node, inventory, waiting request, server, consumer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import structlog
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.matching import sentences
from baremetal_sched.baremetal.matching.explanation import why_none, within_time
from baremetal_sched.baremetal.matching.masks import HOPELESS, Verdict
from baremetal_sched.baremetal.matching.request import Host, MachineContext
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.baremetal.provisioning import provision
from baremetal_sched.baremetal.provisioning.provision import Order
from baremetal_sched.compute import server_group_places, server_history, server_states
from baremetal_sched.compute.hosts import instance_info, network_addresses
from baremetal_sched.compute.hosts.instance_info import Owner
from baremetal_sched.compute.hosts.node_changes import moving, set_fault
from baremetal_sched.compute.hosts.own_copies import flavor_spec, image_spec
from baremetal_sched.compute.server_group_places import MemberPlaces
from baremetal_sched.compute.server_history import Reason, ServerRequester
from baremetal_sched.db.models import Node, Server
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.errors.baremetal import NoConductors, NoValidHost, TooManyAtOnce
from baremetal_sched.errors.placement import TAKEN_MEANWHILE, BadQuery, SearchTookTooLong, TooManyCandidates
from baremetal_sched.explain.request_conditions import ExplainedRequest, fits_if_free, hint
from baremetal_sched.placement import allocations as claims
from baremetal_sched.placement.consumers import RESERVED, ConsumerWrite
from baremetal_sched.placement.waiting_requests import SERVER

log = structlog.get_logger(__name__)

#: The consumer type of servers in placement, the same as Nova's.
CONSUMER_TYPE = "INSTANCE"

#: Makes the config drive of a server that gets this node.
Drive = Callable[[Server, Node], Mapping[str, Any]]

_HOPELESS = (BadQuery, SearchTookTooLong, TooManyCandidates)

#: Nodes (UUIDs) on which the deployment of a server could not begin, and why.
_Failures = list[tuple[str, str]]


#: Has a server wait that got no machine because of this.
Wait = Callable[[Server, Reason], None]


def boot(
    context: MachineContext,
    servers: Sequence[Server],
    request: TreeRequest,
    drive: Drive,
    requester: ServerRequester,
    wait: Wait,
    places: MemberPlaces | None = None,
) -> None:
    """Store the new servers, which have the same ``request``, each on a machine: all of them, or none. ``places``: of
    their server group.

    Without machines for all, all are stored in error; but a single server that may wait does so if that can help.
    Raises StaleDataError if all machines that fit are being taken by other transactions, and the errors of ``wait``.
    """
    failures: dict[str, _Failures] = {server.uuid: [] for server in servers}
    reason = _place_all(context, servers, request, drive, failures, places)
    waits = reason is not None and reason.passes and servers[0].wait_until is not None
    if reason is not None and not waits:
        for server in servers:
            set_fault(server, reason)
    context.session.add_all(servers)
    context.session.flush()
    for server in servers:
        entry = server_history.begin(context.session, server, "create", requester)
        for node, failure in failures[server.uuid]:
            server_history.add_attempt(entry, f"The deployment on node {node} could not begin: {failure}")
        if reason is not None and not waits:
            server_history.end(entry, error=reason.in_full)
    if reason is not None and waits:
        wait(servers[0], reason)


def _place_all(
    context: MachineContext,
    servers: Sequence[Server],
    request: TreeRequest,
    drive: Drive,
    failures: Mapping[str, _Failures],
    places: MemberPlaces | None,
) -> Reason | None:
    if len(servers) == 1:
        return place(context, servers[0], request, drive, failures[servers[0].uuid], places)
    try:
        if places is not None:
            places.make_room(context, request, len(servers))
    except _HOPELESS as error:
        return Reason(_because(error))
    savepoint = context.session.begin_nested()
    for placed, server in enumerate(servers):
        outcome = _take(context, server, request, drive, failures[server.uuid], places)
        if outcome is None:
            continue
        savepoint.rollback()  # before the reason is read: in the state that stays, none of them has a machine
        if isinstance(outcome, TreeRequest):
            outcome = _too_few(context, server, outcome, placed, len(servers), places)
        none = f"None of the {len(servers)} servers was built, since they were requested together."
        return _with_last(outcome, server, failures[server.uuid]).continued(none)
    savepoint.commit()
    return None


def _too_few(
    context: MachineContext, server: Server, request: TreeRequest, placed: int, count: int, places: MemberPlaces | None
) -> Reason:
    """Return why only the first ``placed`` of ``count`` servers would have machines; ``request``: that of the next."""
    if placed:
        request = server_group_places.narrowed(context, replace(request, conditions=()))
    try:
        if places is not None and places.limit and len(request.hosts(context, placed + 1)) > placed:
            return Reason(f"{_BEGIN} Only {placed} of the {count} servers can be placed. {places.limit}")
        return why_not(replace(context, needed=count), server, request)
    except _HOPELESS as error:
        return Reason(_because(error))


def place(
    context: MachineContext,
    server: Server,
    request: TreeRequest,
    drive: Drive,
    failures: _Failures,
    places: MemberPlaces | None = None,
) -> Reason | None:
    """Give the server a machine. Returns why it has none, and then nothing is claimed.

    ``failures`` gets the nodes that were tried in vain. ``places``: of its group. Raises like ``boot``.
    """
    outcome = _take(context, server, request, drive, failures, places)
    if isinstance(outcome, TreeRequest):
        outcome = why_not(context, server, outcome)
        outcome = replace(outcome, passes=outcome.passes and (places is None or not places.refuses))
    return outcome and _with_last(outcome, server, failures)


def _take(
    context: MachineContext,
    server: Server,
    request: TreeRequest,
    drive: Drive,
    failures: _Failures,
    places: MemberPlaces | None,
) -> Reason | TreeRequest | None:
    """Give the server a machine, like ``place``. Returns the request that no machine fits, or why the search has
    ended."""
    while len(server.tried_nodes) < context.settings.compute.max_attempts:
        untried = replace(request, excluded=server.tried_nodes)
        try:
            host, chosen = _choose(context, [untried] if places is None else places.choices(untried))
        except _HOPELESS as error:
            return Reason(_because(error))
        if host is None:
            return chosen
        failure = begin(context, server, chosen, host, drive)
        if failure is None:
            if places is not None:
                places.took(context.session, host.node, chosen)
            return None
        failures.append((host.node.uuid, failure))
        server.tried_nodes = [*server.tried_nodes, host.node.uuid]
    return gave_up(server)


def _choose(context: MachineContext, requests: Sequence[TreeRequest]) -> tuple[Host | None, TreeRequest]:
    """Return a machine for the first of the requests for which there is one, and that request; or None and the last."""
    chosen = ((each.choose(context), each) for each in requests)
    return next(((host, each) for host, each in chosen if host is not None), (None, requests[-1]))


def why_not(context: MachineContext, server: Server, request: TreeRequest) -> Reason:
    """Return why no machine fits the request of the server."""
    why = no_valid_host(context, request)
    return why.continued(f"The deployment failed on {_tried(server)}.") if server.tried_nodes else why


def gave_up(server: Server) -> Reason:
    """Return why the server has no machine after its deployment failed on as many as are tried."""
    return Reason(f"No valid host was found. The deployment failed on {_tried(server)}; no more are tried.")


def _tried(server: Server) -> str:
    count = len(server.tried_nodes)
    return "1 node" if count == 1 else f"{count} nodes"


def _with_last(reason: Reason, server: Server, failures: _Failures) -> Reason:
    """Return the reason, to which the last failure is added for administrators, and log it."""
    log.info("no machine fits a server", server=server.uuid, reason=reason.message)
    if not failures:
        return reason
    node, failure = failures[-1]
    return replace(reason, details=f"{reason.message} The last failure, on node {node}: {failure}")


def begin(
    context: MachineContext,
    server: Server,
    request: TreeRequest,
    host: Host,
    drive: Drive,
    *,
    has_waited: bool = False,
) -> str | None:
    """Claim the machine, which was chosen for ``request``, and have its conductor deploy it. Returns why that cannot
    be, and then nothing is claimed. If the server ``has_waited``, its UUID is reserved."""
    session, node = context.session, host.node
    _claim(context, server, host, RESERVED if has_waited else None)
    moving(session, server.uuid)
    node.instance_uuid, node.instance_name = server.uuid, server.name
    node.instance_info = instance_info_of(context, server, node) | {"configdrive": drive(server, node)}
    server.task = server_states.SPAWNING
    try:
        _deploy(context, server, node)
    except InvalidValue as error:
        claims.release(session, server.uuid, SERVER)
        session.refresh(node)
        if not _fits(context, request, node):
            raise StaleDataError("the machine was changed after it was found") from error
        return str(error)
    return None


def _fits(context: MachineContext, request: TreeRequest, node: Node) -> bool:
    """Return whether the request may still have the node, whose row is locked."""
    alone = request.on(node.uuid)
    try:
        return alone is not None and bool(alone.hosts(context, 1))
    except _HOPELESS:
        return True


def _deploy(context: MachineContext, server: Server, node: Node) -> None:
    """Ask the node's conductor. If it cannot take more now, it begins by itself as soon as it can (``follow_up``)."""
    order = Order("active", project=server.project_id, checked=False)
    try:
        provision.request(context.session, node, order, context.membership, context.settings)
    except (TooManyAtOnce, NoConductors, NoValidHost) as error:
        log.info("a deployment waits", server=server.uuid, node=node.uuid, reason=str(error))
        node.touch()
        context.session.flush()


def _claim(context: MachineContext, server: Server, host: Host, generation: int | None) -> None:
    request = ConsumerWrite(
        uuid=server.uuid,
        allocations=host.claim,
        project_id=server.project_id,
        user_id=server.user_id,
        generation=generation,
        consumer_type=CONSUMER_TYPE,
        kind=SERVER,
        end=context.end,
        calendars=host.calendars,
    )
    try:
        claims.write(context.session, [request], "Unable to allocate:")
    except TAKEN_MEANWHILE as error:
        # The row of the machine is locked; the missing resources are below it or beside it.
        raise StaleDataError("a part of the claim was taken") from error


def instance_info_of(
    context: MachineContext, server: Server, node: Node, *, preserve_ephemeral: bool | None = None
) -> dict[str, Any]:
    """Return the ``instance_info`` of the server on the node, without its config drive.

    ``preserve_ephemeral`` is given by a rebuild only.
    """
    owner = context.membership.owner(node.uuid, node.conductor_group, node.driver)
    fixed = network_addresses.of(node.network_data)
    info = instance_info.build(
        flavor_spec(server.flavor),
        image_spec(server.image or {}),
        owner_of(server),
        display_name=server.name,
        flavor_name=server.flavor["name"],
        host=owner or "",
        node_properties=node.properties or {},
        fixed_ips=[address.text for address in fixed],
        preserve_ephemeral=preserve_ephemeral,
    )
    return dict(info)


def owner_of(server: Server) -> Owner:
    """Return the owner of the server. Names are ids: there is no directory of projects and users."""
    return Owner(server.project_id, server.project_id, server.user_id, server.user_id)


# -- why no machine fits -----------------------------------------------------------------------------------------------

_BEGIN = "No valid host was found."


def no_valid_host(context: MachineContext, request: TreeRequest) -> Reason:
    """Return why no node fits the request, or fewer than the context needs, for the user. Nodes of other projects are
    not counted."""
    try:
        explained = ExplainedRequest(context.session, request.parsed(), context.named)
        question = request.question(context)
    except SchedulerError as error:
        return Reason(_because(error))
    explanation = why_none(context.session, context.settings, question, context.needed)
    if explanation is None or (explained.is_flat and explanation.fitting >= context.needed):  # some are free since
        return Reason(f"{_BEGIN} {sentences.FALLBACK}", passes=True)
    if explanation.fitting and context.needed > 1:
        fitting = len(request.hosts(context, context.needed))
        if fitting:
            explanation = replace(explanation, fitting=min(fitting, explanation.fitting), verdict=Verdict.SHORT)
            return Reason(f"{_BEGIN} {explanation.summary}", passes=True)
    if not explanation.fitting:
        explanation = replace(explanation, hint=hint(explained.request, explanation.analysis))
    if not explained.is_flat:
        look = partial(fits_if_free, context, request, question)
        may_fit = explanation.verdict not in HOPELESS
        fits = within_time(context.session, context.settings, look) if may_fit else False
        explanation = explanation.as_trees(fits_if_free=fits is not False)
    return Reason(f"{_BEGIN} {explanation.summary}", passes=explanation.verdict not in HOPELESS)


def _because(error: SchedulerError) -> str:
    """Return the text for the user about a search that could not be made."""
    return f"{_BEGIN} {str(error).rstrip('.')}."
