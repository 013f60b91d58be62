"""/calendar: when machines are booked, held and in use, day by day: machine by machine, or counted by domain."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import cache
from typing import Any

from flask import Response
from sqlalchemy import null, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.nodes.node_filters import TRAIT_FILTERS
from baremetal_sched.baremetal.domains import naming
from baremetal_sched.baremetal.domains.domain_list import domain_at
from baremetal_sched.baremetal.provider.blocked_times import FOREVER
from baremetal_sched.db.clock import epoch
from baremetal_sched.errors import InvalidValue
from baremetal_sched.scheduling.api.capacity import filters_of, require_levels, visible_to
from baremetal_sched.scheduling.api.policies import DOMAINS, GET_BOOKING
from baremetal_sched.scheduling.bookings.calendar import BOOKED, KINDS, CalendarMachine, CalendarUse, read_calendar
from baremetal_sched.scheduling.capacity import DOMAIN
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.forms import FormQuery, submitted, without
from baremetal_sched.ui.rendering import page
from baremetal_sched.web.http_errors import message_of

#: The most machines of a calendar that shows each, and of one that counts them; and the most domains.
MOST_MACHINES, MOST_COUNTED, MOST_DOMAINS = 100, 2000, 50

#: The lengths of the calendar, in days.
LENGTHS = ("7", "14", "28")
_DAY = timedelta(days=1)

#: The words of the colours.
KIND_WORDS = (("own", "booked by your project"), *((each, each) for each in KINDS))

PARAMETERS = ("level", "from", "days", "resource_class", "conductor_group", "domain", *TRAIT_FILTERS)


@dataclass(frozen=True)
class Days:
    """The days of a calendar, in UTC, each by its beginning."""

    first: datetime
    number: int

    def all(self) -> list[datetime]:
        """Return the days."""
        return [self.first + each * _DAY for each in range(self.number)]

    def window(self) -> tuple[float, float]:
        """Return the beginning of the first one, and the end of the last one, in seconds since 1970."""
        return self.first.timestamp(), (self.first + self.number * _DAY).timestamp()


def show_calendar(call: UiCall, session: Session) -> Response:
    """GET /calendar"""
    visible = call.leading_to(visible_to(call))
    query = submitted(call, PARAMETERS)
    levels = naming.levels(session, visible.conditions()) if call.allows(DOMAINS) else []
    days = _first_days(session)
    try:
        days, level = _days(query, days), query.text("level")
        require_levels(call, session, [] if level is None else [DOMAIN + level], visible)
        conditions = [*visible.conditions(), *filters_of(session, query, visible).conditions]
        most = (MOST_MACHINES if level is None else MOST_COUNTED) + 1
        place = null() if level is None else domain_at(level)
        machines = read_calendar(session, call.settings, days.window(), conditions, place, most)
        if level is not None and len(machines) == most:
            raise InvalidValue(message=f"There are more than {MOST_COUNTED} machines: choose a class or a domain.")
    except InvalidValue as error:
        return _page(call, days, levels, 400, everything=visible.everything, complaint=message_of(error))
    counted = {} if level is None else _by_domain(machines, days.all())
    shown = dict(list(counted.items())[:MOST_DOMAINS])
    rows = [] if level is not None else [(each, _cells(each, days.all())) for each in machines[:MOST_MACHINES]]
    return _page(
        call,
        days,
        levels,
        everything=visible.everything,
        level=level,
        rows=rows,
        domains=shown,
        more=len(counted) - len(shown) if level is not None else len(machines) - len(rows),
    )


def _page(call: UiCall, days: Days, levels: Sequence[str], status: int = 200, **values: Any) -> Response:
    length, first = days.number * _DAY, days.first.date()
    sees = cache(lambda project: call.allows(GET_BOOKING, {"project_id": project}))
    own = {"rows": [], "domains": {}, "level": None, "more": 0, "complaint": None, **values}
    return page(
        call,
        "calendar.html",
        status,
        given=dict(call.query),
        filters=without(call.query, "from"),
        days=days.number,
        heads=[f"{each:%a %d %b}" for each in days.all()],
        kinds=KIND_WORDS,
        infinite=FOREVER,
        before=str(first - length),
        after=str(first + length),
        levels=[("", "each machine"), *((each, f"machines by {each}") for each in levels)],
        lengths=[(each, f"{each} days") for each in LENGTHS],
        moment_of=moment_of,
        kind_of=lambda use: _kind(call, use),
        label_of=lambda use: use.name or use.booking if use.project is not None and sees(use.project) else None,
        **own,
    )


def _first_days(session: Session) -> Days:
    """Return the days from today on, by the clock of the database."""
    now = moment_of(session.scalar(select(epoch())) or 0.0)
    return Days(datetime.combine(now, time(), UTC), int(LENGTHS[1]))


def _days(query: FormQuery, usual: Days) -> Days:
    """Return the requested days, which do not begin before the ``usual`` ones. Raises InvalidValue."""
    length, first = query.text("days"), query.text("from")
    if length is not None and length not in LENGTHS:
        raise InvalidValue(message=f"A calendar has {', '.join(LENGTHS[:-1])} or {LENGTHS[-1]} days, not '{length}'.")
    try:
        day = usual.first if first is None else datetime.combine(datetime.fromisoformat(first), time(), UTC)
        days = Days(max(day, usual.first), usual.number if length is None else int(length))
        days.window()
    except (ValueError, OverflowError):
        raise InvalidValue(message=f"'{first}' is no day: write one such as 2026-12-24.") from None
    return days


def moment_of(seconds: float) -> datetime:
    """Return a moment in seconds since 1970 as a time stamp in UTC."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def _cells(machine: CalendarMachine, days: Sequence[datetime]) -> list[list[CalendarUse]]:
    """Return what keeps a machine on each day; nothing if it is free."""
    return [[use for use in machine.uses if _is_on(use, day)] for day in days]


def _is_on(use: CalendarUse, day: datetime) -> bool:
    return use.meets(day.timestamp(), (day + _DAY).timestamp())


def _by_domain(
    machines: Sequence[CalendarMachine], days: Sequence[datetime]
) -> Mapping[str, list[Counter[str | None]]]:
    """Return the days of each domain, by its name, sorted: on each day, the number of machines by the kind of use that
    counts most; None: they are free all day. The domain of machines in none is ""."""
    found: dict[str, list[Counter[str | None]]] = {}
    for machine in sorted(machines, key=lambda each: each.place or ""):
        counts = found.setdefault(machine.place or "", [Counter() for _ in days])
        for day, count in zip(days, counts, strict=True):
            count[next((use.kind for use in machine.uses if _is_on(use, day)), None)] += 1
    return found


def _kind(call: UiCall, use: CalendarUse) -> str:
    """Return what keeps a machine, as the calendar colours it: bookings of the caller's own project are "own"."""
    is_own = use.project is not None and use.project == call.caller.project_id
    return "own" if use.kind == BOOKED and is_own else use.kind
