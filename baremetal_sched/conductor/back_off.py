"""Addresses of management controllers that do not answer are left alone, each time for longer."""

import threading
import time
from collections.abc import Callable, Collection

from baremetal_sched.baremetal.machine import Machine
from baremetal_sched.db.sealing import readable

#: In seconds.
_LONGEST_PAUSE = 3600.0

#: How the names of addresses in ``driver_info`` end, whatever the driver: ``ipmi_address``, ``redfish_address``.
_SUFFIX = "_address"


def addresses_of(machine: Machine) -> frozenset[str]:
    """Return where the machine is managed; what has no address is a place of its own."""
    named = [value for name, value in readable(machine.driver_info).items() if name.endswith(_SUFFIX) and value]
    return frozenset(str(value) for value in named) or frozenset((machine.uuid,))


class BackOff:
    """Which addresses may be asked now."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        #: address: (how often in a row it did not answer, when it may be asked again)
        self._silent: dict[str, tuple[int, float]] = {}

    def is_due(self, addresses: Collection[str]) -> bool:
        """Return whether none of these is to be left alone."""
        now = self._clock()
        with self._lock:
            return all(self._silent.get(address, (0, now))[1] <= now for address in addresses)

    def note_silence(self, addresses: Collection[str], pause: float, longest: float | None = None) -> None:
        """Leave these alone, as nobody answered there: the first time ``pause`` seconds, each time twice as long.

        ``longest`` is how long at most, in seconds; an hour if it is None.
        """
        now = self._clock()
        with self._lock:
            for address in addresses:
                times = self._silent.get(address, (0, now))[0]
                self._silent[address] = (times + 1, now + min(pause * 2 ** min(times, 30), longest or _LONGEST_PAUSE))

    def note_answer(self, addresses: Collection[str]) -> None:
        """Forget that these were silent."""
        with self._lock:
            for address in addresses:
                self._silent.pop(address, None)
