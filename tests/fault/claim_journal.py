"""The answers to clients about machines, and their times: to find out whether all of them can be true.

Each client keeps a record of its own. A consumer belongs to one client, which writes it in one request at a time. So it
certainly holds a machine from the answer that said so until the next request that takes it away is sent (and was not
refused). Whatever had an unknown outcome (a lost connection, 503) proves nothing: its consumer is given up.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

#: Amounts by resource class, by the UUID of the provider.
Amounts = Mapping[str, Mapping[str, int]]

FOREVER = float("inf")


@dataclass
class Period:
    """From ``since`` to ``until``, in seconds of ``time.monotonic``: ``machine`` is held by ``consumer``, or is in
    maintenance."""

    machine: str
    since: float
    until: float = FOREVER
    consumer: str = ""


@dataclass(frozen=True)
class Grant:
    """A machine was given to a consumer in a request that was sent, and answered, then."""

    machine: str
    consumer: str
    sent: float
    answered: float


@dataclass
class Record:
    """The answers to one client. ``machines`` is the machine of each provider that may be claimed as a part of one."""

    machines: Mapping[str, str]
    holds: list[Period] = field(default_factory=list)
    maintenance: list[Period] = field(default_factory=list)
    grants: list[Grant] = field(default_factory=list)
    #: What each consumer holds now, as far as that is certain; and those whose last request had an unknown outcome.
    held: dict[str, Amounts] = field(default_factory=dict)
    given_up: list[str] = field(default_factory=list)
    #: By node: when its removal was tried first (and was not refused), and which removals were confirmed.
    removals: dict[str, float] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    #: By node: the last number that was written and confirmed, and the last that it was tried to write.
    confirmed: dict[str, int] = field(default_factory=dict)
    tried: dict[str, int] = field(default_factory=dict)
    #: Nodes by bare metal allocation, as confirmed.
    allocations: dict[str, str] = field(default_factory=dict)
    #: What was said not to be there although it was confirmed.
    missing: list[tuple[str, Amounts]] = field(default_factory=list)
    acknowledged: int = 0

    def holds_now(self, sent: float, answered: float, changes: Mapping[str, Amounts]) -> None:
        """A request that replaced what the consumers hold was confirmed."""
        self.acknowledged += 1
        before = {machine for consumer in changes for machine in self.machines_of(self.held.get(consumer, {}))}
        for consumer, amounts in changes.items():
            after = self.machines_of(amounts)
            kept = self._end(consumer, sent, after)
            self.holds += [Period(machine, answered, consumer=consumer) for machine in after - kept]
            self.grants += [Grant(machine, consumer, sent, answered) for machine in after - before]
            self.held[consumer] = amounts

    def unknown(self, sent: float, *consumers: str) -> None:
        """It is not known what became of a request about the consumers."""
        for consumer in consumers:
            self._end(consumer, sent, set())
            self.held.pop(consumer, None)
            self.allocations.pop(consumer, None)
            self.given_up.append(consumer)

    def not_found(self, sent: float, consumer: str) -> None:
        """A consumer that holds something is unknown to the service."""
        self.missing.append((consumer, self.held[consumer]))
        self.unknown(sent, consumer)

    def maintained(self, machine: str, sent: float, answered: float | None, wanted: bool) -> None:
        """Maintenance was set or unset; ``answered`` is None if that is not certain."""
        if not wanted or answered is None:
            for period in self.maintenance:
                if period.machine == machine:
                    period.until = min(period.until, sent)
        if answered is not None:
            self.acknowledged += 1
        if wanted and answered is not None:
            self.maintenance.append(Period(machine, answered))

    def removing(self, machine: str, sent: float, confirmed: bool) -> None:
        """The removal of a node was confirmed, or its outcome is unknown."""
        self.removals.setdefault(machine, sent)
        if confirmed:
            self.acknowledged += 1
            self.removed.add(machine)

    def machines_of(self, amounts: Amounts) -> set[str]:
        """The machines of which these are."""
        return {self.machines[provider] for provider in amounts if provider in self.machines}

    def _end(self, consumer: str, sent: float, stay: set[str]) -> set[str]:
        """End what the consumer holds, except ``stay``; returns of which of these it has an open period."""
        kept = set()
        for period in self.holds:
            if period.consumer == consumer and period.until == FOREVER:
                if period.machine in stay:
                    kept.add(period.machine)
                else:
                    period.until = sent
        return kept


class ClaimJournal:
    """All records together."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(records)
        self.removals: dict[str, float] = {}
        for record in self.records:
            for machine, sent in record.removals.items():
                self.removals[machine] = min(sent, self.removals.get(machine, FOREVER))
        self.given_up = {consumer for record in self.records for consumer in record.given_up}

    def findings(self) -> list[str]:
        """The contradictions: a machine held by two consumers at once; a machine given out in maintenance."""
        return [*self._doubles(), *self._given_in_maintenance()]

    def missing(self) -> list[str]:
        """Consumers that were not found, although none of what they held was removed."""
        return [
            f"{consumer} was not found, which held {amounts}"
            for record in self.records
            for consumer, amounts in record.missing
            if not self.removals.keys() & record.machines_of(amounts)
        ]

    def certain(self) -> Iterator[tuple[str, Amounts]]:
        """The allocations that each consumer must have in the end, as far as that is certain."""
        for record in self.records:
            for consumer, amounts in record.held.items():
                if not self.removals.keys() & record.machines_of(amounts):
                    yield consumer, amounts

    def _doubles(self) -> Iterator[str]:
        holds = chain.from_iterable(record.holds for record in self.records)
        return doubles(replace(hold, until=min(hold.until, self.removals.get(hold.machine, FOREVER))) for hold in holds)

    def _given_in_maintenance(self) -> Iterator[str]:
        closed: dict[str, list[Period]] = defaultdict(list)
        for period in chain.from_iterable(record.maintenance for record in self.records):
            closed[period.machine].append(period)
        for grant in chain.from_iterable(record.grants for record in self.records):
            for period in closed[grant.machine]:
                if period.since <= grant.sent and grant.answered <= period.until:
                    yield f"machine {grant.machine} was given to {grant.consumer} in maintenance: {grant}, {period}"


def doubles(holds: Iterable[Period]) -> Iterator[str]:
    """Machines that two consumers held at once."""
    periods: dict[str, list[Period]] = defaultdict(list)
    for hold in holds:
        if hold.until > hold.since:
            periods[hold.machine].append(hold)
    for machine, held in periods.items():
        held.sort(key=lambda period: period.since)
        last = held[0]
        for period in held[1:]:
            if period.consumer != last.consumer and period.since < last.until:
                yield (
                    f"machine {machine} was given to {period.consumer} at {period.since:.3f}; {last.consumer} "
                    f"held it from {last.since:.3f} to {last.until:.3f}"
                )
            last = max(last, period, key=lambda each: each.until)
