"""Managing a machine: boot device, boot mode, secure boot, interrupts, indicators.

Interfaces answer at once, in the request's own transaction.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.drivers.interfaces import Driver
from baremetal_sched.baremetal.drivers.machine import Effect, Machine
from baremetal_sched.baremetal.drivers.management import BOOT_MODES, Indicators, ManagementInterface
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import InvalidNodeState, UnsupportedByDriver
from baremetal_sched.settings import Settings


def _interface(node: Node, settings: Settings) -> tuple[ManagementInterface, Machine]:
    machine = Machine.of(node, settings)
    return Driver(machine).management, machine


def _change(node: Node, settings: Settings, action: Callable[[ManagementInterface, Machine], Effect]) -> None:
    effect = action(*_interface(node, settings))
    effect.write(node)
    node.touch()


def boot_device(node: Node, settings: Settings) -> dict[str, Any]:
    """``{"boot_device": …, "persistent": …}``"""
    management, machine = _interface(node, settings)
    return management.get_boot_device(machine)


def supported_boot_devices(node: Node, settings: Settings) -> list[str]:
    """What the machine can be told to boot from."""
    management, machine = _interface(node, settings)
    return management.get_supported_boot_devices(machine)


def set_boot_device(node: Node, device: str, *, persistent: bool, settings: Settings) -> None:
    """Boot from ``device`` the next time, or always. Raises InvalidValue for one that the machine lacks."""
    _change(node, settings, lambda each, machine: each.set_boot_device(machine, device, persistent=persistent))


def set_boot_mode(node: Node, mode: str, settings: Settings) -> None:
    """Boot in this mode; if the machine cannot, ``last_error`` says so.

    Raises InvalidValue for what is no mode, InvalidNodeState while the node is worked on.
    """
    if mode not in BOOT_MODES:
        raise InvalidValue(
            message=f"Invalid boot mode {mode} requested for node. Allowed boot modes are: {', '.join(BOOT_MODES)}"
        )
    _require_stable(node, "boot mode")
    with saying(node, f"Failed to change boot mode to '{mode}'"):
        _change(node, settings, lambda each, machine: each.set_boot_mode(machine, mode))


def set_secure_boot(node: Node, *, enabled: bool, settings: Settings) -> None:
    """Switch secure boot; if the machine cannot, ``last_error`` says so.

    Raises InvalidNodeState while the node is worked on.
    """
    _require_stable(node, "secure boot")
    with saying(node, f"Failed to change secure_boot state to '{enabled}'"):
        _change(node, settings, lambda each, machine: each.set_secure_boot(machine, enabled))


@contextmanager
def saying(node: Node, failed: str) -> Iterator[None]:
    """What fails is said in ``last_error``, and not to the client: his request has been accepted, as Ironic does."""
    node.last_error = None
    try:
        yield
    except UnsupportedByDriver as error:
        node.last_error = f"{failed}: {error}"
        node.touch()


def _require_stable(node: Node, what: str) -> None:
    if node.provision_state not in state_machine.STABLE:
        raise InvalidNodeState(
            message=f"The {what} of node {node.uuid} can not be changed while it is in state '{node.provision_state}'."
        )


def inject_nmi(node: Node, settings: Settings) -> None:
    """Send a non-maskable interrupt."""
    management, machine = _interface(node, settings)
    management.inject_nmi(machine)


def indicators(node: Node, settings: Settings) -> Indicators:
    """The machine's indicators, by component and name."""
    management, machine = _interface(node, settings)
    return management.get_supported_indicators(machine)


def indicator_state(node: Node, component: str, name: str, settings: Settings) -> str:
    """The state of an indicator. Raises InvalidValue if there is none of that name."""
    management, machine = _interface(node, settings)
    return management.get_indicator_state(machine, component, name)


def set_indicator_state(node: Node, component: str, name: str, state: str, settings: Settings) -> None:
    """Switch an indicator."""
    _change(node, settings, lambda each, machine: each.set_indicator_state(machine, component, name, state))
