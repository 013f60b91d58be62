"""What a claim asks for, and the machine that it would get."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.allocations import allocation_choice
from baremetal_sched.baremetal.allocations.allocation_choice import Wanted
from baremetal_sched.baremetal.matching.explanation import Explanation
from baremetal_sched.baremetal.matching.question import Asker
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.compute.hosts import host_choice
from baremetal_sched.compute.hosts.booting import BootContext
from baremetal_sched.compute.hosts.host_choice import Claim, Host, HostRequest
from baremetal_sched.db.handover import MachineLocked
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import selecting
from baremetal_sched.errors.baremetal import SuitableNodesLocked
from baremetal_sched.errors.placement import TraitNotFound, UnknownClassInQuery
from baremetal_sched.explain import explanations
from baremetal_sched.explain.context import Context
from baremetal_sched.placement.candidates import search
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS
from baremetal_sched.settings import Settings

#: A request by a query of placement, or one like that of a bare metal allocation.
Request = HostRequest | Wanted


def request_of(document: Mapping[str, Any]) -> Request:
    """Return the request that ``document`` was made of."""
    return HostRequest(**document) if "query" in document else Wanted.of(document)


def class_of(request: Request) -> str:
    """Return the class of the node that the request waits for, as placement names it. Raises CannotWait, BadQuery."""
    if isinstance(request, HostRequest):
        return request.machine_class()
    return projection.resource_class_of(request.resource_class)


def choose(context: BootContext, request: Request, on: str | None = None) -> Host | None:
    """Return a machine that fits, its row and inventory locked, with what is to be claimed; None if there is none.

    ``on``: this node (UUID) only. Raises what ``host_choice.choose`` and ``allocation_choice.choose`` raise, but for
    unknown names and nodes that conductors have locked.
    """
    if isinstance(request, HostRequest):
        wanted = request if on is None else request.on(on)
        if wanted is None:
            return None
        try:
            return host_choice.choose(context.session, wanted, context.membership, context.settings)
        except (TraitNotFound, UnknownClassInQuery):
            return None
    if on is not None and on not in (request.candidates or (on,)):
        return None
    try:
        node = allocation_choice.choose(context.session, request if on is None else replace(request, candidates=(on,)))
    except SuitableNodesLocked:
        return None
    return None if node is None else Host(node, _unit(node))


#: How many candidates are read to find one that is no machine.
_CANDIDATES = 100


def any_candidate(context: BootContext, request: Request) -> Claim | None:
    """Return what to claim of providers that are no machines, such as hosts of virtual machines; None if nothing fits.

    Only for callers to whom all providers are open. Raises what the search raises, but for unknown names.
    """
    if not isinstance(request, HostRequest) or request.project is not None or request.served:
        return None
    session, seconds = context.session, context.settings.placement.candidates_time_limit or None
    options = search.Options(breadth_first=True, seconds=seconds, unknown_traits=True)
    try:
        with closing(search.find(selecting(session), request.parsed(_CANDIDATES), request.version, options)) as found:
            candidates = list(islice(found, _CANDIDATES))
    except (TraitNotFound, UnknownClassInQuery):
        return None
    roots = {root for candidate in candidates for root in candidate.roots}
    # A machine that ``choose`` did not take, such as one that a conductor works on, is for those who wait.
    machines = select(PROVIDERS.c.id).where(one_of(PROVIDERS.c.id, roots), PROVIDERS.c.mirrored_class_id.is_not(None))
    are_machines = set(session.scalars(machines)) if roots else set()
    candidate = next((each for each in candidates if are_machines.isdisjoint(each.roots)), None)
    if candidate is None:
        return None
    rows = session.execute(select(PROVIDERS.c.id, PROVIDERS.c.uuid).where(PROVIDERS.c.id.in_(candidate.allocations)))
    uuids = {row_id: uuid for row_id, uuid in rows}
    if len(uuids) < len(candidate.allocations):
        raise StaleDataError("a provider was deleted meanwhile")
    return {uuids[row_id]: dict(amounts) for row_id, amounts in candidate.allocations.items()}


def explain(session: Session, settings: Settings, request: Request) -> Explanation:
    """Explain why the request finds nothing now; nodes of other projects are not named or counted for a project.

    Raises TooManyExplanations, ExplanationTookTooLong, BadQuery.
    """
    if isinstance(request, Wanted):
        return explanations.explain_allocation(_context(session, settings, request.eligible), request)
    whose = EVERYTHING if request.project is None else Visibility(request.project)
    context = _context(session, settings, whose)
    if request.served:
        return explanations.explain_server(context, request)
    return explanations.explain_query(context, request.parsed(None))


def _context(session: Session, settings: Settings, whose: Visibility) -> Context:
    asker = Asker() if whose.everything else Asker(whose.project or "", whose)
    return Context(session, settings, asker, unrestricted=whose.everything)


def _unit(node: Node) -> Claim:
    return {node.uuid: {projection.resource_class_of(node.resource_class or ""): 1}}


def lock_free(session: Session, uuid: str) -> Node | None:
    """Return the node, its row and the inventory of its own class locked; None if it is not free.

    Raises MachineLocked if another transaction is changing it.
    """
    free = host_choice.free_nodes(Node.uuid == uuid).with_only_columns(Node)
    node: Node | None = session.scalars(free.with_for_update(of=(Node, INVENTORIES), skip_locked=True)).first()
    if node is None and session.execute(free.with_only_columns(Node.id)).first() is not None:
        raise MachineLocked(uuid)
    return node
