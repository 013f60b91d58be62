"""Signs of life of calls that may take long: a driver that waits for a machine says so, again and again.

A conductor gives a call up that has shown none for ``[conductor] driver_call_timeout`` seconds.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[], None] | None] = ContextVar("progress_listener", default=None)


def note() -> None:
    """Say that the call goes on. Before a machine is asked for a change, this is also the way to find out whether that
    is still wanted.

    Raises CallGivenUp if nobody waits for the call any more: then nothing may be changed on the machine.
    """
    listener = _listener.get()
    if listener is not None:
        listener()


def is_noted() -> bool:
    """Is the call part of work on a node? If not, a request may be waiting for it, which does not wait for long."""
    return _listener.get() is not None


@contextmanager
def noted_by(listener: Callable[[], None]) -> Iterator[None]:
    """Let ``listener`` be called for each ``note`` of this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
