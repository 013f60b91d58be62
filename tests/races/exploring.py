"""Whether requests that meet in a state end as if one had come after the other, wherever the first is paused."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations
from types import TracebackType
from typing import Any, Self

from tests.databases import make_empty
from tests.races.contents import Compared, Contents, Rows, differences
from tests.races.operations import OPERATIONS
from tests.races.pausing import Pausing, Run
from tests.races.states import MEMBERS, NAMES, STATES
from tests.races.waiting import LockWaits
from tests.service import Service

#: Refused, and told to try again: the request has done nothing.
_REFUSED = (409, 503)

#: Few attempts: with the first paused, the others may lose all of them.
SETTINGS: Mapping[str, dict[str, Any]] = {
    "database": {"transaction_retries": 4, "max_pool_size": 6},
    "compute": {"server_group_level": "rack"},
    "conductor": {"heartbeat_timeout": 10**6, "conductor_cleanup_timeout": 10**7},
}

#: A hold has the bookings of its machine looked after in a transaction of its own, after its commit. If one is
#: cancelled between the two, the calendar of the machine is as if the hold had come first (it closed nothing, as the
#: booking did), and all else, without the event of a short booking, as if it had come last.
_CANCELS = {"cancel booking", "cancel used booking"}
_HOLDS, _CALENDAR = "assert planned hold", "~ inventories calendar:"

_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFhVU4GHrxyVjHkxn/WNpD46HhE+pT5Ws6lGI9gD8S5r two@example.org"


@dataclass(frozen=True)
class End:
    """How requests ended: their statuses, and what the database contains then."""

    statuses: tuple[int, ...]
    contents: Compared


@dataclass(frozen=True)
class Finding:
    """Requests that met in a state, the first paused before its point ``place``, and ended like no order of them."""

    state: str
    names: tuple[str, ...]
    place: int
    run: Run
    why: Sequence[str]

    def __str__(self) -> str:
        statement = " ".join((self.run.paused_before or "").split())[:150]
        head = f"{self.state}: {' | '.join(self.names)}: {self.run.statuses}, waited {self.run.waited}"
        return "\n".join(
            [head, f"  paused before {self.place}: {statement}", *(f"  {line[:400]}" for line in self.why)]
        )


class Explorer:
    """A service on an empty database of a server, in which requests meet."""

    def __init__(self, url: str) -> None:
        make_empty(url)
        self._url = url
        self._stack = ExitStack()
        self.service = self._stack.enter_context(Service(url, **SETTINGS))
        self._contents = self._stack.enter_context(Contents(url))
        self._pausing = Pausing(self.service.database, self._stack.enter_context(LockWaits(url)))
        self._stack.enter_context(self._pausing.listening())
        self._kept: dict[str, Rows] = {}
        self._facts: dict[str, Mapping[str, Any]] = {}
        #: What the database contains, as long as nothing can have changed it.
        self._now: Rows | None = None
        self._serial: dict[tuple[str | None, ...], End] = {}
        #: An operation after each meeting, for what is left to a periodic task.
        self.afterwards: str | None = None
        self.runs = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def look_again(self) -> None:
        """Others have changed the database."""
        self._now = None

    def close(self) -> None:
        """End everything."""
        self._stack.close()

    def explore(self, state: str, names: Sequence[str], until: Callable[[], bool] = lambda: False) -> Iterator[Finding]:
        """Pause the first of the operations at each of its points, in turn; yield what is not serial."""
        if self._changes_nothing(state, names):
            return
        place = 0
        while not until():
            place += 1
            run, end = self.meet(state, names, place)
            if run.paused_before is None:
                return
            why = self._judge(state, names, end)
            if why is not None:
                yield Finding(state, tuple(names), place, run, why)

    def points(self, state: str, name: str) -> Sequence[str]:
        """Return the statements and commits of an operation."""
        self._enter(state)
        return self._pausing.follow(self._act(state, name))

    def meet(
        self,
        state: str,
        names: Sequence[str],
        place: int,
        *,
        begin: Callable[[], object] = lambda: None,
        beside: Callable[[], int] | None = None,
    ) -> tuple[Run, End]:
        """Let the operations meet, with the first paused at this point. ``begin`` is called before, and ``beside``
        when all others have ended or wait."""
        self._enter(state)
        begin()
        self.runs += 1
        acts = [self._act(state, name) for name in names]
        run = self._pausing.run(acts if beside is None else [*acts, beside], place)
        return run, self._end(state, run.statuses)

    def serial(self, state: str, names: Sequence[str]) -> End:
        """How the operations end, one after the other."""
        key = (self.afterwards, state, *names)
        if key not in self._serial:
            self._enter(state)
            statuses = tuple(self._act(state, name)() for name in names)
            self._serial[key] = self._end(state, statuses)
        return self._serial[key]

    def _changes_nothing(self, state: str, names: Sequence[str]) -> bool:
        before = self.serial(state, ()).contents
        return all(self.serial(state, [name]).contents == before for name in names)

    def _judge(self, state: str, names: Sequence[str], end: End) -> Sequence[str] | None:
        """None if the end is that of an order, of all requests or without the refused ones; or how it differs
        from the closest order."""
        if any(status >= 500 and status not in _REFUSED for status in end.statuses):
            return ["it failed"]
        closest: list[str] | None = None
        for order in self._orders(end):
            serial = self.serial(state, [names[place] for place in order])
            found = differences(serial.contents, end.contents)
            if _HOLDS in names and not _CANCELS.isdisjoint(names):
                found = [each for each in found if not each.startswith(_CALENDAR)]
            expected = dict(zip(order, serial.statuses, strict=True))
            for place in order:
                if expected[place] // 100 != end.statuses[place] // 100 and not _is_deleted_twice(names, end, place):
                    found.append(f"! {names[place]} is {expected[place]} then")
            if not found:
                return None
            if closest is None or len(found) < len(closest):
                closest = [f"in the order {', '.join(names[place] for place in order)}:", *found]
        return closest

    def _orders(self, end: End) -> Iterator[tuple[int, ...]]:
        places = range(len(end.statuses))
        refused = [place for place in places if end.statuses[place] in _REFUSED]
        for count in range(len(refused) + 1):
            for left_out in combinations(refused, count):
                yield from permutations(place for place in places if place not in left_out)

    def _act(self, state: str, name: str) -> Callable[[], int]:
        return partial(OPERATIONS[name].act, self.service, self._facts[state])

    def _end(self, state: str, statuses: tuple[int, ...]) -> End:
        if self.afterwards is not None:
            self._act(state, self.afterwards)()
        self._now = self._contents.read()
        return End(statuses, self._contents.compared(self._now, self._facts[state].values()))

    def _enter(self, state: str) -> None:
        """Make the contents those of the state."""
        if state in self._kept:
            self._contents.put_back(state, self._kept[state], self._contents.read() if self._now is None else self._now)
        else:
            make_empty(self._url)
            self.service.add_conductor("c1")
            for step in STATES[state]:
                step(self.service)
            self._contents.keep(state)
            self._kept[state] = self._contents.read()
            self._facts[state] = _facts_of(self._kept[state])
        self._now = None
        # What the process remembers of names may be of rows that were taken away.
        self.service.database._memory.clear()


def _is_deleted_twice(names: Sequence[str], end: End, place: int) -> bool:
    """Two requests to delete one allocation may both say that it is gone."""
    deleting = [other for other, name in enumerate(names) if OPERATIONS[name].deletes_allocation]
    return place in deleting and len(deleting) > 1 and all(end.statuses[other] == 204 for other in deleting)


def _facts_of(rows: Rows) -> Mapping[str, Any]:
    """The names for operations in a state: UUIDs, and generations of providers and consumers; 0 if there is none."""
    facts: dict[str, Any] = {**NAMES, **MEMBERS, "server": NAMES["instance"], "key": _KEY}
    for server in rows.get("servers", ()):
        facts["server"] = str(server["uuid"])
    for name, uuid in NAMES.items():
        facts[f"generation:{name}"] = 0
        for table in ("resource_providers", "consumers"):
            for row in rows.get(table, ()):
                if row["uuid"] == uuid:
                    facts[f"generation:{name}"] = row["generation"]
    return facts
