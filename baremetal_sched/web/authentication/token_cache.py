"""A cache of validated tokens in this process."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

#: Maximum number of cached tokens; beyond it, the oldest are removed.
MOST = 4096


class TokenCache:
    """Replaces keystonemiddleware's own cache, which scans all its tokens at every access. Thread-safe. It holds
    digests instead of tokens."""

    def __init__(self, seconds: float, most: int = MOST, clock: Callable[[], float] = time.monotonic) -> None:
        """Keep what is set for ``seconds``; if these are not positive, keep nothing."""
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        #: Expiry and value; the oldest first.
        self._entries: OrderedDict[bytes, tuple[float, Mapping[str, Any]]] = OrderedDict()

    def initialize(self, environ: Mapping[str, Any]) -> None:
        """Do nothing. keystonemiddleware calls it before it uses a cache."""

    def get(self, token: str) -> Mapping[str, Any] | None:
        """Return the cached description of the token; None if it is missing or expired."""
        entry = self._entries.get(_digest(token))
        if entry is None or entry[0] <= self._clock():
            return None
        return entry[1]

    def set(self, token: str, said: Mapping[str, Any]) -> None:
        """Cache the description of the token."""
        if self._seconds <= 0:
            return
        now, key = self._clock(), _digest(token)
        with self._lock:
            self._entries[key] = (now + self._seconds, said)
            self._entries.move_to_end(key)
            while len(self._entries) > self._most or next(iter(self._entries.values()))[0] <= now:
                self._entries.popitem(last=False)


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()
