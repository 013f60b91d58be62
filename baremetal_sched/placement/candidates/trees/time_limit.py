"""How long a search may take."""

import time


class TookTooLong(Exception):
    """The time is over; what was found so far is not the answer."""


class TimeLimit:
    """The moment at which a search has to end: ``seconds`` from now, or never."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def check(self) -> None:
        """Raise TookTooLong if the time is over. It costs next to nothing."""
        if self._end is not None and time.monotonic() >= self._end:
            raise TookTooLong


NEVER = TimeLimit()
