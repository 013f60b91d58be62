"""Threads that nobody has to wait for: one that hangs keeps neither the process nor others from going on."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def spawn(action: Callable[[], T], name: str) -> Future[T]:
    """Run ``action`` in a daemon thread of its own; what it returns or raises is the future's."""
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
