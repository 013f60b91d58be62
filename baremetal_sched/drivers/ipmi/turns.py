"""Controllers are slow, and some fail under load: each gets one command at a time, with pauses."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

#: The number of controllers above which idle ones are forgotten.
_MOST = 10_000


@dataclass
class _Controller:
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    asked_at: float = float("-inf")


class Turns:
    """Serialises the commands to each controller, by address and port."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._controllers: dict[tuple[str, int], _Controller] = {}

    @contextmanager
    def turn(self, place: tuple[str, int], interval: float, seconds: float) -> Iterator[None]:
        """Let the caller send a command, ``interval`` seconds after the controller's last one ended.

        Raises TimeoutError if other commands have occupied the controller for ``seconds`` seconds.
        """
        controller = self._join(place)
        try:
            if not controller.lock.acquire(timeout=max(0.0, seconds)):
                raise TimeoutError
            try:
                time.sleep(max(0.0, controller.asked_at + interval - time.monotonic()))
                yield
            finally:
                controller.asked_at = time.monotonic()
                controller.lock.release()
        finally:
            with self._lock:
                controller.users -= 1

    def _join(self, place: tuple[str, int]) -> _Controller:
        with self._lock:
            if len(self._controllers) >= _MOST and place not in self._controllers:
                unused = [key for key, each in self._controllers.items() if not each.users]
                for key in sorted(unused, key=lambda each: self._controllers[each].asked_at)[: _MOST // 2]:
                    del self._controllers[key]
            controller = self._controllers.setdefault(place, _Controller())
            controller.users += 1
            return controller
