"""Limits of failed log-ins by address."""

import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

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
    """Counts failed log-ins by client address. Addresses of one IPv6 network (/64) count as one.

    A log-in is counted when its check begins, so that concurrent ones are counted, too, and uncounted if it
    succeeds.
    """

    def __init__(self) -> None:
        self._budgets: OrderedDict[str, _Budget] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, address: str) -> None:
        """Count a log-in from ``address``. Raises TooManyFailedLogins if there were too many."""
        with self._lock:
            budget = self._budget(address)
            if budget.left < 1:
                seconds = math.ceil((1 - budget.left) * SECONDS_EACH)
                raise TooManyFailedLogins(address=address or "this socket", retry_after=seconds)
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
        self._budgets.move_to_end(key)
        if len(self._budgets) > _ADDRESSES:
            self._budgets.popitem(last=False)
        return budget


def _network(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(ip_network((int(parsed) & ~(2**64 - 1), 64)))
    return str(parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else parsed)
