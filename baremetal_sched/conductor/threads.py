"""Daemon threads: one that hangs does not keep the process alive."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def spawn(action: Callable[[], T], name: str) -> Future[T]:
    """Run ``action`` in a daemon thread of its own; the future gets its result or exception."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            outcome = action()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(outcome)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future
