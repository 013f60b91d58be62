"""Queries of many machines, also slow and silent ones, in threads that do not keep the process alive."""

import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

T = TypeVar("T")

#: Seconds after which a query no longer delays others: the next machine is then queried.
_PATIENCE = 1.0


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


class MachineQuestion:
    """The query of one machine. ``begun`` is when its driver was called; None until then."""

    def __init__(self, ask: Callable[["MachineQuestion"], object], give_up: Callable[[], object]) -> None:
        self.begun: float | None = None
        self.is_given_up = False
        self._give_up = give_up
        self._asked = time.monotonic()
        self._future: Future[object] = spawn(partial(ask, self), "conductor-question")

    @property
    def is_over(self) -> bool:
        """Return whether the query is finished."""
        return self._future.done()

    def patience_left(self) -> float:
        """Return for how many more seconds it delays others; 0 if it is finished."""
        return 0.0 if self.is_over else max(0.0, self._asked + _PATIENCE - time.monotonic())

    def await_answer(self, others: list["MachineQuestion"], seconds: float) -> None:
        """Wait until this query or one of the others is finished."""
        wait([each._future for each in (self, *others)], seconds, FIRST_COMPLETED)

    def error(self) -> BaseException | None:
        """Return the thread's error, once it is finished."""
        return self._future.exception() if self.is_over else None

    def give_up(self) -> None:
        """Handle a machine that never answered. A later answer is ignored."""
        self.is_given_up = True
        self._give_up()


class Questions:
    """The open queries. At most one is open for each machine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[int, MachineQuestion] = {}
        #: Of each machine, the last one that was given up: its driver may still be at work.
        self._given_up: dict[int, MachineQuestion] = {}
        self._announced: list[Collection[int]] = []

    @contextmanager
    def announced(self, keys: Collection[int]) -> Iterator[None]:
        """Have the machines ``keys`` count as being queried, as they are going to be."""
        with self._lock:
            self._announced.append(keys)
        try:
            yield
        finally:
            with self._lock:
                self._announced.remove(keys)

    def is_under_way(self, key: int) -> bool:
        """Return whether a driver may be querying the machine ``key``, or is going to."""
        with self._lock:
            if any(key in keys for keys in self._announced):
                return True
            known = (self._open.get(key), self._given_up.get(key))
        return any(question is not None and not question.is_over for question in known)

    def give_up(self, timeout: float) -> None:
        """Give up the queries that have been unanswered for ``timeout`` seconds."""
        latest = time.monotonic() - timeout
        for key, question in self._snapshot().items():
            if not question.is_over and question.begun is not None and question.begun <= latest:
                with self._lock:
                    self._given_up[key] = question
                self._forget(key)
                question.give_up()

    def ask(
        self, key: int, ask: Callable[[MachineQuestion], object], give_up: Callable[[], object], *, most: int
    ) -> None:
        """Query the machine ``key`` by calling ``ask`` in a thread, once fewer than ``most`` queries are open.

        Slow queries do not count. If the machine never answers, ``give_up`` is called by the method of this name.
        Raises what an earlier ``ask`` raised.
        """
        while len(waiting := self._in_time()) >= most:
            self._await_one(waiting)
        with self._lock:
            if key not in self._open:
                self._open[key] = MachineQuestion(ask, give_up)

    def finish(self) -> None:
        """Wait for all queries except slow ones. Raises what ``ask`` raised."""
        while waiting := self._in_time():
            self._await_one(waiting)

    def _in_time(self) -> list[MachineQuestion]:
        """Remove the finished queries; return the open ones that are not slow."""
        failure = None
        for key, question in self._snapshot().items():
            if question.is_over:
                self._forget(key)
                failure = failure or question.error()
        if failure is not None:
            raise failure
        return [question for question in self._snapshot().values() if question.patience_left()]

    @staticmethod
    def _await_one(waiting: list[MachineQuestion]) -> None:
        first, *others = waiting
        first.await_answer(others, min(question.patience_left() for question in waiting))

    def _snapshot(self) -> dict[int, MachineQuestion]:
        with self._lock:
            return dict(self._open)

    def _forget(self, key: int) -> None:
        with self._lock:
            self._open.pop(key, None)
