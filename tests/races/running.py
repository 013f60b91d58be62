"""Exploring meetings on a database for a while."""

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import structlog

from tests.races import drawing
from tests.races.drawing import Meeting
from tests.races.exploring import Explorer

#: After this many findings in a meeting, the next is looked at.
_ENOUGH = 3


@dataclass
class Result:
    """The findings on a database."""

    database: str
    meetings: int = 0
    runs: int = 0
    findings: list[str] = field(default_factory=list)


def explore(url: str, meetings: Iterable[Meeting], seconds: float, afterwards: str | None = None) -> Result:
    """Explore the meetings, one after the other, until the time is over. ``afterwards``: an operation after each."""
    # The service tells of each request, and of errors on purpose.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    until = time.monotonic() + seconds
    result = Result(url.split(":")[0].split("+")[0])
    with Explorer(url) as explorer:
        explorer.afterwards = afterwards
        for state, names in meetings:
            if time.monotonic() >= until:
                break
            result.meetings += 1
            found = explorer.explore(state, names, lambda: time.monotonic() >= until)
            for finding in islice(found, _ENOUGH):
                result.findings.append(str(finding))
                print(f"{result.database}: {finding}", flush=True)
        result.runs = explorer.runs
    return result


def explore_drawn(
    url: str, seed: int, seconds: float, states: Sequence[str], names: Sequence[str], afterwards: str | None
) -> Result:
    """Explore meetings of these operations in these states in the order that the seed determines."""
    return explore(url, drawing.drawn(seed, states, names), seconds, afterwards)
