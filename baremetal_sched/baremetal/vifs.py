"""Virtual interfaces of a node's ports, answered by its network interface in the request's own transaction."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.baremetal.drivers.interfaces import Driver
from baremetal_sched.baremetal.drivers.machine import Machine
from baremetal_sched.db.models import Node
from baremetal_sched.settings import Settings


def list_vifs(node: Node, settings: Settings) -> list[dict[str, str]]:
    """What is attached, each ``{"id": …}``."""
    machine = Machine.of(node, settings)
    return Driver(machine).network.vif_list(machine)


def attach(node: Node, vif: Mapping[str, Any], settings: Settings) -> None:
    """Attach a virtual interface to a free port of the node (its row locked)."""
    machine = Machine.of(node, settings)
    Driver(machine).network.vif_attach(machine, vif).write(node)
    node.touch()


def detach(node: Node, vif_id: str, settings: Settings) -> None:
    """Detach a virtual interface from the node (its row locked)."""
    machine = Machine.of(node, settings)
    Driver(machine).network.vif_detach(machine, vif_id).write(node)
    node.touch()
