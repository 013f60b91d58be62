"""The console of a node, switched by its console interface in the request's own transaction."""

from typing import Any

from baremetal_sched.baremetal.drivers.interfaces import Driver
from baremetal_sched.baremetal.drivers.machine import Machine
from baremetal_sched.db.models import Node
from baremetal_sched.settings import Settings


def show(node: Node, settings: Settings) -> dict[str, Any]:
    """``console_enabled``, and ``console_info``: how it is reached, null while it is off."""
    machine = Machine.of(node, settings)
    interface = Driver(machine).console
    info = interface.get_console(machine) if node.console_enabled else None
    return {"console_enabled": node.console_enabled, "console_info": info}


def switch(node: Node, *, enabled: bool, settings: Settings) -> None:
    """Switch the console of the node (its row locked) on or off. Raises UnsupportedByDriver."""
    machine = Machine.of(node, settings)
    interface = Driver(machine).console
    interface.validate(machine)
    if enabled:
        interface.start_console(machine)
    else:
        interface.stop_console(machine)
    node.console_enabled = enabled
    node.last_error = None
    node.touch()
