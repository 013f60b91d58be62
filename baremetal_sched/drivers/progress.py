"""Signs of life of calls that may take long: a driver that waits for a machine sends them again and again.

A conductor gives up a call that has sent none for ``[conductor] driver_call_timeout`` seconds.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_in_passing = ContextVar("progress_is_in_passing", default=False)
_listener: ContextVar[Callable[[], None] | None] = ContextVar("progress_listener", default=None)


def note() -> None:
    """Report that the call is still running. To be called before each change of a machine, to find out whether it is
    still wanted.

    Raises CallGivenUp if the call was given up: then nothing may be changed on the machine.
    """
    listener = _listener.get()
    if listener is not None:
        listener()


def is_noted() -> bool:
    """Return whether the call is part of work on a node. Otherwise a request may be waiting for it, with a short
    deadline."""
    return _listener.get() is not None


def is_in_passing() -> bool:
    """Return whether the call is one of many regular looks at machines, which need not wait for one that is busy."""
    return _is_in_passing.get()


@contextmanager
def in_passing() -> Iterator[None]:
    """Let the calls of this thread be regular looks."""
    token = _is_in_passing.set(True)
    try:
        yield
    finally:
        _is_in_passing.reset(token)


@contextmanager
def noted_by(listener: Callable[[], None]) -> Iterator[None]:
    """Let ``listener`` be called for each ``note`` of this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
