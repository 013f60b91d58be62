"""A case: a request, and how fast its answer should be."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.benchmarks.servers import Client

#: One repetition, by its number: seconds, one for each title of the case.
Run = Callable[[Client, int], list[float]]
#: What both sides should agree on, by name; all of it can be compared.
Check = Callable[[Client], dict[str, Any]]


@dataclass
class Case:
    """``targets``: how many times faster than the original we want to be, one for each title, or None."""

    titles: list[str]
    run: Run
    targets: list[float | None] = field(default_factory=lambda: [None])
    check: Check | None = None


def get(path: Callable[[int], str]) -> Run:
    """GET of a path, made from the number of the repetition."""
    return lambda client, number: [client.call("GET", path(number)).seconds]
