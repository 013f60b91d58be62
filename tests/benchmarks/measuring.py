"""Taking turns: some repetitions of ours, some of the original's, and what comes out."""

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.benchmarks.cases import Case
from tests.benchmarks.servers import Client, Failed

_ROUNDS = 10
_BOTH = {"us", "original"}


@dataclass
class Timing:
    """Milliseconds, of so many repetitions. The best says most when the machine is busy with something else."""

    best: float
    median: float
    p99: float
    repetitions: int

    @classmethod
    def of(cls, seconds: list[float]) -> "Timing":
        ordered = sorted(1000 * value for value in seconds)
        last = -(-99 * len(ordered) // 100) - 1
        return cls(ordered[0], statistics.median(ordered), ordered[last], len(ordered))


@dataclass
class Row:
    """A line of the table. ``ratio`` is how many times we are faster or, of ``growth``, slower than when small."""

    world: str
    title: str
    target: float | None = None
    growth: bool = False
    ratio: float | None = None
    ratio_of_best: float | None = None
    timings: dict[str, Timing] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def met(self) -> bool | None:
        if self.target is None or self.ratio is None:
            return None
        return self.ratio <= self.target if self.growth else self.ratio >= self.target

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


def repetitions(seconds: float, *, quick: bool) -> int:
    """How many of something that takes so long give a median to rely on."""
    if quick:
        return 3
    return 100 if seconds < 0.05 else 30 if seconds < 0.5 else 10 if seconds < 2 else 5


def measure(world: str, case: Case, clients: Mapping[str, Client], *, quick: bool, again: bool = False) -> list[Row]:
    """The rows of a case: one for each of its titles.

    ``again``: all repetitions are there twice, and the second time counts. What the first took is in the notes.
    """
    # A smoke run says nothing about speed.
    targets = [None] * len(case.titles) if quick else case.targets
    rows = [Row(world, title, target) for title, target in zip(case.titles, targets, strict=True)]
    counts: dict[str, int] = {}
    notes: list[str] = []
    for side, client in clients.items():
        try:
            counts[side] = repetitions(sum(case.run(client, 0)), quick=quick)
        except Failed as error:
            notes.append(f"{side}: {error}")
    seconds = _seconds(case, clients, counts, notes)
    if again:
        first = {side: Timing.of([sum(parts) for parts in taken]) for side, taken in seconds.items()}
        notes += [f"{side}, the first time: {timing.median:.1f} ms" for side, timing in first.items()]
        seconds = _seconds(case, clients, counts, notes)
    if case.check is not None and seconds.keys() >= _BOTH:
        notes += _differences(case, clients)
    for place, row in enumerate(rows):
        row.notes = notes
        row.timings = {side: Timing.of([sample[place] for sample in taken]) for side, taken in seconds.items()}
        if row.timings.keys() >= _BOTH:
            us, original = row.timings["us"], row.timings["original"]
            row.ratio, row.ratio_of_best = original.median / us.median, original.best / us.best
    return rows


def _seconds(
    case: Case, clients: Mapping[str, Client], counts: Mapping[str, int], notes: list[str]
) -> dict[str, list[list[float]]]:
    """The times of the repetitions, by side. Failures are not among them, but in the notes."""
    seconds: dict[str, list[list[float]]] = {side: [] for side in counts}
    for number, side in turns(counts):
        if side in seconds:
            try:
                seconds[side].append(case.run(clients[side], number))
            except Failed as error:
                notes.append(f"{side}: {error}")
                del seconds[side]
    return seconds


def turns(counts: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Who is next, with the number of the repetition: in each of ten rounds each side has a tenth of its repetitions.

    Not one of each in turn: that measures how long it takes to wake up a processor and to fill its caches, which is
    the same for both, and no service that has something to do knows it.
    """
    for a_round in range(_ROUNDS):
        for side, wanted in counts.items():
            for number in range(wanted * a_round // _ROUNDS, wanted * (a_round + 1) // _ROUNDS):
                yield number, side


def _differences(case: Case, clients: Mapping[str, Client]) -> list[str]:
    """The disagreements of the two sides."""
    assert case.check is not None
    try:
        us, original = (case.check(client) for client in clients.values())
    except Failed as error:
        return [f"not compared: {error}"]
    notes = []
    for name, mine in us.items():
        if mine != original[name]:
            shown = f": {mine} for us, {original[name]} for the original" if isinstance(mine, int) else ""
            notes.append(f"the answers differ: {name}{shown}")
    return notes
