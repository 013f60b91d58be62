"""Hooks about disks: which of them is the root device, and how large it is."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import structlog

from baremetal_sched.baremetal.inspection.hooks.hook import HookFailed
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.device_hints import GIB, matching
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Hints in the ``properties`` of a node: of its root device, and a list of them of disks that cannot be that.
_HINTS, _SKIPPED = "root_device", "skip_block_devices"
#: Where the plugin data has the root device, and its size in GiB.
_ROOT_DISK, _SIZE = "root_disk", "local_gb"


def find_root_device(subject: Subject, settings: Settings) -> None:
    """``root-device``: Choose the disk that the hints ask for, or else the one that the agent chose, and set
    ``local_gb`` to its size.

    The size is 0 without a disk, or if it is unknown. ``[inspector] disk_partitioning_spacing`` is subtracted.
    """
    if subject.node["properties"].get(_HINTS):
        subject.plugin_data[_ROOT_DISK] = _hinted(subject)
    gibibytes = _gibibytes(subject.plugin_data.get(_ROOT_DISK))
    if gibibytes and settings.inspector.disk_partitioning_spacing:
        gibibytes -= 1
    subject.plugin_data[_SIZE] = subject.node["properties"][_SIZE] = gibibytes


def _hinted(subject: Subject) -> Mapping[str, Any]:
    properties = subject.node["properties"]
    hints, skipped = properties[_HINTS], properties.get(_SKIPPED) or []
    disks = _disks(subject.inventory)
    try:
        if not isinstance(skipped, list):
            raise InvalidValue(message=f"{_SKIPPED} must be a list of hints.")
        for some in skipped:
            unwanted = list(matching(disks, some))
            disks = [disk for disk in disks if disk not in unwanted]
        root = next(matching(disks, hints), None)
    except InvalidValue as error:
        raise HookFailed(message=f"No disks could be found using root device hints {hints}: {error}") from None
    if root is None:
        raise HookFailed(message=f"No disks satisfied root device hints {hints}")
    return deepcopy(root)


def _gibibytes(disk: Any) -> int:
    size = disk.get("size") if isinstance(disk, dict) else None
    if not isinstance(size, int) or isinstance(size, bool) or size < GIB:
        log.info("no root device of known size", disk=disk)
        return 0
    return size // GIB


def remember_new_device(subject: Subject, settings: Settings) -> None:
    """``raid-device``: Make the one disk that the previous inspection did not find the root device.

    Nothing happens if the node has a root device, was not inspected before, or does not have exactly one new disk.
    """
    properties, before = subject.node["properties"], subject.inventory_before
    if _HINTS in properties or before is None:
        return
    known = _serials(before)
    new = [serial for serial in _serials(subject.inventory) if serial not in known]
    if len(new) == 1:
        properties[_HINTS] = {"serial": new[0]}
    else:
        log.info("there is not exactly one new disk", node=subject.read_only.get("uuid"), serials=new)


def _serials(inventory: Mapping[str, Any]) -> list[str]:
    found = (disk.get("serial") for disk in _disks(inventory))
    return [serial for serial in found if isinstance(serial, str) and serial]


def _disks(inventory: Mapping[str, Any]) -> list[dict[str, Any]]:
    disks = inventory.get("disks")
    return [disk for disk in disks if isinstance(disk, dict)] if isinstance(disks, list) else []
