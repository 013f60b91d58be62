"""Which machines a booking gets: those that fit its request, and are free for the whole of its window.

Other bookings stay where they are. First a few hundred machines of the class are looked at; if they are not enough, the
database counts all that fit by domain. Domains decide first; then the machine whose gap around the window is shortest.
"""

import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Double, func, literal, null, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED, NOBODY, Own, Window
from baremetal_sched.baremetal.matching.capabilities import required_capabilities, unmet_capabilities
from baremetal_sched.baremetal.matching.conditions import Kind
from baremetal_sched.baremetal.matching.question import Question
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.several import SOME, count_places, pick, placed, sample
from baremetal_sched.baremetal.matching.spreading import Place, Several, quotas
from baremetal_sched.baremetal.matching.tree_shapes import Forest
from baremetal_sched.baremetal.provider.availability import PROVIDER, with_ends
from baremetal_sched.baremetal.provider.blocked_times import blocked_until, free_during
from baremetal_sched.baremetal.visibility import EVERYTHING
from baremetal_sched.db.models import Node, ResourceClass
from baremetal_sched.db.types import Query
from baremetal_sched.errors.placement import SearchTookTooLong
from baremetal_sched.explain.request_conditions import ExplainedRequest, tree_roots
from baremetal_sched.placement import names
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit, TookTooLong
from baremetal_sched.placement.candidates.trees.enumeration import candidates
from baremetal_sched.settings import Settings

#: Seconds that are longer than any gap: for a machine that is not booked later.
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

    The rows of ``own`` keep nobody off. ``conditions``: more conditions on the machines. Raises BadQuery, CannotWait.
    """
    session, several = context.session, beside(context.session, request, stays)
    question = fitting(context, request)
    query = all_that_fit(request, question).where(free_during(context.settings, window, own), *conditions)
    if several.own:
        query = query.where(Node.id.not_in(several.own))
    gap = gap_around(context.settings, window)
    if required_capabilities(question.capabilities):
        return _shortest(several, _rows(session, query, several, gap, question))
    class_id = names.ids_of(session, ResourceClass, [request.machine_class()]).get(request.machine_class())
    if class_id is None:
        return None
    looked_at = sample(session, class_id)
    if len(looked_at) < SOME:
        looked_at += sample(session, class_id, SOME - len(looked_at), is_free=False)
    some = query.where(one_of(PROVIDER.c.id, looked_at))
    chosen = _shortest(several, _rows(session, some, several, gap, question))
    if chosen is not None:
        return chosen
    found = quotas(several, count_places(session, query, several))
    return None if found is None else [*pick(session, query, several, found, [gap, Node.id])]


def number_of(request: MachineRequest) -> int:
    """Return for how many machines a request is."""
    return 1 if request.several is None else request.several.count


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
    query = all_that_fit(request, question).where(free, Node.id.in_(nodes))
    return {row[0] for row in _rows(context.session, query, Several(1), null(), question)}


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


def all_that_fit(request: MachineRequest, question: Question) -> Query:
    """Return the query of the machines that fit, free or not, by the question of ``fitting``; with what is known of
    them, see ``with_ends``.

    SELECT n.id FROM <nodes, providers, inventories, ends> WHERE <each condition of the request>
    """
    kinds = {Kind.REQUEST, Kind.SERVICE} if request.served else {Kind.REQUEST}
    met = [each.holds for each in question.conditions if each.counts and each.kind in kinds]
    query: Query = select(Node.id).select_from(with_ends(question.source)).where(Node.id.is_not(None))
    return query.where(*question.where, *met)


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


def _rows(session: Session, query: Query, several: Several, gap: Any, question: Question) -> Sequence[Any]:
    """Return the id, the place and the gap of each machine of the query that has the capabilities."""
    columns, query = placed(query, several)
    needed = bool(required_capabilities(question.capabilities))
    own = (Node.id, *columns, gap, *((Node.properties,) if needed else ()))
    rows = session.execute(query.with_only_columns(*own, maintain_column_froms=True)).all()
    if not needed:
        return rows
    return [row for row in rows if not unmet_capabilities(question.capabilities, row.properties or {})]


def _shortest(several: Several, rows: Sequence[Any]) -> list[int] | None:
    """Return the machines with the shortest gaps of the domains that are chosen; None if no choice satisfies."""
    at: dict[Place, list[tuple[float, float, int]]] = {}
    for node, pack, spread, gap, *_ in rows:
        at.setdefault((pack, spread), []).append((gap, random.random(), node))  # noqa: S311 - no secret
    found = quotas(several, {place: len(nodes) for place, nodes in at.items()})
    if found is None:
        return None
    return [node for spread, number in found.numbers.items() for *_, node in sorted(at[found.pack, spread])[:number]]
