"""Episodes of random calls, and the shortest way to each difference that they find."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.conformance.differential.calls import Call
from tests.conformance.differential.comparison import Difference, compare, compare_part
from tests.conformance.differential.generator import Generator
from tests.conformance.differential.sides import Side

EPISODE = 300
SHRINKING_SECONDS = 60


@dataclass
class Finding:
    """The last of ``calls`` is answered differently after the others."""

    episode: str
    calls: list[Call]
    differences: list[Difference]
    #: Those of ``calls`` that were refused or only look, and may well have nothing to do with it.
    idle: list[Call] = field(default_factory=list)
    times: int = 1

    @property
    def kind(self) -> tuple[str, ...]:
        """Findings of one kind are reported once."""
        return _what(self.calls[-1]), *sorted(difference.aspect for difference in self.differences)

    def __str__(self) -> str:
        lines = [f"episode {self.episode}:", *(f"  {call}" for call in self.calls)]
        for difference in self.differences:
            lines += [f"  -> {difference.aspect}", f"     ours:     {difference.ours!r}"]
            lines += [f"     original: {difference.original!r}"]
        return "\n".join(lines)


@dataclass
class Report:
    """How many calls were made, what they were answered, and what was found."""

    calls: int = 0
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    findings: dict[tuple[str, ...], Finding] = field(default_factory=dict)


class Runner:
    """Drives both sides."""

    def __init__(self, ours: Side, original: Side, *, candidates: bool = True, tell: Callable[[Finding], None]) -> None:
        self._sides = (ours, original)
        self._candidates = candidates
        self._tell = tell

    def run(self, seed: int, calls: int) -> Report:
        """Make ``calls`` calls in episodes, each from empty databases. An episode ends early when the two differ in
        status or body, for after that they may well differ in everything."""
        report = Report()
        number = 0
        while report.calls < calls:
            new = self._episode(f"{seed}.{number}", min(EPISODE, calls - report.calls), report)
            number += 1
            for finding in new:
                report.findings[finding.kind] = self._shrunk(finding)
                self._tell(report.findings[finding.kind])
        return report

    def _episode(self, name: str, length: int, report: Report) -> list[Finding]:
        """Findings of kinds that are not in the report yet; the others are counted there."""
        self._reset()
        generator = Generator(name, candidates=self._candidates)
        made: list[Call] = []
        idle: list[Call] = []
        new: dict[tuple[str, ...], Finding] = {}
        while len(made) < length:
            for call in generator.next():
                made.append(call)
                status, differences = self._make(call)
                report.calls += 1
                report.statuses[_what(call), status] += 1
                if not differences:
                    if status >= 300 or (call.method == "GET" and not call.shows_generation):
                        idle.append(call)
                    continue
                finding = Finding(name, list(made), differences, list(idle))
                if finding.kind in report.findings:
                    report.findings[finding.kind].times += 1
                else:
                    new.setdefault(finding.kind, finding)
                if any(difference.aspect in ("status", "body") for difference in differences):
                    return list(new.values())
        return list(new.values())

    def _make(self, call: Call) -> tuple[int, list[Difference]]:
        """Make the call; the original's status, and the differences."""
        ours, original = (side.send(call) for side in self._sides)
        differences = compare(call, ours, original)
        if call.has_limit and not differences and ours.status == original.status == 200:
            differences = compare_part(ours, self._sides[1].send(call.unlimited()))
        return original.status, differences

    def _reset(self) -> None:
        for side in self._sides:
            side.reset()

    def _shrunk(self, finding: Finding) -> Finding:
        """The finding with as few calls before it as show the same, as far as that is found in short time."""
        until = time.monotonic() + SHRINKING_SECONDS
        *before, last = finding.calls
        aspects = {difference.aspect for difference in finding.differences}

        def shows(calls: list[Call]) -> bool:
            return aspects <= {difference.aspect for difference in self._replay([*calls, last])}

        idle = {id(call) for call in finding.idle}
        for likely in ([], [call for call in before if id(call) not in idle]):
            if shows(likely):
                before = likely
                break
        size = max(1, len(before) // 2)
        while size and before and time.monotonic() < until:
            start = len(before)
            while start > 0 and time.monotonic() < until:
                fewer = before[: max(0, start - size)] + before[start:]
                if shows(fewer):
                    before = fewer
                start -= size
            size //= 2
        return Finding(finding.episode, [*before, last], self._replay([*before, last]) or finding.differences)

    def _replay(self, calls: list[Call]) -> list[Difference]:
        """The differences of the last of ``calls``; none if one before it differs."""
        self._reset()
        for call in calls:
            _, differences = self._make(call)
            if call is calls[-1]:
                return differences
            if any(difference.aspect in ("status", "body") for difference in differences):
                return []
        return []


def _what(call: Call) -> str:
    path = call.path.partition("?")[0].split("/")
    return f"{call.method} /{'/'.join([path[1], *(['…'] if len(path) > 2 else []), *path[3:4]])}"
