"""Virtual media of a node, inserted and ejected by its management interface in the request's own transaction."""

from collections.abc import Collection
from typing import Any

from baremetal_sched.baremetal.drivers.interfaces import Driver
from baremetal_sched.baremetal.drivers.machine import Machine
from baremetal_sched.baremetal.management import saying
from baremetal_sched.db.models import Node
from baremetal_sched.settings import Settings


def attach(node: Node, device_type: str, image_url: str, settings: Settings) -> None:
    """Insert an image into a virtual device of the node (its row locked); if there is none, ``last_error`` says so."""
    machine = Machine.of(node, settings)
    with saying(node, f"Could not attach device {device_type} to node {node.uuid}"):
        Driver(machine).management.attach_virtual_media(machine, device_type, image_url).write(node)
        node.touch()


def detach(node: Node, device_types: Collection[str], settings: Settings) -> None:
    """Eject what is in these devices of the node (its row locked), or in all of them; if there are no such devices,
    ``last_error`` says so."""
    machine = Machine.of(node, settings)
    with saying(node, f"Could not detach device(s) {', '.join(device_types) or 'of any type'} from node {node.uuid}"):
        Driver(machine).management.detach_virtual_media(machine, device_types).write(node)
        node.touch()


def show(node: Node, settings: Settings) -> list[dict[str, Any]]:
    """The virtual devices, and what is in them."""
    machine = Machine.of(node, settings)
    return Driver(machine).management.get_virtual_media(machine)
