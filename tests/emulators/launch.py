"""Starts sushy-emulator, with four of its habits changed, which no setting of it changes. A program of its own:

``python launch.py SECONDS SECONDS [options of sushy-emulator]``: power states of fake systems change after a time
between the two.

- Power states of fake systems change after 1 to 11 seconds: a test that switches often would take minutes.
- Changes of a fake system that are made at the same time are told in any order.
- Each call opens a connection to libvirt and closes it. Its test driver keeps machines in a connection: all share one.
- A node behind ``--ironic-cloud`` is read once and remembered for ever, so no change of power would ever be seen.
"""

import functools
import random
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from sushy_tools.emulator import main as emulator
from sushy_tools.emulator.resources.systems import fakedriver, ironicdriver, libvirtdriver


def set_power_delay(shortest: int, longest: int) -> None:
    """Fake systems take so many seconds to change their power state."""
    fakedriver.random = SimpleNamespace(randint=lambda *_: random.randint(shortest, longest))


def tell_in_order() -> None:
    """Make one change of fake systems at a time, and tell it before the next one."""
    lock = threading.RLock()

    def alone(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def locked(*arguments: Any, **named: Any) -> Any:
            with lock:
                return method(*arguments, **named)

        return locked

    for name in ("_get", "_update", "set_power_state", "set_boot_image"):
        setattr(fakedriver.FakeDriver, name, alone(getattr(fakedriver.FakeDriver, name)))


def share_libvirt() -> None:
    """Use one connection to libvirt for all calls."""
    connections: dict[str, Any] = {}

    def enter(opened: Any) -> Any:
        if opened._uri not in connections:
            connections[opened._uri] = libvirtdriver.libvirt.open(opened._uri)
        return connections[opened._uri]

    libvirtdriver.libvirt_open.__enter__ = enter
    libvirtdriver.libvirt_open.__exit__ = lambda *_: None


def read_nodes_anew() -> None:
    """Ask for a node whenever something of it is wanted."""
    ironicdriver.IronicDriver._get_node = ironicdriver.IronicDriver._get_node.__wrapped__


if __name__ == "__main__":
    set_power_delay(int(sys.argv[1]), int(sys.argv[2]))
    tell_in_order()
    share_libvirt()
    read_nodes_anew()
    sys.argv[1:3] = []
    sys.exit(emulator.main())
