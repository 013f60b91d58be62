"""Time that goes by at once."""

import time


class Clock:
    """Stands for ``time`` in a module: its clocks are those of the machine, put forward. Sleeping puts them forward."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def go_on(self, seconds: float) -> None:
        """Let that time go by."""
        self._ahead += seconds

    sleep = go_on

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def time(self) -> float:
        return time.time() + self._ahead
