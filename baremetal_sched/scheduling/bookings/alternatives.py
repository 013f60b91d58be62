"""Why machines cannot be booked, and what could be booked instead: the earliest start for the same length, and the
longest length for the same start, by what is known now."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, floor
from operator import itemgetter

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import NOBODY, Own, Window, turnaround
from baremetal_sched.baremetal.matching.conditions import Kind
from baremetal_sched.baremetal.matching.earliest import (
    KNOWN,
    MOST,
    bookings_of,
    facts_of,
    first_moment,
    holds_of,
    read,
    that_fit,
)
from baremetal_sched.baremetal.matching.explanation import why_none
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.sentences import FALLBACK, joined
from baremetal_sched.baremetal.matching.spreading import Place, Places, Room, Several, lack, sentence
from baremetal_sched.baremetal.provider.blocked_times import FOREVER, Interval, Span, booked_times, free_times
from baremetal_sched.db.clock import in_words
from baremetal_sched.db.models import Domain, Node
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors.scheduling import NotBookable
from baremetal_sched.scheduling.bookings import choosing
from baremetal_sched.settings import Settings

#: Why a machine is not free for a whole window, in the order in which the reasons count: the words for one, and for
#: several.
_IN_USE, _HELD, _BOOKED = "in use", "held", "booked"
_WORDS = {
    _IN_USE: ("is not known to be free at its start", "are not known to be free at its start"),
    _HELD: ("has a hold in that time", "have holds in that time"),
    _BOOKED: ("is booked in that time", "are booked in that time"),
}


@dataclass(frozen=True)
class FitMachine:
    """A machine that fits: its place, when it is free, and why it is not free for the whole window; None: it is."""

    place: Place
    free: Sequence[Interval]
    why: str | None


class NoChoice(NotBookable):
    """``choosing.choose`` found no machines for a request. ``first``: when a new booking can begin, in seconds since
    1970; ``now``, ``own`` and ``stays`` as there.

    What is short takes long to find out, and the rows of a class and a project may be locked: see ``explained``.
    """

    def __init__(
        self,
        request: MachineRequest,
        window: Window,
        now: float,
        first: float,
        own: Own = NOBODY,
        stays: Collection[int] = (),
    ) -> None:
        super().__init__(reason="Too few machines that fit are free for the whole of it.", earliest=None, longest=None)
        self.request, self.window, self.now, self.first, self.own, self.stays = request, window, now, first, own, stays

    def error(self, session: Session, settings: Settings) -> NotBookable:
        """Return the error that says what is short, and if it is about a new booking, its ``earliest`` start for the
        same length, and its ``longest`` length in seconds for the same start; None where there is none, or with more
        than MOST machines."""
        request, window, context = self.request, self.window, MachineContext(session, settings)
        several = choosing.beside(session, request, self.stays)
        machines = _machines(context, request, several, window, self.now, self.own)
        if machines is None:
            reason = f"Not enough of the machines that fit are free, and more than {MOST:,} fit: narrow the request."
            return NotBookable(reason=reason, earliest=None, longest=None)
        said, earliest, longest = [_short(context, request, several, machines)], None, None
        if self.own == NOBODY:
            length = window.ends_at - window.starts_at
            earliest = first_start(machines, several, length, self.first)
            longest = longest_length(machines, several, window.starts_at)
            # In whole seconds that are possible.
            said += [] if earliest is None else [f"Earliest start for the same length: {in_words(ceil(earliest))}."]
            said += [] if longest is None else [f"Longest length for the same start: {floor(longest)} s."]
        return NotBookable(reason=" ".join(said), earliest=earliest, longest=longest)


@contextmanager
def explained(database: Database, settings: Settings, deadline: float | None = None) -> Iterator[None]:
    """Raise NotBookable with what is short for NoChoice. It is found out when the transaction that raised it is over
    and keeps nobody waiting; by then enough may be free again."""
    try:
        yield
    except NoChoice as refused:
        error = database.read(partial(refused.error, settings=settings), deadline=deadline)
        raise error from None


def first_start(machines: Iterable[FitMachine], several: Several, length: float, first: float) -> float | None:
    """Return the first moment from ``first`` on from which enough machines are free for so many seconds; None if there
    is none."""
    free = ((each.place, [Span(max(start, first), end, end) for start, end in each.free]) for each in machines)
    return first_moment(free, several, lambda start, until: start + length <= until)


def longest_length(machines: Iterable[FitMachine], several: Several, start: float) -> float | None:
    """Return for how many seconds enough machines are free from a moment on; None if too few are free then, or if
    they stay free for ever."""
    ends = [(end, each.place) for each in machines for begin, end in each.free if begin <= start < end]
    room = Room(several)
    for end, place in sorted(ends, key=itemgetter(0), reverse=True):
        if room.change(place, 1):
            return None if end == FOREVER else end - start
    return None


def _machines(
    context: MachineContext, request: MachineRequest, several: Several, window: Window, now: float, own: Own
) -> list[FitMachine] | None:
    """Return the machines that fit, free or not; None if more than MOST fit."""
    question = choosing.fitting(context, request)
    query = that_fit(request, question, several.own).where(Node.id.is_not(None))
    rows = read(context.session, query, question, several, *KNOWN, most=MOST)
    if len(rows) > MOST:
        return None
    session, settings, nodes = context.session, context.settings, [row[0] for row in rows]
    holds, booked = holds_of(session, settings, nodes, now), bookings_of(session, nodes, now)
    takes = turnaround(settings)
    found = []
    for row in rows:
        facts, held = facts_of(row), holds.get(row[0], [])
        others = [each for each in booked.get(row[0], ()) if not own.has(each)]
        kept = booked_times(others, takes(facts.resource_class), has_end=True)
        free = free_times(facts, held, now, takes, kept)
        why = None if _contains(free, window) else _why(held, window, free_times(facts, (), now, takes))
        found.append(FitMachine((row[1], row[2]), free, why))
    return found


def _contains(free: Iterable[Interval], window: Window) -> bool:
    return any(start <= window.starts_at and window.ends_at <= end for start, end in free)


def _why(held: Iterable[Interval], window: Window, free: Sequence[Interval]) -> str:
    if not _contains(free, window):
        return _IN_USE
    return _HELD if any(start < window.ends_at and window.starts_at < end for start, end in held) else _BOOKED


def _short(context: MachineContext, request: MachineRequest, several: Several, machines: Sequence[FitMachine]) -> str:
    """Return what is short, in sentences."""
    if not machines:
        return "No other machine fits." if several.own else _why_none_fits(context, request)
    why = Counter(each.why for each in machines if each.why is not None)
    free = Counter(each.place for each in machines if each.why is None)
    number = sum(free.values())
    other = "other " if several.own else ""
    fit = f"1 {other}machine that fits" if len(machines) == 1 else f"{len(machines):,} {other}machines that fit"
    said = f"Of {fit}, {number:,} {'is' if number == 1 else 'are'} free for the whole of it"
    short = [f"{why[each]:,} {words[why[each] > 1]}" for each, words in _WORDS.items() if why[each]]
    said += (
        f": {joined(short)}." if short else f", and {several.count:,} are needed." if number < several.count else "."
    )
    return f"{said} {_domains(context, several, free)}" if several.levels and number >= several.count else said


def _why_none_fits(context: MachineContext, request: MachineRequest) -> str:
    question = choosing.fitting(context, request)
    of_request = [each for each in question.conditions if each.kind is Kind.REQUEST]
    explained = why_none(context.session, context.settings, replace(question, conditions=of_request))
    return FALLBACK if explained is None else explained.summary


def _domains(context: MachineContext, several: Several, free: Places) -> str:
    found = lack(several, free)
    name = None if found.pack is None else context.session.scalar(select(Domain.name).where(Domain.id == found.pack))
    return sentence(several, found, name)
