"""Asking many machines the same, of which some are slow and some never answer."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial

from baremetal_sched.conductor.threads import spawn

#: Seconds after which a question is left to itself: the next machine is asked meanwhile.
_PATIENCE = 1.0


class Question:
    """What one machine is asked. ``begun`` is when its driver was called, None until then."""

    def __init__(self, ask: Callable[["Question"], object], give_up: Callable[[], object]) -> None:
        self.begun: float | None = None
        self.is_given_up = False
        self._give_up = give_up
        self._asked = time.monotonic()
        self._future: Future[object] = spawn(partial(ask, self), "conductor-question")

    @property
    def is_over(self) -> bool:
        """Has it been answered?"""
        return self._future.done()

    def patience_left(self) -> float:
        """Return for how many seconds it keeps others waiting; 0 if it is over."""
        return 0.0 if self.is_over else max(0.0, self._asked + _PATIENCE - time.monotonic())

    def await_answer(self, others: list["Question"], seconds: float) -> None:
        """Wait until this one or one of the others is over."""
        wait([each._future for each in (self, *others)], seconds, FIRST_COMPLETED)

    def error(self) -> BaseException | None:
        """Return what its thread raised, once it is over."""
        return self._future.exception() if self.is_over else None

    def give_up(self) -> None:
        """Do what has to be done about a machine that never answered. What it says later does not count."""
        self.is_given_up = True
        self._give_up()


class Questions:
    """The open questions. A machine is not asked again while one to it is open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[int, Question] = {}

    def give_up(self, timeout: float) -> None:
        """Give up the questions that no driver has answered for ``timeout`` seconds."""
        latest = time.monotonic() - timeout
        for key, question in self._snapshot().items():
            if not question.is_over and question.begun is not None and question.begun <= latest:
                self._forget(key)
                question.give_up()

    def ask(self, key: int, ask: Callable[[Question], object], give_up: Callable[[], object], *, most: int) -> None:
        """Ask the machine ``key`` by calling ``ask`` in a thread, as soon as fewer than ``most`` are being asked.

        Those that take long do not count. If the machine never answers ``give_up`` is called some day, by the method of
        this name. Raises what ``ask`` raised for a machine that was asked before.
        """
        while len(waiting := self._in_time()) >= most:
            self._await_one(waiting)
        with self._lock:
            if key not in self._open:
                self._open[key] = Question(ask, give_up)

    def finish(self) -> None:
        """Wait for those that do not take long. Raises what ``ask`` raised."""
        while waiting := self._in_time():
            self._await_one(waiting)

    def _in_time(self) -> list[Question]:
        """Forget the questions that are over; return the open ones that others wait for."""
        failure = None
        for key, question in self._snapshot().items():
            if question.is_over:
                self._forget(key)
                failure = failure or question.error()
        if failure is not None:
            raise failure
        return [question for question in self._snapshot().values() if question.patience_left()]

    @staticmethod
    def _await_one(waiting: list[Question]) -> None:
        first, *others = waiting
        first.await_answer(others, min(question.patience_left() for question in waiting))

    def _snapshot(self) -> dict[int, Question]:
        with self._lock:
            return dict(self._open)

    def _forget(self, key: int) -> None:
        with self._lock:
            self._open.pop(key, None)
