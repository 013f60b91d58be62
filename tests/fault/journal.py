"""The real actions of conductors, and their times: the lines that each step leaves in their logs, with its fence.

A line is written by the process that does the step, before the step and after it, whatever the database says. So two
conductors at the same machine show here, even if only one of them could write that down.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

_BEGIN = ("work begins", "step begins")
#: How long it may take a process to notice that it had been suspended, in seconds.
_WAKING = 30


@dataclass
class Life:
    """A process of a conductor: its log, and when it could do nothing: ``[from, to]`` in seconds of the epoch."""

    name: str
    log: Path
    suspended: list[list[float]] = field(default_factory=list)

    def lines(self) -> Iterable[dict[str, Any]]:
        """Its log, as far as that is ours (a process that was killed may leave half a line)."""
        for text in self.log.read_text().splitlines():
            if text.startswith("{") and text.endswith("}"):
                yield json.loads(text)

    def was_suspended(self, begin: float, end: float) -> bool:
        """Was it, some time between the two?"""
        return any(low <= end and high >= begin for low, high in self.suspended)


@dataclass
class Span:
    """The actions of a process on a node under one fence: when it began anything, and when it was at a step."""

    life: Life
    begins: list[float] = field(default_factory=list)
    steps: list[tuple[float, float]] = field(default_factory=list)


class Journal:
    """All lives together. ``nodes`` are the spans of each node, by fence; ``lost`` says how often somebody noticed that
    his work had been taken away."""

    def __init__(self, lives: Iterable[Life]) -> None:
        self.lives = list(lives)
        self.nodes: dict[str, dict[int, Span]] = defaultdict(dict)
        self.wrong: list[str] = []
        self.lost = 0
        for life in self.lives:
            self._read(life)

    @property
    def steps(self) -> int:
        """How many steps were begun."""
        return sum(len(span.steps) for spans in self.nodes.values() for span in spans.values())

    @property
    def pieces(self) -> int:
        """How many pieces of work were begun."""
        return sum(len(spans) for spans in self.nodes.values())

    def findings(self) -> list[str]:
        """The violations: one fence in two processes; something begun under an older fence than what went before;
        a step during another's, unless that one's process could do nothing any more; work taken from the living;
        errors that nobody expected."""
        found = list(self.wrong)
        for node, spans in self.nodes.items():
            fences = sorted(spans)
            for older, newer in pairwise(fences):
                found += self._compare(f"node {node}, work {older} and {newer}", spans[older], spans[newer])
        return found

    def _read(self, life: Life) -> None:
        for line in life.lines():
            at = datetime.fromisoformat(line["timestamp"]).timestamp()
            event = line["event"]
            if line["level"] in ("error", "critical"):
                self.wrong.append(f"{life.name} logged: {line}")
            if event.startswith("work was taken away"):
                self.lost += 1
                if not life.was_suspended(at - _WAKING, at):
                    self.wrong.append(f"{life.name} lost work without having been suspended: {line}")
            if event in (*_BEGIN, "step ends"):
                self._enter(life, line["node"], line["work"], event, at)

    def _enter(self, life: Life, node: str, fence: int, event: str, at: float) -> None:
        span = self.nodes[node].setdefault(fence, Span(life))
        if span.life is not life:
            self.wrong.append(f"work {fence} was done by {span.life.name} and by {life.name}")
        if event in _BEGIN:
            span.begins.append(at)
        if event == "step begins":
            span.steps.append((at, at))
        if event == "step ends":
            span.steps[-1] = (span.steps[-1][0], at)

    @staticmethod
    def _compare(what: str, older: Span, newer: Span) -> Iterable[str]:
        first = newer.begins[0]
        if older.begins[-1] > first:
            yield f"{what}: {older.life.name} began {older.begins[-1] - first:.3f} s after {newer.life.name}"
        for begin, end in older.steps:
            if end > first >= begin and not older.life.was_suspended(begin, first):
                yield f"{what}: {newer.life.name} began while {older.life.name} was at a step"
