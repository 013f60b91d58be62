"""The first moment at which a request could be had, by the ends and holds that are known now. It promises nothing.

The machines that fit are read with what is known of them (``provider.blocked_times``). Each is free between its blocked
times; one pass over the beginnings of these spans, in order, adds the machines that come and takes away those that go.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import or_, select

from baremetal_sched.baremetal.bookings.times import turnaround
from baremetal_sched.baremetal.matching.conditions import Kind, required_capabilities, unmet_capabilities
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
    free_times,
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
    free = _free(context, machines, now) if machines else ()
    latest = FOREVER if context.end is None else context.end.latest
    at = first_moment(free, several, _lasts(context if request.strict_end else context.with_end(None)), latest)
    if at is not None:
        return Earliest(at)
    if latest < FOREVER:
        return Earliest(reason="By what is known, it cannot be had before its end.")
    return Earliest(reason="It is not known when enough of the machines that fit will be free.")


#: Whether a machine that is free until the second moment can be had from the first one on.
Lasts = Callable[[float, float], bool]


def _lasts(context: MachineContext) -> Lasts:
    """Return how long a machine must be free: for a moment; with an end, until then."""
    end = context.end
    if end is None:
        return lambda start, until: start < until
    at, seconds = end.at, end.seconds or 0.0
    return lambda start, until: start < until and (start + seconds if at is None else at) <= until


def first_moment(
    free: Iterable[tuple[Place, Iterable[Interval]]], several: Several, lasts: Lasts, latest: float = FOREVER
) -> float | None:
    """Return the first moment, at most the ``latest``, at which enough machines can be had. ``free``: the place of each
    machine, and when it is free."""
    spans = [(start, end, place) for place, own in free for start, end in own if lasts(start, end)]
    room, leaving, number = Room(several), list[tuple[float, int, Place]](), count()
    for start, coming in groupby(sorted(spans, key=itemgetter(0)), itemgetter(0)):
        if start > latest:
            break
        while leaving and not lasts(start, leaving[0][0]):
            room.change(heapq.heappop(leaving)[2], -1)
        come = list(coming)
        for _, end, place in come:
            room.change(place, 1)
            if end < FOREVER:
                heapq.heappush(leaving, (end, next(number), place))
        if any(room.has_enough(pack) for pack in {place[0] for *_, place in come}):
            return float(start)
    return None


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


def _free(context: MachineContext, machines: Sequence[Any], now: float) -> Iterator[tuple[Place, Iterable[Interval]]]:
    """Yield the place of each machine, and when it is free."""
    takes = turnaround(context.settings)
    holds = _holds(context, machines, now)
    for row in machines:
        facts = Facts._make(row[_FACTS:_REST])
        yield (row[0], row[1]), free_times(facts, holds.get(facts.node_id, ()), now, takes)


def _holds(context: MachineContext, machines: Sequence[Any], now: float) -> dict[int, list[Interval]]:
    """Return the holds of the machines that are not over, by node (an id).

    SELECT node_id, … FROM holds WHERE ends_at IS NULL OR ends_at > …, of all nodes unless there are many
    """
    columns = (Hold.node_id, Hold.asserted_at, Hold.starts_at, Hold.ends_at, Hold.drain)
    query = select(*columns).where(or_(Hold.ends_at.is_(None), Hold.ends_at > now))
    rows = context.session.execute(query.limit(len(machines) + 1)).all()
    if len(rows) > len(machines):
        rows = context.session.execute(query.where(one_of(Hold.node_id, [row[_FACTS] for row in machines]))).all()
    ahead, found = context.settings.scheduling.withhold_before_windows, dict[int, list[Interval]]()
    for hold in rows:
        found.setdefault(hold.node_id, []).append(hold_interval(hold, ahead))
    return found
