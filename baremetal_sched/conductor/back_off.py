"""Back-off for addresses of management controllers that do not answer."""

import threading
import time
from collections.abc import Callable, Collection

from baremetal_sched.db.sealing import readable
from baremetal_sched.machines.machine import Machine

#: In seconds.
_LONGEST_PAUSE = 3600.0

#: Suffix of the addresses in ``driver_info``, for any driver: ``ipmi_address``, ``redfish_address``.
_SUFFIX = "_address"


def addresses_of(machine: Machine) -> frozenset[str]:
    """Return the addresses of the machine's management controller; a machine without one counts as its own address."""
    named = [value for name, value in readable(machine.driver_info).items() if name.endswith(_SUFFIX) and value]
    return frozenset(str(value) for value in named) or frozenset((machine.uuid,))


class BackOff:
    """Tracks which addresses may be contacted now."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        #: address: (consecutive failures, time of the next attempt)
        self._silent: dict[str, tuple[int, float]] = {}

    def is_due(self, addresses: Collection[str]) -> bool:
        """Return whether all of these may be contacted now."""
        now = self._clock()
        with self._lock:
            return all(self._silent.get(address, (0, now))[1] <= now for address in addresses)

    def note_silence(self, addresses: Collection[str], pause: float, longest: float | None = None) -> None:
        """Back off from these addresses: first for ``pause`` seconds, then twice as long each time.

        ``longest`` is the maximum in seconds; None means an hour.
        """
        now = self._clock()
        with self._lock:
            for address in addresses:
                times = self._silent.get(address, (0, now))[0]
                self._silent[address] = (times + 1, now + min(pause * 2 ** min(times, 30), longest or _LONGEST_PAUSE))

    def note_answer(self, addresses: Collection[str]) -> None:
        """End the back-off from these addresses."""
        with self._lock:
            for address in addresses:
                self._silent.pop(address, None)
