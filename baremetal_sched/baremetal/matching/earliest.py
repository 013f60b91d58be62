"""The first moment at which a request could be had, by the ends, holds and bookings that are known now. It promises
nothing.

The machines that fit are read with what is known of them (``provider.blocked_times``). Each is free between its blocked
times; one pass over the beginnings of these spans, in order, adds the machines that come and takes away those that go.
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import or_, select

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

#: With more machines that fit, the moment is not looked for.
MOST = 20_000

#: Where the facts begin and end in the rows of machines.
_FACTS, _REST = 2, 2 + len(FACTS)


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
    return [
        Coming(Facts._make(row[_FACTS:_REST]), place, [*times])
        for row, (place, times) in zip(machines, free, strict=True)
    ]


# -- machines that fit -------------------------------------------------------------------------------------------------


def _machines(context: MachineContext, request: MachineRequest, several: Several, scanned: Scan) -> Sequence[Any]:
    """Return the machines that fit if they are free, one more than MOST at most: the place of each, and facts.

    The question that was ``scanned`` may be about providers, and cost less; if some of them are no nodes, the whole
    trees of nodes count.
    """
    if scanned.question is not None and scanned.sample is None:
        rows = _read(context, request, several, scanned.question)
        if all(row[_FACTS] is not None for row in rows):
            return rows
    return _read(context, request, several, request.question(context))


def _read(context: MachineContext, request: MachineRequest, several: Several, question: Question) -> Sequence[Any]:
    """SELECT n.id, …, e.ends_at, e.state, pack.domain_id, spread.domain_id FROM <nodes, providers, inventories, ends>
    WHERE <each condition of the request> LIMIT …
    """
    kinds = {Kind.REQUEST, Kind.SERVICE} if request.served else {Kind.REQUEST}
    met = [each.holds for each in question.conditions if each.counts and each.kind in kinds]
    query: Query = select(Node.id).select_from(with_ends(question.source)).where(*question.where, *met)
    if several.own:
        query = query.where(or_(Node.id.is_(None), Node.id.not_in(several.own)))
    columns, query = placed(query, several)
    needed = bool(required_capabilities(question.capabilities))
    own = (*columns, *FACTS, *((Node.properties,) if needed else ()))
    read = query.with_only_columns(*own, maintain_column_froms=True).limit(MOST + 1)
    rows = context.session.execute(read).all()
    able = (row for row in rows if not unmet_capabilities(question.capabilities, row.properties or {}))
    return [*able] if needed else rows


def _free(
    context: MachineContext, machines: Sequence[Any], now: float, *, is_strict: bool
) -> Iterator[tuple[Place, Iterable[Span]]]:
    """Yield the place of each machine, and when it is free: for a strict request, only until a hold begins."""
    takes = turnaround(context.settings)
    holds, booked = _holds(context, machines, now), _booked(context, machines, now)
    for row in machines:
        facts = Facts._make(row[_FACTS:_REST])
        kept = booked.get(facts.node_id, ())
        others = [each for each in kept if not context.own.has(each)]
        times = booked_times(others, takes(facts.resource_class), has_end=context.end is not None)
        if context.own.booking is not None:
            times += _but_for([each for each in kept if context.own.has(each)])
        free = free_spans(facts, holds.get(facts.node_id, ()), times, now, takes)
        yield (row[0], row[1]), [span._replace(until=span.end) for span in free] if is_strict else free


def _but_for(own: Sequence[Any]) -> list[Interval]:
    """Return when a machine cannot be had under a booking, which has at most one row of it: outside its window."""
    return [each for row in own for each in ((-FOREVER, row.starts_at), (row.ends_at, FOREVER))] or [
        (-FOREVER, FOREVER)
    ]


def _booked(context: MachineContext, machines: Sequence[Any], now: float) -> dict[int, list[Any]]:
    """Return the bookings and plans of the machines that are not over, by node (an id).

    SELECT node_id, … FROM booked_machines WHERE ends_at IS NULL OR ends_at + turnaround > …
    """
    goes_on = or_(BOOKED.c.ends_at.is_(None), BOOKED.c.ends_at + BOOKED.c.turnaround > now)
    rows = _of_machines(context, machines, select(BOOKED).where(goes_on), BOOKED.c.node_id)
    return {node: [*own] for node, own in groupby(sorted(rows, key=_NODE), _NODE)}


_NODE = attrgetter("node_id")


def _of_machines(context: MachineContext, machines: Sequence[Any], query: Query, node: Any) -> Sequence[Any]:
    """Return the rows of a query that are those of the machines, or of all nodes unless there are many."""
    rows = context.session.execute(query.limit(len(machines) + 1)).all()
    if len(rows) > len(machines):
        rows = context.session.execute(query.where(one_of(node, [row[_FACTS] for row in machines]))).all()
    return rows


def _holds(context: MachineContext, machines: Sequence[Any], now: float) -> dict[int, list[Interval]]:
    """Return the holds of the machines that are not over, by node (an id).

    SELECT node_id, … FROM holds WHERE ends_at IS NULL OR ends_at > …
    """
    columns = (Hold.node_id, Hold.asserted_at, Hold.starts_at, Hold.ends_at, Hold.drain)
    query = select(*columns).where(or_(Hold.ends_at.is_(None), Hold.ends_at > now))
    rows = _of_machines(context, machines, query, Hold.node_id)
    ahead, found = context.settings.scheduling.withhold_before_windows, dict[int, list[Interval]]()
    for hold in rows:
        found.setdefault(hold.node_id, []).append(hold_interval(hold, ahead))
    return found
