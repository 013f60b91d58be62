"""Waiting for what another thread or process does: for the event, not for a time in which it should have come."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Seconds after which what has not happened is a failure, however busy the machine is.
PATIENCE = 60.0
#: The same for the start of a process.
START = 120.0

_NEVER = threading.Event()


def wait_until(condition: Callable[[], T], what: str, seconds: float = PATIENCE) -> T:
    """Wait for ``condition`` to return something true, and return that.

    Fails after ``seconds``. Fewer than ``PATIENCE`` are for a deadline that is itself the subject of a
    test with the mark ``slow``.
    """
    until, pause = time.monotonic() + seconds, 0.001
    while not (found := condition()):
        if time.monotonic() > until:
            raise AssertionError(f"waited {seconds:g} seconds for {what}")
        _NEVER.wait(pause)  # how often depends on the machine, so it is no sleep of the test
        pause = min(pause * 2, 0.02)
    return found
