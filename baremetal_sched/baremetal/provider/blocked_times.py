"""When machines cannot be had, by what is known now: the ends of claims, holds, bookings, and the states of nodes.

Half-open intervals, the first of which begins now. The rule is written twice: in Python (``free_spans``: the rest of
the time) and in SQL (``blocked_until``, ``free_at``). What happens in a moment is not part of it: locks of conductors,
and claims that are yet to be made.
"""

import math
from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Double, and_, case, exists, false, func, literal, null, or_

from baremetal_sched.baremetal.bookings.times import (
    BOOKED,
    NOBODY,
    Own,
    Turnaround,
    Window,
    meets_booking,
    turnaround_of,
)
from baremetal_sched.baremetal.provider.availability import (
    HAS_NO_CLASS,
    HAS_NO_INSTANCE,
    IS_CLAIMED,
    STOCK,
)
from baremetal_sched.db.clock import statement_epoch
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.machines import states
from baremetal_sched.placement.ending import IS_LATE
from baremetal_sched.placement.ends import LATE
from baremetal_sched.placement.tables import CLAIM_ENDS
from baremetal_sched.settings import Settings

FOREVER = math.inf

#: From a moment on, and before another.
Interval = tuple[float, float]

#: On its way to available, unless it is cleaned to become manageable.
_COMES_BACK = frozenset({states.DELETING, "deleted", states.CLEANING, states.CLEANWAIT, states.CLEANHOLD})
#: Only an operator brings it back.
_STAYS_OUT = frozenset(
    {
        *(states.ENROLL, states.VERIFYING, states.MANAGEABLE, states.CLEANFAIL, states.ADOPTFAIL),
        *(states.INSPECTING, states.INSPECTWAIT, states.INSPECTFAIL),
    }
)
#: In use, also after a failure: an end undeploys it.
_USE = states.PROVISION_STATES - _COMES_BACK - _STAYS_OUT - {states.AVAILABLE}

#: SQL condition on a node: it can be used, or will be by itself.
IS_LASTING = and_(~Node.retired, Node.parent_node.is_(None), Node.provision_state.not_in(_STAYS_OUT))

#: SQL conditions on the rows of ``availability.with_ends``.
_IS_USED = or_(IS_CLAIMED, ~HAS_NO_INSTANCE, Node.provision_state.in_(_USE))
_RETURNS = and_(
    Node.provision_state.in_(_COMES_BACK),
    func.coalesce(Node.target_provision_state, "") != states.MANAGEABLE,
)
_IS_OUT = or_(
    HAS_NO_CLASS,
    STOCK.c.free.is_(None),
    Node.parent_node.is_not(None),
    Node.retired,
    Node.provision_state.in_(_STAYS_OUT),
    and_(Node.provision_state.in_(_COMES_BACK), ~_RETURNS),
)
#: It is idle, and yet not on offer: its power is unknown, or its provider was changed directly. Maintenance is a hold.
_IS_LOST = and_(
    Node.provision_state == states.AVAILABLE,
    or_(Node.power_state.is_(None), Node.power_state == states.ERROR, and_(STOCK.c.free <= 0, ~Node.maintenance)),
)


class Facts(NamedTuple):
    """What is known of a machine. ``ends_at`` and ``end_state`` are those of its consumer's end; None: it has none."""

    node_id: int
    resource_class: str | None
    is_out: bool
    is_used: bool
    returns: bool
    is_lost: bool
    ends_at: float | None
    end_state: str | None


#: The facts, in the rows of ``with_ends``.
FACTS = (
    Node.id,
    Node.resource_class,
    case((_IS_OUT, 1), else_=0).label("is_out"),
    case((_IS_USED, 1), else_=0).label("is_used"),
    case((_RETURNS, 1), else_=0).label("returns"),
    case((_IS_LOST, 1), else_=0).label("is_lost"),
    CLAIM_ENDS.c.ends_at,
    CLAIM_ENDS.c.state,
)


class Span(NamedTuple):
    """A machine can be had from ``start`` on, before ``end``. Bookings then leave it to its user until ``until``."""

    start: float
    end: float
    until: float


def free_spans(
    facts: Facts, holds: Collection[Interval], booked: Collection[Interval], now: float, takes: Turnaround
) -> list[Span]:
    """Return when a machine with these holds and bookings can be had, from ``now`` on, in order: between its blocked
    times. A use may go on when a hold begins, if it is not strict, but never into a booking."""
    kept = _between(now, booked)
    return [
        Span(max(start, begins), min(end, until), until)
        for start, end in _between(_until(facts, now, takes(facts.resource_class)), holds)
        for begins, until in kept
        if max(start, begins) < min(end, until)
    ]


def free_times(
    facts: Facts, holds: Collection[Interval], now: float, takes: Turnaround, booked: Collection[Interval] = ()
) -> list[Interval]:
    """Return the same as intervals, for a use that must be over when a hold begins."""
    return [(span.start, span.end) for span in free_spans(facts, holds, booked, now, takes)]


def _between(start: float, blocked: Collection[Interval]) -> list[Interval]:
    """Return the intervals from ``start`` on that the ``blocked`` ones leave, in order."""
    free: list[Interval] = []
    for begins, ends in sorted(blocked):
        if begins > start:
            free.append((start, begins))
        start = max(start, ends)
    return free if start == FOREVER else [*free, (start, FOREVER)]


def _until(facts: Facts, now: float, seconds: float) -> float:
    """Return until when the machine cannot be had, whatever its holds are; ``now``: it can."""
    if facts.is_out:
        return FOREVER
    if facts.is_used:
        if facts.ends_at is None or facts.end_state == LATE:
            return FOREVER
        until = facts.ends_at + seconds
        # Its end is long over: nobody has seen to it yet.
        return until if until > now and not (facts.returns and facts.ends_at < now) else now + seconds
    if facts.returns:
        return now + seconds
    return FOREVER if facts.is_lost else now


def hold_interval(hold: Any, ahead: float) -> Interval:
    """Return when a hold keeps its node from being had: from ``ahead`` seconds before its start, or from its start if
    it drains, as who has the machine then keeps it."""
    start = hold.asserted_at if hold.starts_at is None else hold.starts_at
    return start - (0.0 if hold.drain else ahead), FOREVER if hold.ends_at is None else hold.ends_at


def booked_interval(row: Any, seconds: float) -> Interval:
    """Return when a row of ``booked_machines`` keeps its machine from others: their use, and the turnaround of
    ``seconds`` after it, must be over when it begins; and so must its own turnaround when theirs begins."""
    return row.starts_at - seconds, FOREVER if row.ends_at is None else row.ends_at + row.turnaround


def booked_times(rows: Collection[Any], seconds: float, *, has_end: bool) -> list[Interval]:
    """Return when rows of ``booked_machines`` of one machine keep it from others, which have an end or none. Who names
    no end gets it after the last of them."""
    found = [booked_interval(row, seconds) for row in rows]
    return found if has_end or not found else [(-FOREVER, max(until for _, until in found))]


# -- in SQL ------------------------------------------------------------------------------------------------------------


def blocked_until(settings: Settings) -> ColumnElement[float]:
    """Return until when the machine cannot be had, whatever its holds are, in a row of ``with_ends``; NULL: for ever.

    CASE WHEN <it is out of use> THEN NULL WHEN <in use> AND (ends_at IS NULL OR state = 'late') THEN NULL
    WHEN <in use> AND ends_at + t > now THEN ends_at + t WHEN <in use, or on its way> THEN now + t …
    """
    now, seconds, ends_at = statement_epoch(), turnaround_of(settings), CLAIM_ENDS.c.ends_at
    is_gone = and_(_RETURNS, ends_at < now)
    return case(
        (_IS_OUT, null()),
        (and_(_IS_USED, or_(ends_at.is_(None), CLAIM_ENDS.c.state == LATE)), null()),
        (and_(_IS_USED, ends_at + seconds > now, ~is_gone), ends_at + seconds),
        (or_(_IS_USED, _RETURNS), now + seconds),
        (_IS_LOST, null()),
        else_=now,
    )


def is_lost(settings: Settings, starts_at: ColumnElement[float], ends_at: ColumnElement[float]) -> ColumnElement[bool]:
    """Return the condition that a machine that was to be free from one moment until another cannot be had by what is
    known now, in a row of ``with_ends``: it is out of use, in use past the beginning (without end, late, or with an
    end less than its turnaround before it), its power is unknown, or a hold touches what is left of the time. A machine
    on its way to available is not lost.

    CASE WHEN <it is out of use> THEN 1 WHEN <in use> THEN CASE WHEN <it ends in time> THEN 0 ELSE 1 END
    WHEN <on its way> THEN 0 WHEN <its power is unknown> THEN 1 ELSE 0 END = 1 OR EXISTS (SELECT 1 FROM holds …)
    """
    in_time = and_(CLAIM_ENDS.c.ends_at + turnaround_of(settings) <= starts_at, ~IS_LATE)
    kept = case((in_time, 0), else_=1)
    state = case((_IS_OUT, 1), (_IS_USED, kept), (_RETURNS, 0), (_IS_LOST, 1), else_=0)
    goes_on = and_(Hold.ends_at > starts_at, Hold.ends_at > statement_epoch())
    return or_(state == 1, _held(goes_on, _begins(settings) < ends_at))


def comes_back_by(settings: Settings, moment: float) -> ColumnElement[bool]:
    """Return the condition that only holds keep the machine from being had at a moment that is not over, in a row of
    ``with_ends``."""
    return func.coalesce(blocked_until(settings) <= literal(moment, Double()), false())


def free_at(settings: Settings, moment: float) -> ColumnElement[bool]:
    """Return the condition that the machine can be had at a moment that is not over, in a row of ``with_ends``."""
    return and_(comes_back_by(settings, moment), ~held_at(settings, moment), ~booked_at(moment))


def held_at(settings: Settings, moment: float) -> ColumnElement[bool]:
    """Return the condition that a hold keeps the machine from being had at a moment."""
    at: ColumnElement[float] = literal(moment, Double())
    return _held(Hold.ends_at > at, _begins(settings) <= at)


def free_during(settings: Settings, window: Window, own: Own = NOBODY) -> ColumnElement[bool]:
    """Return the condition that the machine can be had for a whole window that is not over, in a row of ``with_ends``:
    it comes back before, and nothing that is planned meets the window.

    coalesce(<blocked until> <= :starts_at, false) AND …
    """
    until = blocked_until(settings)
    # A window may have begun a moment ago: what is free by now is free for it.
    returns = func.coalesce(or_(until <= literal(window.starts_at, Double()), until <= statement_epoch()), false())
    return and_(returns, leaves(settings, window, own))


def leaves(settings: Settings, window: Window, own: Own = NOBODY) -> ColumnElement[bool]:
    """Return the condition on a node that no hold touches a window, and no booking or plan of others meets it.

    NOT EXISTS (SELECT 1 FROM holds …) AND NOT EXISTS (SELECT 1 FROM booked_machines …)
    """
    starts_at: ColumnElement[float] = literal(window.starts_at, Double())
    ends_at: ColumnElement[float] = literal(window.ends_at, Double())
    holds = _held(Hold.ends_at > starts_at, _begins(settings) < ends_at)
    return and_(~holds, ~meets_booking(settings, starts_at, ends_at, own))


def _held(goes_on: ColumnElement[bool], begins: ColumnElement[bool]) -> ColumnElement[bool]:
    """SQL condition on a node: it has a hold that has begun by some moment, and goes on then, or has no end."""
    return exists().where(Hold.node_id == Node.id, begins, or_(Hold.ends_at.is_(None), goes_on))


def _begins(settings: Settings) -> ColumnElement[float]:
    """SQL: from when on a hold keeps its node from being had. The rule is that of ``hold_interval``."""
    ahead: ColumnElement[float] = literal(float(settings.scheduling.withhold_before_windows), Double())
    early = case((Hold.drain, literal(0.0, Double())), else_=ahead)
    begins: ColumnElement[float] = func.coalesce(Hold.starts_at, Hold.asserted_at) - early
    return begins


def booked_at(moment: float) -> ColumnElement[bool]:
    """Return the condition that a machine is booked at a moment, or its turnaround after that is not over."""
    at: ColumnElement[float] = literal(moment, Double())
    goes_on = or_(BOOKED.c.ends_at.is_(None), BOOKED.c.ends_at + BOOKED.c.turnaround > at)
    return exists().where(BOOKED.c.node_id == Node.id, BOOKED.c.starts_at <= at, goes_on)
