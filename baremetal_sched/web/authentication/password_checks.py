"""Checks of passwords, which are slow by design: each is done once, few at a time, and few may fail."""

import hmac
import math
import os
import threading
import time
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

import bcrypt
from cachetools import LRUCache

from baremetal_sched.errors import AuthenticationUnavailable
from baremetal_sched.web.authentication.password_file import LONGEST_PASSWORD, Users
from baremetal_sched.web.http_errors import TooManyFailedLogins

#: Number of failed log-ins allowed in succession; then one more after each interval, in seconds.
FAILURES = 10
SECONDS_EACH = 6.0

#: Maximum number of addresses that are remembered.
_ADDRESSES = 10_000


@dataclass
class _Budget:
    left: float
    at: float


class LoginLimits:
    """Counts failed log-ins by client address, or by name. Addresses of one IPv6 network (/64) count as one.

    A log-in is counted when its check begins, so that concurrent ones are counted, too, and uncounted if it
    succeeds.
    """

    def __init__(self, whence: str = "from {}") -> None:
        """``whence``: where failed log-ins come from, in words."""
        self._whence = whence
        self._budgets: LRUCache[str, _Budget] = LRUCache(_ADDRESSES)
        self._lock = threading.Lock()

    def count(self, address: str) -> None:
        """Count a log-in from ``address``. Raises TooManyFailedLogins if there were too many."""
        with self._lock:
            budget = self._budget(address)
            if budget.left < 1:
                seconds = math.ceil((1 - budget.left) * SECONDS_EACH)
                raise TooManyFailedLogins(whence=self._whence.format(address or "this socket"), retry_after=seconds)
            budget.left -= 1

    def give_back(self, address: str) -> None:
        """Uncount a log-in that has succeeded."""
        with self._lock:
            self._budget(address).left += 1

    def _budget(self, address: str) -> _Budget:
        key, now = _network(address), time.monotonic()
        budget = self._budgets.setdefault(key, _Budget(FAILURES, now))
        budget.left = min(FAILURES, budget.left + (now - budget.at) / SECONDS_EACH)
        budget.at = now
        return budget


def _network(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(ip_network((int(parsed) & ~(2**64 - 1), 64)))
    return str(parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else parsed)


#: Maximum number of concurrent checks: half of the default of concurrent requests.
AT_ONCE = 4

#: Maximum number of cached results, of each kind.
_REMEMBERED = 1024

#: Seconds that a thread waits for a check in another thread; no check takes this long.
_LONGEST_WAIT_SECONDS = 60


class _Check:
    """A check and its waiting threads; ``is_right`` is None until it ends."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.is_right: bool | None = None


class PasswordChecks:
    """Caches which passwords were right and wrong, by a digest with a key that only this process has.

    A digest covers user, hash and password, so a changed password is never answered from the cache. Cached results cost
    nothing and are not limited: clients that have logged in are not locked out by others that guess.
    """

    def __init__(self) -> None:
        self._key: bytes | None = None
        self._lock = threading.Lock()
        #: Finished checks: of right passwords, and of wrong ones.
        self._right: LRUCache[bytes, _Check] = LRUCache(_REMEMBERED)
        self._wrong: LRUCache[bytes, _Check] = LRUCache(_REMEMBERED)
        self._running: dict[bytes, _Check] = {}
        self._limits = LoginLimits()

    def is_right(self, users: Users, name: str, password: bytes, address: str) -> bool:
        """Return whether ``password`` is that of the user ``name``; it takes the same time for unknown users.

        ``address`` is where the request comes from. Raises TooManyFailedLogins, and AuthenticationUnavailable if too
        many other checks are in progress.
        """
        if len(password) > LONGEST_PASSWORD or b"\0" in password:
            return False
        hashed = users.hashes.get(name, users.decoy)
        digest = self._digest(name, hashed, password)
        check, is_ours = self._begin(digest, address)
        if not is_ours:
            check.done.wait(_LONGEST_WAIT_SECONDS)
            if check.is_right is None:
                raise AuthenticationUnavailable(reason="the check of the password did not end")
            return check.is_right
        try:
            check.is_right = bcrypt.checkpw(password, hashed) and name in users.hashes
        finally:
            self._end(digest, check)
        if check.is_right:
            self._limits.give_back(address)
        return check.is_right

    def _begin(self, digest: bytes, address: str) -> tuple[_Check, bool]:
        """Return the check of ``digest``, and whether the caller must perform it."""
        with self._lock:
            check = self._right.get(digest) or self._wrong.get(digest) or self._running.get(digest)
            if check is not None:
                return check, False
            if len(self._running) >= AT_ONCE:
                raise AuthenticationUnavailable(reason="too many passwords are being checked")
            self._limits.count(address)
            check = self._running[digest] = _Check()
            return check, True

    def _end(self, digest: bytes, check: _Check) -> None:
        with self._lock:
            del self._running[digest]
            if check.is_right is not None:
                (self._right if check.is_right else self._wrong)[digest] = check
        check.done.set()

    def _digest(self, name: str, hashed: bytes, password: bytes) -> bytes:
        if self._key is None:
            # Created by the first request, so that forked processes have different ones.
            with self._lock:
                self._key = self._key or os.urandom(32)
        encoded = name.encode()
        return hmac.digest(self._key, b"%d:%b%b%b" % (len(encoded), encoded, hashed, password), "sha256")
