"""Requests that wait for several machines: each is served when enough are free at one moment, in a transaction of its
own.

No free machine is kept for them, except by plans (``plans``): requests for one machine are served first. After a commit
that freed machines, or that gave back a machine of a group, the requests that this may help are looked at; the sweep
looks at all.

In which order they are looked at: the highest priority first, and of each priority one request of each project in turn.
So no project keeps others from their turn, however much it asks for. What equal or similar requests need is counted
once, and a request that needs more machines than are free costs nothing else.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import structlog
from sqlalchemy import ColumnElement, Connection, Integer, Select, and_, bindparam, func, or_, select, tuple_
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import last_start
from baremetal_sched.baremetal.matching.free_counts import Bounds, FreeCounts
from baremetal_sched.baremetal.matching.opening import Reach
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.db import compiled
from baremetal_sched.db.faults import Fault, classify
from baremetal_sched.db.models import WaitingRequest
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import DatabaseAway, SchedulerError
from baremetal_sched.errors.scheduling import ConsumerInUse
from baremetal_sched.placement import waiting_requests
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.waiting_requests import FAILED, GATHERING, IS_GATHERING
from baremetal_sched.scheduling import machine_groups, plans
from baremetal_sched.scheduling.queue import KnownRequest, known_requests
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Seconds that one sweep spends, and the greatest number of requests that it looks at.
_SECONDS = 5.0
_MOST = 1000
#: After a commit, this many times as many requests are looked at as may need a count of their own.
_TIMES_TESTED = 4

#: In which order the requests of a project are served.
ORDER = (WaitingRequest.priority.desc(), WaitingRequest.asked_at, WaitingRequest.id)

#: The place of a request: its priority (the negative), its turn among those of its project, the time when it was made,
#: and its id.
Place = tuple[int, int, float, int]


def _in_turn(*conditions: ColumnElement[bool], goes_on: bool = False) -> Select[Any]:
    """Return the query of requests that wait, in the order of looking at them; with ``goes_on`` behind a place:

    SELECT … FROM (SELECT id, priority, …, row_number() OVER (PARTITION BY priority, consumer_project ORDER BY asked_at,
    id) AS turn FROM pending_claims WHERE state = 'gathering' AND …) AS queue
    ORDER BY priority DESC, turn, asked_at, id LIMIT :most
    """
    names = ("id", "uuid", "priority", "asked_at", "request_key", "resource_class", "consumer_project", "group_id")
    columns = [getattr(WaitingRequest, name) for name in (*names, "booking_id", "ends_at", "lasts")]
    by_project = (WaitingRequest.priority, WaitingRequest.consumer_project)
    turn = func.row_number().over(partition_by=by_project, order_by=ORDER[1:]).label("turn")
    waits = select(*columns, turn).where(IS_GATHERING, *conditions)
    queue = waits.subquery("queue").c
    query: Select[Any] = select(*queue)
    if goes_on:
        priority, *place = (bindparam(name, type_=queue[name].type) for name in ("priority", "turn", "asked_at", "id"))
        behind = and_(queue.priority == priority, tuple_(queue.turn, queue.asked_at, queue.id) > tuple_(*place))
        query = query.where(or_(queue.priority < priority, behind))
    in_order = query.order_by(queue.priority.desc(), queue.turn, queue.asked_at, queue.id)
    return in_order.limit(bindparam("most", type_=Integer))


_ALL, _GOING_ON = _in_turn(), _in_turn(goes_on=True)
#: Those of classes, and those of machine groups.
_HELPED = _in_turn(
    or_(
        WaitingRequest.resource_class.in_(bindparam("classes", expanding=True)),
        WaitingRequest.group_id.in_(bindparam("groups", expanding=True)),
    )
)


_OF_CLASS = _in_turn(
    WaitingRequest.resource_class == bindparam("class_name"),
    WaitingRequest.priority > bindparam("above", type_=Integer),
    WaitingRequest.booking_id.is_(None),
)
_NAMED = _in_turn(WaitingRequest.uuid.in_(bindparam("uuids", expanding=True)))

#: The different requests for a class that wait: SELECT request_key, min(id) … GROUP BY request_key LIMIT :most
_KEYS = (
    select(WaitingRequest.request_key, func.min(WaitingRequest.id))
    .where(IS_GATHERING, WaitingRequest.resource_class == bindparam("class_name"))
    .group_by(WaitingRequest.request_key)
    .limit(bindparam("most", type_=Integer))
)


class _Waiting(NamedTuple):
    """A claim of several machines that waits."""

    claim_id: int
    uuid: str
    priority: int
    asked_at: float
    key: str
    resource_class: str
    project: str
    group_id: int | None
    booking_id: int | None
    ends_at: float | None
    lasts: float | None
    turn: int

    def end(self, *, is_booked: bool) -> End | None:
        """Return the end, if what is free depends on it: the booking's, or its own if anything ``is_booked``."""
        if self.booking_id is not None:
            return End(booking=self.booking_id)
        return End(self.ends_at, self.lasts) if is_booked and (self.ends_at, self.lasts) != (None, None) else None

    @property
    def place(self) -> Place:
        return -self.priority, self.turn, self.asked_at, self.claim_id


#: Which machines count beside those that are free for all: until an end, or those of its booking; and those of the plan
#: of a request (an id).
_Whose = tuple[End | None, int | None]


@dataclass
class SweepPlace:
    """The place of the request at which the last sweep of this process ended; None: all were looked at."""

    after: Place | None = None


class _Looks:
    """Looks at claims in turn, and serves each for which enough machines are free, until it may not ``go_on`` after a
    number of counts.

    ``near``: only what helps the free machines (ids of providers) counts, except for claims of machine ``groups``
    (ids), which have just given back a machine; None: all free machines count.
    """

    def __init__(
        self,
        settings: Settings,
        go_on: Callable[[int], bool],
        near: Collection[int] | None = None,
        groups: Collection[int] = (),
    ) -> None:
        self._settings = settings
        self._go_on = go_on
        self._near = near
        self._groups = groups

    def serve(
        self, database: Database, read: Callable[[Session], list[_Waiting]], deadline: float | None = None
    ) -> tuple[list[_Waiting], int]:
        """Serve the claims that ``read`` returns, in its order; return them, and how many of them were looked at.
        Raises the errors of the database."""

        def look(session: Session) -> tuple[list[_Waiting], tuple[int, int, MachineRequest | None]]:
            claims = read(session)
            return claims, self._first(session, claims, counted=0)

        claims, (done, counted, found) = database.read(look, deadline=deadline)
        while found is not None:
            serve(database, self._settings, claims[done].uuid, found, deadline)
            again = partial(self._first, claims=claims[done + 1 :], counted=counted)
            passed, counted, found = database.read(again, deadline=deadline)
            done += 1 + passed
        return claims, done

    def _first(
        self, session: Session, claims: Sequence[_Waiting], counted: int
    ) -> tuple[int, int, MachineRequest | None]:
        """Return how many claims are passed over, the number of counts, and the request of the next claim if that may
        be served. Nothing is locked."""
        counts_of: dict[_Whose, FreeCounts] = {}
        is_booked = last_start(session) is not None
        known = known_requests(session.connection(), {each.claim_id: each.key for each in claims})
        planned = plans.planned(session, [each.claim_id for each in claims]) if plans.are_made(self._settings) else ()
        hopeless: set[tuple[str, str, _Whose]] = set()

        def number() -> int:
            return counted + sum(counts.number for counts in counts_of.values())

        for passed, each in enumerate(claims):
            if not self._go_on(number()):
                return passed, number(), None
            whose = (each.end(is_booked=is_booked), each.claim_id if each.claim_id in planned else None)
            request, same = known.get(each.key), (each.key, each.project, whose)
            if request is None or same in hopeless:
                continue
            if whose not in counts_of:
                counts_of[whose] = self._counts(session, whose, request.request)
            if self._may_be_served(session, counts_of[whose], each, request, is_planned=each.claim_id in planned):
                return passed, number(), request.request
            # Equal claims of the project find nothing either.
            hopeless.add(same)
        return len(claims), number(), None

    def _counts(self, session: Session, whose: _Whose, request: MachineRequest) -> FreeCounts:
        """Return the counts of machines that are free for all, for a booking or until an end; or for the request of a
        plan."""
        context, (end, plan) = MachineContext(session, self._settings), whose
        waiting = None if plan is None else session.get(WaitingRequest, plan)
        if waiting is not None:
            return FreeCounts(request.bound(replace(context, plan=plan).of_waiting(waiting)))
        if end is not None:
            context = replace(context, end=end, reach=Reach.ALL, takes_held=True)
        return FreeCounts(context, self._near or ())

    def _may_be_served(
        self, session: Session, counts: FreeCounts, claim: _Waiting, known: KnownRequest, *, is_planned: bool
    ) -> bool:
        several = known.request.several
        if several is None:
            return False
        anywhere = is_planned or self._near is None or claim.group_id in self._groups
        may_be_had = partial(
            counts.may_be_had, known.shared_key, claim.resource_class, known.request, anywhere=anywhere
        )
        # Whatever its group has, it can get no more than without it.
        if not may_be_had(several):
            return False
        if several.group is None:
            return True
        try:
            group = machine_groups.find(session, claim.project, several, lock=False)
            return may_be_had(machine_groups.now(session, several, group))
        except DatabaseAway:
            raise
        except SchedulerError as error:
            log.info("a claim of several machines cannot be looked at now", claim=claim.uuid, reason=str(error))
            return False


def may_help(connection: Connection, freed: Mapping[int, str], groups: Collection[int]) -> bool:
    """Return False if ``serve_freed`` would certainly serve nothing: mostly far too few machines are free. Nothing is
    locked."""
    classes = {*freed.values()}
    if groups or len(classes) != 1:
        return bool(groups or freed)
    (name,) = classes
    rows = compiled.run(connection, _KEYS, {"class_name": name, "most": _MOST}).all()
    known = known_requests(connection, {first: key for key, first in rows})
    bounds = Bounds(connection, freed)
    asked = (each.request.several for each in known.values())
    return len(rows) == _MOST or any(each is not None and bounds.allow(each, name) for each in asked)


def serve_freed(
    database: Database, settings: Settings, freed: Mapping[int, str], groups: Collection[int], deadline: float | None
) -> None:
    """Serve requests that freed machines may help (classes by the ids of their providers), and those of machine groups
    (ids) that gave back a machine. Raises the errors of the database."""
    most: int = settings.scheduling.most_tested
    helped = {"classes": sorted({*freed.values()}), "groups": sorted(groups), "most": _TIMES_TESTED * most}
    looks = _Looks(settings, lambda counted: counted < most, freed, groups)
    claims, looked = looks.serve(database, lambda session: _read(session, _HELPED, **helped), deadline)
    if looked < len(claims):
        log.info("too many different claims of several machines wait: some are left to the sweep")


def serve_planned(
    database: Database, settings: Settings, uuids: Collection[str], deadline: float | None = None
) -> None:
    """Serve those of the requests, which have plans, for which enough machines are free. Raises the errors of the
    database."""
    _Looks(settings, lambda _: True).serve(
        database, lambda session: _read(session, _NAMED, uuids=[*uuids], most=_MOST), deadline
    )


def in_order(session: Session, resource_class: str, above: int, most: int) -> list[int]:
    """Return the first requests (ids) that wait for a class with a higher priority than ``above``, in their order."""
    return [each.claim_id for each in _read(session, _OF_CLASS, class_name=resource_class, above=above, most=most)]


def serve(
    database: Database, settings: Settings, uuid: str, request: MachineRequest, deadline: float | None = None
) -> bool:
    """Serve the ``request`` of a claim if enough machines are free; return whether it was. If its machines cannot be
    chosen now, it still waits: only a request whose UUIDs are in use has failed."""
    try:
        work = partial(machine_groups.serve, settings=settings, uuid=uuid, request=request)
        served = database.write(work, deadline=deadline)
    except ConsumerInUse as error:
        database.write(partial(_fail, settings=settings, uuid=uuid, reason=str(error)), deadline=deadline)
        return False
    except SchedulerError as error:
        log.info("left to the next sweep", claim=uuid, reason=str(error))
        return False
    except Exception as error:
        if classify(error) is not Fault.BUG:
            raise
        # One request must not keep others from their turn.
        log.exception("a claim that waits cannot be served", claim=uuid)
        return False
    if served:
        log.info("handed machines over", claim=uuid)
    return served


def sweep(database: Database, settings: Settings, place: SweepPlace | None = None) -> None:
    """Serve all requests for which enough machines are free, from ``place`` on, and forget machine groups that are
    gone. If the time ends before all were looked at, ``place`` is where to go on. Raises the errors of the database."""
    place, until = place or SweepPlace(), time.monotonic() + _SECONDS
    read = partial(_from_place, after=place.after)
    claims, looked = _Looks(settings, lambda _: time.monotonic() <= until).serve(database, read)
    if looked == len(claims) < _MOST:
        place.after = None
    elif looked:
        place.after = claims[looked - 1].place
    database.write(machine_groups.sweep)


def _from_place(session: Session, after: Place | None) -> list[_Waiting]:
    """Return the requests behind a place, and around the end those before it."""
    if after is None:
        return _read(session, _ALL, most=_MOST)
    priority, turn, asked_at, claim_id = after
    place = {"priority": -priority, "turn": turn, "asked_at": asked_at, "id": claim_id}
    claims = _read(session, _GOING_ON, most=_MOST, **place)
    before = _read(session, _ALL, most=_MOST - len(claims)) if len(claims) < _MOST else ()
    return [*claims, *(each for each in before if each.place <= after)]


def _read(session: Session, query: Select[Any], **given: Any) -> list[_Waiting]:
    return [*map(_Waiting._make, session.connection().execute(query, given))]


def _fail(session: Session, settings: Settings, uuid: str, reason: str) -> None:
    found = waiting_requests.find(session, uuid)
    plans.end(session, settings, [] if found is None else [found.id])
    waiting = waiting_requests.find(session, uuid, lock=True)
    if waiting is not None and waiting.state == GATHERING:
        waiting_requests.decide(session, waiting, FAILED, reason)
