"""A mutant."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A fence that is taken away: ``text``, which is in ``file`` (below the package) once, becomes ``replacement``.

    ``tests`` are the tests that must notice it: arguments of pytest, below tests/. ``server`` is the dialect of the
    database that it takes, if SQLite does not do.
    """

    name: str
    file: str
    text: str
    replacement: str
    tests: str
    server: str | None = None
