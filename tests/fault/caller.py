"""A client of a fault test: it sends requests again and again, and notes what it was told."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import requests

from tests.processes import Client

#: The connection was lost.
LOST = 0


@dataclass
class Answer:
    """The status of a request, LOST if there was none, and when it was sent and answered."""

    status: int
    sent: float
    answered: float
    body: Any = None

    @property
    def is_done(self) -> bool:
        """It was confirmed."""
        return 200 <= self.status < 300

    @property
    def is_unknown(self) -> bool:
        """It may have happened or not (504: a conductor did not say in time)."""
        return self.status in (LOST, 503, 504)


@dataclass
class Caller:
    """One client. ``failures`` are answers that it should not have got."""

    number: int
    statuses: Counter[tuple[str, int]] = field(init=False, default_factory=Counter)
    failures: list[str] = field(init=False, default_factory=list)

    #: Lost or refused, and for good: nothing has happened. (400: of a provider, a class or an image that is gone.)
    _refused: ClassVar[tuple[int, ...]] = (400, 404, 409)

    def __post_init__(self) -> None:
        self._dice = random.Random(self.number)

    def act(self) -> None:
        """Do something at random."""
        raise NotImplementedError

    def live(self, urls: list[str], stop: threading.Event) -> None:
        """Do something again and again; after an answer that says nothing, at another of ``urls``."""
        turn = self.number
        while not stop.is_set():
            self._has_failed = False
            with Client(urls[turn % len(urls)]) as self._client:
                while not stop.is_set() and not self._has_failed:
                    self.act()
            turn += 1

    def _call(self, name: str, call: Callable[..., requests.Response], *arguments: Any) -> Answer:
        sent = time.monotonic()
        try:
            response = call(*arguments)
        except requests.RequestException:
            answer = Answer(LOST, sent, time.monotonic())
        else:
            is_json = response.content and response.headers["Content-Type"].startswith("application/json")
            answer = Answer(response.status_code, sent, time.monotonic(), response.json() if is_json else None)
            if not (answer.is_done or answer.is_unknown or answer.status in self._refused):
                self.failures.append(f"{name} {arguments}: {answer.status} {response.text[:300]}")
            if answer.status == 503 and ("Retry-After" in response.headers) == ("/baremetal/" in response.url):
                self.failures.append(f"{name} {arguments}: 503 and Retry-After")
        self.statuses[name, answer.status] += 1
        if answer.is_unknown:
            self._has_failed = True
            time.sleep(0.05)
        return answer
