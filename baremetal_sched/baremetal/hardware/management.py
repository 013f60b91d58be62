"""Managing a machine: boot, indicators, interrupts, console, virtual media, and the target RAID configuration.

What reads something raises Unanswered if the driver has not been asked yet.
"""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.conductors import driver_calls, driver_facts
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import InvalidNodeState, RaidNotSupported
from baremetal_sched.machines import machine
from baremetal_sched.machines.states import BOOT_MODES


def set_boot_mode(session: Session, node: Node, membership: Membership, mode: str) -> None:
    """Set the boot mode; if the machine cannot, ``last_error`` says so.

    Raises InvalidValue for an invalid mode, InvalidNodeState while the node is worked on.
    """
    if mode not in BOOT_MODES:
        raise InvalidValue(
            message=f"Invalid boot mode {mode} requested for node. Allowed boot modes are: {', '.join(BOOT_MODES)}"
        )
    _require_stable(node, "boot mode")
    failure = f"Failed to change boot mode to '{mode}'"
    driver_calls.request_work(session, node, membership, "management", "set_boot_mode", failure, mode=mode)


def set_secure_boot(session: Session, node: Node, membership: Membership, *, enabled: bool) -> None:
    """Switch secure boot; if the machine cannot, ``last_error`` says so.

    Raises InvalidNodeState while the node is worked on.
    """
    _require_stable(node, "secure boot")
    failure = f"Failed to change secure_boot state to '{enabled}'"
    driver_calls.request_work(session, node, membership, "management", "set_secure_boot", failure, enabled=enabled)


def _require_stable(node: Node, what: str) -> None:
    if node.provision_state not in state_machine.STABLE:
        raise InvalidNodeState(
            message=f"The {what} of node {node.uuid} can not be changed while it is in state '{node.provision_state}'."
        )


def show_console(session: Session, node: Node, membership: Membership) -> dict[str, Any]:
    """Return ``console_enabled`` and ``console_info``: how it is reached, null while it is off. Raises Unanswered."""
    info = driver_calls.answer(session, node, membership, "console.get_console") if node.console_enabled else None
    return {"console_enabled": node.console_enabled, "console_info": info}


def switch_console(session: Session, node: Node, membership: Membership, *, enabled: bool) -> None:
    """Have the console of the node (its row locked) switched on or off; if that fails, ``last_error`` says so.

    Raises Unanswered, and UnsupportedByDriver if there is no console.
    """
    method, failure = ("start", "Error enabling console") if enabled else ("stop", "Error disabling console")
    driver_calls.request_work(session, node, membership, "console", method, failure)


def stop_console(session: Session, node: Node, membership: Membership) -> None:
    """Have the console switched off if it is on, before the node is deleted. Raises Unanswered until it is off."""
    if node.console_enabled:
        driver_calls.answer(session, node, membership, "console.stop", reserves=True)


def attach_media(session: Session, node: Node, membership: Membership, device_type: str, image_url: str) -> None:
    """Have an image inserted into a virtual device of the node (its row locked); if that fails, ``last_error`` says
    so."""
    failure = f"Could not attach device {device_type} to node {node.uuid}"
    driver_calls.request_work(
        *(session, node, membership, "management", "attach_virtual_media", failure),
        device_type=device_type,
        image_url=image_url,
    )


def detach_media(session: Session, node: Node, membership: Membership, device_types: Collection[str]) -> None:
    """Have the media in these devices of the node (its row locked) ejected, or in all devices; if that fails,
    ``last_error`` says so."""
    failure = f"Could not detach device(s) {', '.join(device_types) or 'of any type'} from node {node.uuid}"
    driver_calls.request_work(
        session, node, membership, "management", "detach_virtual_media", failure, device_types=list(device_types)
    )


def set_raid_target(session: Session, node: Node, config: Mapping[str, Any], membership: Membership) -> None:
    """Set the logical disks that the node (its row locked) is to have; ``{}`` removes the configuration.

    Raises RaidNotSupported, InvalidValue.
    """
    if config:
        facts = driver_facts.interface_facts(session, node, "raid", membership)
        if not facts.get("schema"):
            raise RaidNotSupported(driver=node.driver)
        machine.check_raid_config(config, facts["schema"])
    node.target_raid_config = dict(config)
    node.touch()
