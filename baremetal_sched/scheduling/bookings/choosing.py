"""Which machines a booking gets: those that fit its request, and are free for the whole of its window.

Other bookings stay where they are. First a few hundred machines of the class are looked at; if they are not enough, the
database counts all that fit by domain. Domains decide first; then the machine whose gap around the window is shortest.
"""

from collections.abc import Collection
from dataclasses import replace

from sqlalchemy import ColumnElement, Double, func, literal, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED, NOBODY, Own, Window
from baremetal_sched.baremetal.matching.capabilities import required_capabilities
from baremetal_sched.baremetal.matching.earliest import read, that_fit
from baremetal_sched.baremetal.matching.question import Question
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.several import SOME, count_places, pick, sample, shortest
from baremetal_sched.baremetal.matching.spreading import Place, Several, quotas
from baremetal_sched.baremetal.matching.tree_shapes import Forest
from baremetal_sched.baremetal.provider.availability import PROVIDER
from baremetal_sched.baremetal.provider.blocked_times import blocked_until, free_during
from baremetal_sched.baremetal.visibility import EVERYTHING
from baremetal_sched.db.models import Node, ResourceClass
from baremetal_sched.errors.placement import SearchTookTooLong
from baremetal_sched.explain.request_conditions import ExplainedRequest, tree_roots
from baremetal_sched.placement import names
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit, TookTooLong
from baremetal_sched.placement.candidates.trees.enumeration import candidates
from baremetal_sched.settings import Settings

#: Seconds that are longer than any gap: for a machine without a later booking.
_LONG = 1e11


def choose(
    context: MachineContext,
    request: MachineRequest,
    window: Window,
    own: Own = NOBODY,
    stays: Collection[int] = (),
    conditions: Collection[ColumnElement[bool]] = (),
) -> list[int] | None:
    """Return as many machines (ids of nodes) as are requested, besides those that stay (ids), which count for
    ``spread`` and ``pack``; None if no choice satisfies the request. Nothing is locked.

    What ``own`` has booked counts as free. ``conditions``: more conditions on the machines. Raises BadQuery and
    CannotWait.
    """
    session, several = context.session, beside(context.session, request, stays)
    question = fitting(context, request)
    of_nodes = that_fit(request, question, several.own).where(Node.id.is_not(None))
    query = of_nodes.where(free_during(context.settings, window, own), *conditions)
    gap = gap_around(context.settings, window)
    # Only the rows say which machines have the capabilities.
    looks_at_all = bool(required_capabilities(question.capabilities))
    some = query if looks_at_all else query.where(one_of(PROVIDER.c.id, _some_of(session, request.machine_class())))
    chosen = shortest(several, read(session, some, question, several, gap))
    if chosen is None and not looks_at_all:
        found = quotas(several, count_places(session, query, several))
        chosen = None if found is None else pick(session, query, several, found, [gap, Node.id])
    return None if chosen is None else [*chosen]


def _some_of(session: Session, resource_class: str) -> list[int]:
    """Return providers (ids) of a class: first those that are free now."""
    class_id = names.ids_of(session, ResourceClass, [resource_class]).get(resource_class)
    if class_id is None:
        return []
    some = sample(session, class_id)
    return some if len(some) == SOME else some + sample(session, class_id, SOME - len(some), is_free=False)


def number_of(request: MachineRequest) -> int:
    """Return how many machines a request is for."""
    return 1 if request.several is None else request.several.count


def of_number(request: MachineRequest, count: int) -> MachineRequest:
    """Return the request for so many machines."""
    return replace(request, several=replace(request.several or Several(1), count=count))


def beside(session: Session, request: MachineRequest, stays: Collection[int]) -> Several:
    """Return the group of a request with the machines (ids of nodes) that stay."""
    several = request.several or Several(1)
    if not stays:
        return several
    return replace(several, held=places_of(session, several, stays), own=tuple(stays))


def places_of(session: Session, several: Several, nodes: Collection[int]) -> dict[Place, int]:
    """Return where nodes (ids) are now, as ``count_places`` does."""
    return count_places(session, select(Node.id).where(Node.id.in_(nodes)), several)


def still_fit(
    context: MachineContext,
    request: MachineRequest,
    window: Window,
    nodes: Collection[int],
    own: Own = NOBODY,
) -> set[int]:
    """Return which of the nodes (ids) fit the request and are free for the window, as they are now."""
    question = fitting(context, request)
    free = free_during(context.settings, window, own)
    query = that_fit(request, question).where(free, Node.id.in_(nodes))
    return {row[0] for row in read(context.session, query, question, Several(1))}


def none_fits(context: MachineContext, request: MachineRequest) -> bool:
    """Return whether no machine fits the request, free or not. Capabilities are not looked at. Raises like
    ``fitting``."""
    question = fitting(context, request)
    query = that_fit(request, question).where(Node.id.is_not(None))
    return not read(context.session, query, question, Several(1), most=0)


def fitting(context: MachineContext, request: MachineRequest) -> Question:
    """Return the question whose conditions of the kind REQUEST say which machines fit, free or not.

    Raises BadQuery, and SearchTookTooLong for a request that several providers of a tree serve together.
    """
    parsed = request.parsed()
    if parsed is None:
        return request.question(context)
    explained = ExplainedRequest(context.session, parsed, EVERYTHING)
    if explained.is_flat and not request.served:
        return explained.question(replace(context, project=request.project))
    question = request.question(context)
    if explained.is_flat:
        return question
    roots = one_of(PROVIDER.c.id, _trees_that_fit(replace(context, project=request.project), explained, question))
    return replace(question, where=(*question.where, roots))


def _trees_that_fit(context: MachineContext, explained: ExplainedRequest, question: Question) -> list[int]:
    """Return the roots (ids) of the trees that would serve the request alone if they were free. On a large fleet they
    are those of a sample (see ``Forest``)."""
    found, seconds = list[int](), context.settings.scheduling.explain_time_limit
    try:
        limit = TimeLimit(seconds or None)
        forest = Forest(context, explained.resolved, tree_roots(question, if_free=True), limit)
        for shape in forest.shapes:
            served = candidates(explained.resolved, [shape.free], time_limit=limit)
            if any(each.roots == {shape.free.root.id} for each in served):
                found += [tree.root_id for tree in shape.trees]
    except TookTooLong as error:
        raise SearchTookTooLong(
            seconds=f"{seconds:g}", advice="ask for fewer parts, or for a trait that few have"
        ) from error
    return found


def gap_around(settings: Settings, window: Window) -> ColumnElement[float]:
    """SQL: the seconds from the use of a machine before a window until the one after it, in a row of ``with_ends``.

    coalesce((SELECT min(starts_at) FROM booked_machines …), <long>) - coalesce((SELECT max(ends_at + turnaround) FROM
    booked_machines …), <blocked until>)
    """
    own = BOOKED.c.node_id == Node.id
    starts_at: ColumnElement[float] = literal(window.starts_at, Double())
    after = select(func.min(BOOKED.c.starts_at)).where(own, BOOKED.c.starts_at >= window.ends_at)
    before = select(func.max(BOOKED.c.ends_at + BOOKED.c.turnaround)).where(own, BOOKED.c.ends_at <= starts_at)
    begins = func.coalesce(before.scalar_subquery(), blocked_until(settings))
    gap: ColumnElement[float] = func.coalesce(after.scalar_subquery(), literal(_LONG, Double())) - begins
    return gap
