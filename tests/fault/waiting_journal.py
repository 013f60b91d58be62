"""The answers to clients about claims that wait: to find out whether all of them can be true.

Each claim belongs to one client. It certainly waits, or holds its machine, from the first answer that said so until
the first request that ends it is sent. A request without an answer may have happened or not: what it asked for may be
there. Times are those of ``time.monotonic``.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tests.fault.claim_journal import FOREVER, Period, doubles


@dataclass
class Waiter:
    """One claim. ``request`` is what it asks for; claims with equal requests are served in the order of asking.

    ``asked`` is when it was asked for first. ``known_since``: the first answer that it waits or is claimed;
    ``last_seen_waiting``: when the last request was sent whose answer was that it waits. ``machine`` is what it holds
    since ``claimed_at`` (the answer). ``ended``: when a request was first sent that ends it; ``gone`` if that was
    confirmed. ``until``: when it does not wait any longer.
    """

    uuid: str
    request: str
    asked: float
    until: float
    known_since: float = FOREVER
    last_seen_waiting: float = 0.0
    machine: str = ""
    claimed_at: float = FOREVER
    ended: float = FOREVER
    gone: bool = False

    def told(self, state: str, machine: str, sent: float, answered: float) -> Iterator[str]:
        """Note an answer; yield its contradictions."""
        if self.ended < FOREVER:
            return
        self.known_since = min(self.known_since, answered)
        if state == "waiting":
            self.last_seen_waiting = max(self.last_seen_waiting, sent)
            if self.machine:
                yield f"claim {self.uuid} waits, and had machine {self.machine}"
        elif state == "claimed":
            if self.machine not in ("", machine):
                yield f"claim {self.uuid} has machine {machine}, and had {self.machine}"
            self.machine, self.claimed_at = machine, min(self.claimed_at, answered)
        elif self.machine:
            yield f"claim {self.uuid} is {state}, and had machine {self.machine}"


@dataclass
class WaitingJournal:
    """All claims of all clients together."""

    waiters: list[Waiter] = field(default_factory=list)

    def findings(self, left: Mapping[str, tuple[str, str]], now: float) -> Iterator[str]:
        """Yield what cannot be true. ``left`` is what is there at ``now``: state and machine by claim."""
        yield from doubles(
            Period(each.machine, each.claimed_at, each.ended, each.uuid) for each in self.waiters if each.machine
        )
        for each in self.waiters:
            yield from self._lost(each, left, now)
        by_request: dict[str, list[Waiter]] = defaultdict(list)
        for each in self.waiters:
            by_request[each.request].append(each)
        for alike in by_request.values():
            yield from passed_over(alike)

    def _lost(self, waiter: Waiter, left: Mapping[str, tuple[str, str]], now: float) -> Iterator[str]:
        state, machine = left.get(waiter.uuid, ("gone", ""))
        if waiter.gone and state != "gone":
            yield f"claim {waiter.uuid} was deleted, and is {state}"
        if waiter.ended < FOREVER or waiter.known_since == FOREVER:
            return
        if waiter.machine and (state, machine) != ("claimed", waiter.machine):
            yield f"claim {waiter.uuid} had machine {waiter.machine}, and is {state} {machine}"
        elif not waiter.machine and now < waiter.until and state not in ("waiting", "claimed"):
            yield f"claim {waiter.uuid} waits until {waiter.until:.1f}, and is {state} at {now:.1f}"


def passed_over(alike: Iterable[Waiter]) -> Iterator[str]:
    """Yield claims that were known to wait before a later one with the same request was asked for, and that still
    waited when that one had a machine."""
    ordered = sorted(alike, key=lambda each: each.asked)
    for place, later in enumerate(ordered):
        if not later.machine:
            continue
        for earlier in ordered[:place]:
            if earlier.known_since < later.asked and later.claimed_at < earlier.last_seen_waiting:
                yield (
                    f"claim {earlier.uuid} waited from {earlier.known_since:.3f} to {earlier.last_seen_waiting:.3f}; "
                    f"{later.uuid}, asked for at {later.asked:.3f}, had machine {later.machine} at "
                    f"{later.claimed_at:.3f}"
                )
