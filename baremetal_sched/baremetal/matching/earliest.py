"""The first moment at which a request could be had, by the ends, holds and bookings that are known now. It promises
nothing.

The machines that fit are read with what is known of them (``provider.blocked_times``). Each is free between its blocked
times; one pass over the beginnings of these spans, in order, adds the machines that come and takes away those that go.
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby
from typing import Any, NamedTuple

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED, turnaround
from baremetal_sched.baremetal.matching.capabilities import required_capabilities, unmet_capabilities
from baremetal_sched.baremetal.matching.conditions import Kind
from baremetal_sched.baremetal.matching.explanation import Explanation
from baremetal_sched.baremetal.matching.masks import Verdict
from baremetal_sched.baremetal.matching.question import Question
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.scan import Scan
from baremetal_sched.baremetal.matching.several import placed
from baremetal_sched.baremetal.matching.spreading import Place, Room, Several
from baremetal_sched.baremetal.provider.availability import with_ends
from baremetal_sched.baremetal.provider.blocked_times import (
    FACTS,
    FOREVER,
    Facts,
    Interval,
    Span,
    booked_times,
    free_spans,
    hold_interval,
)
from baremetal_sched.db.clock import epoch, exactly
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.db.types import Query
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.settings import Settings

#: With more machines that fit, the moment is not looked for.
MOST = 20_000

#: What is known of machines, in columns of ``read``.
KNOWN = FACTS[1:]


@dataclass(frozen=True)
class Earliest:
    """The moment, in seconds since 1970; or a sentence: why there is none."""

    at: float | None = None
    reason: str | None = None

    def document(self) -> dict[str, Any]:
        """Return it as members of an answer."""
        said = {} if self.reason is None else {"earliest_reason": self.reason}
        return {"earliest": None if self.at is None else exactly(self.at), **said}


def earliest(context: MachineContext, request: MachineRequest, explained: Explanation) -> Earliest:
    """Return the first moment at which a request that is ``explained`` could be had. Raises BadQuery."""
    session, several = context.session, request.several or Several(context.needed)
    now = session.scalar(select(epoch())) or 0.0
    if explained.verdict is Verdict.FITS:
        return Earliest(now)
    is_too_much = explained.fitting + sum(explained.scan.busy.values()) > MOST
    machines = () if is_too_much else _machines(context, request, several, explained.scan)
    if is_too_much or len(machines) > MOST:
        return Earliest(reason=f"More than {MOST:,} machines fit: narrow the request.")
    if len(machines) < several.count:
        too_few = "No machine fits" if several.count == 1 else f"Fewer than {several.count} machines fit"
        return Earliest(reason=f"{too_few} the request, free or not.")
    free = _free(context, machines, now, is_strict=request.strict_end) if machines else ()
    latest = FOREVER if context.end is None else context.end.latest
    at = first_moment(free, several, lasts_for(context), latest)
    if at is not None:
        return Earliest(at)
    if latest < FOREVER:
        return Earliest(reason="By what is known, it cannot be had before its end.")
    return Earliest(reason="It is not known when enough of the machines that fit will be free.")


#: Whether a machine that is had at the first moment may be kept for as long as it is needed, if the second one comes.
Lasts = Callable[[float, float], bool]


def lasts_for(context: MachineContext) -> Lasts:
    """Return how long a machine must be free: with an end, until then."""
    end = context.end
    if end is None:
        return lambda start, until: True
    at, seconds = end.at, end.seconds or 0.0
    return lambda start, until: (start + seconds if at is None else at) <= until


def first_moment(
    free: Iterable[tuple[Place, Iterable[Span]]], several: Several, lasts: Lasts, latest: float = FOREVER
) -> float | None:
    """Return the first moment, at most the ``latest``, at which enough machines can be had. ``free``: the place of each
    machine, and when it is free."""
    spans = [(span, place) for place, own in free for span in own if lasts(span.start, span.until)]
    room, gone, number = Room(several), set[int](), count()
    closing, outlasted = list[tuple[float, int, Place]](), list[tuple[float, int, Place]]()

    def leave(_: float, which: int, place: Place) -> None:
        if which not in gone:
            gone.add(which)
            room.change(place, -1)

    for start, coming in groupby(sorted(spans, key=lambda each: each[0].start), lambda each: each[0].start):
        if start > latest:
            break
        while closing and closing[0][0] <= start:
            leave(*heapq.heappop(closing))
        while outlasted and not lasts(start, outlasted[0][0]):
            leave(*heapq.heappop(outlasted))
        come = list(coming)
        for (_, end, until), place in come:
            room.change(place, 1)
            which = next(number)
            if end < FOREVER:
                heapq.heappush(closing, (end, which, place))
            if until < FOREVER:
                heapq.heappush(outlasted, (until, which, place))
        if any(room.has_enough(pack) for pack in {place[0] for _, place in come}):
            return float(start)
    return None


class Coming(NamedTuple):
    """A machine that fits, free or not: what is known of it, its place, and when it is free."""

    facts: Facts
    place: Place
    free: list[Span]

    def can_be_had(self, at: float, lasts: Lasts) -> bool:
        """Return whether it is free at a moment, for long enough."""
        return any(span.start <= at < span.end and lasts(at, span.until) for span in self.free)


def coming(
    context: MachineContext, request: MachineRequest, now: float, nodes: Collection[int] | None = None
) -> list[Coming] | None:
    """Return the machines that fit a request, only these ``nodes`` (ids) if they are given; None if more than MOST
    fit. Raises BadQuery."""
    several = request.several or Several(1)
    question = request.question(context)
    if nodes is not None:
        question = replace(question, where=(*question.where, Node.id.in_(nodes)))
    machines = _read(context, request, several, question)
    if len(machines) > MOST:
        return None
    free = _free(context, machines, now, is_strict=request.strict_end)
    return [Coming(facts_of(row), place, [*times]) for row, (place, times) in zip(machines, free, strict=True)]


# -- machines that fit -------------------------------------------------------------------------------------------------


def _machines(context: MachineContext, request: MachineRequest, several: Several, scanned: Scan) -> Sequence[Any]:
    """Return the machines that fit if they are free, one more than MOST at most: the place of each, and facts.

    The question that was ``scanned`` may be about providers, and cost less; if some of them are no nodes, the whole
    trees of nodes count.
    """
    if scanned.question is not None and scanned.sample is None:
        rows = _read(context, request, several, scanned.question)
        if all(row[0] is not None for row in rows):
            return rows
    return _read(context, request, several, request.question(context))


def _read(context: MachineContext, request: MachineRequest, several: Several, question: Question) -> Sequence[Any]:
    return read(context.session, that_fit(request, question, several.own), question, several, *KNOWN, most=MOST)


def _free(
    context: MachineContext, machines: Sequence[Any], now: float, *, is_strict: bool
) -> Iterator[tuple[Place, Iterable[Span]]]:
    """Yield the place of each machine, and when it is free: for a strict request, only until a hold begins."""
    takes = turnaround(context.settings)
    session, nodes = context.session, [row[0] for row in machines]
    holds, booked = holds_of(session, context.settings, nodes, now), bookings_of(session, nodes, now)
    for row in machines:
        facts = facts_of(row)
        kept = booked.get(facts.node_id, ())
        others = [each for each in kept if not context.own.has(each)]
        times = booked_times(others, takes(facts.resource_class), has_end=context.end is not None)
        if context.own.booking is not None:
            times += _but_for([each for each in kept if context.own.has(each)])
        free = free_spans(facts, holds.get(facts.node_id, ()), times, now, takes)
        yield (row[1], row[2]), [span._replace(until=span.end) for span in free] if is_strict else free


def _but_for(own: Sequence[Any]) -> list[Interval]:
    """Return when a machine cannot be had under a booking, which has at most one row of it: outside its window."""
    return [each for row in own for each in ((-FOREVER, row.starts_at), (row.ends_at, FOREVER))] or [
        (-FOREVER, FOREVER)
    ]


def that_fit(request: MachineRequest, question: Question, besides: Collection[int] = ()) -> Query:
    """Return the query of the machines that fit by a question, free or not, apart from those in ``besides`` (ids of
    nodes); with what is known of them, see ``with_ends``. The id is NULL where the question finds what is no node.

    SELECT n.id FROM <nodes, providers, inventories, ends> WHERE <each condition of the request>
    """
    kinds = {Kind.REQUEST, Kind.SERVICE} if request.served else {Kind.REQUEST}
    met = [each.holds for each in question.conditions if each.counts and each.kind in kinds]
    query: Query = select(Node.id).select_from(with_ends(question.source)).where(*question.where, *met)
    return query.where(or_(Node.id.is_(None), Node.id.not_in(besides))) if besides else query


def read(
    session: Session, query: Query, question: Question, several: Several, *columns: Any, most: int | None = None
) -> Sequence[Any]:
    """Return the machines of a query that have the capabilities: the id and the place of each, two domains, and more
    ``columns``. With more than ``most`` machines, one more is read, and those without the capabilities are there, too.

    SELECT n.id, pack.domain_id, spread.domain_id, … FROM … LIMIT …
    """
    places, query = placed(query, several)
    needed = (Node.properties,) if required_capabilities(question.capabilities) else ()
    own = query.with_only_columns(Node.id, *places, *columns, *needed, maintain_column_froms=True)
    rows = session.execute(own if most is None else own.limit(most + 1)).all()
    if not needed or (most is not None and len(rows) > most):
        return rows
    return [row for row in rows if not unmet_capabilities(question.capabilities, row.properties or {})]


def facts_of(row: Any) -> Facts:
    """Return what is known of a machine: of a row of ``read`` that begins with KNOWN."""
    return Facts(row[0], *row[3 : 3 + len(KNOWN)])


def bookings_of(session: Session, nodes: Sequence[int], now: float) -> dict[int, list[Any]]:
    """Return the bookings and plans of nodes (ids) that are not over, by node; perhaps those of other nodes, too.

    SELECT * FROM booked_machines WHERE ends_at IS NULL OR ends_at + turnaround > …
    """
    goes_on = or_(BOOKED.c.ends_at.is_(None), BOOKED.c.ends_at + BOOKED.c.turnaround > now)
    found: dict[int, list[Any]] = {}
    for row in _of_nodes(session, nodes, select(BOOKED).where(goes_on), BOOKED.c.node_id):
        found.setdefault(row.node_id, []).append(row)
    return found


def holds_of(session: Session, settings: Settings, nodes: Sequence[int], now: float) -> dict[int, list[Interval]]:
    """Return when the holds of nodes (ids) that are not over keep them, by node; perhaps of other nodes, too.

    SELECT node_id, … FROM holds WHERE ends_at IS NULL OR ends_at > …
    """
    columns = (Hold.node_id, Hold.asserted_at, Hold.starts_at, Hold.ends_at, Hold.drain)
    query = select(*columns).where(or_(Hold.ends_at.is_(None), Hold.ends_at > now))
    ahead, found = settings.scheduling.withhold_before_windows, dict[int, list[Interval]]()
    for hold in _of_nodes(session, nodes, query, Hold.node_id):
        found.setdefault(hold.node_id, []).append(hold_interval(hold, ahead))
    return found


def _of_nodes(session: Session, nodes: Sequence[int], query: Query, node: Any) -> Iterable[Any]:
    """Return the rows of a query: those of the nodes, or of all unless there are many."""
    rows = session.execute(query.limit(len(nodes) + 1)).all()
    if len(rows) > len(nodes):
        rows = session.execute(query.where(one_of(node, nodes))).all()
    return rows
