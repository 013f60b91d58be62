"""Hooks that set ``properties`` of the node to what its machine has."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from baremetal_sched.baremetal.inspection.hooks.hook import HookFailed
from baremetal_sched.baremetal.inspection.rules.actions import set_capability
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import Settings


def set_architecture(subject: Subject, settings: Settings) -> None:
    """``architecture``: ``cpu_arch``"""
    architecture = _part(subject, "cpu").get("architecture")
    if not isinstance(architecture, str) or not architecture:
        raise HookFailed(message="The inventory does not say the architecture of the CPU.")
    subject.node["properties"]["cpu_arch"] = architecture


def set_cpus(subject: Subject, settings: Settings) -> None:
    """``cpus``: ``cpus``, if they were counted"""
    count = _part(subject, "cpu").get("count")
    if _is_count(count) and count:
        subject.node["properties"]["cpus"] = count


def set_memory(subject: Subject, settings: Settings) -> None:
    """``memory``: ``memory_mb``"""
    memory = _part(subject, "memory").get("physical_mb")
    if not _is_count(memory):
        raise HookFailed(message="The inventory does not say how much memory there is.")
    subject.node["properties"]["memory_mb"] = memory


def set_boot_mode(subject: Subject, settings: Settings) -> None:
    """``boot-mode``: the capability ``boot_mode``, if the agent knows"""
    mode = _part(subject, "boot").get("current_boot_mode")
    if isinstance(mode, str):
        set_capability(subject, "boot_mode", mode)


def set_cpu_capabilities(subject: Subject, settings: Settings) -> None:
    """``cpu-capabilities``: capabilities that follow from flags of the CPU (``[inspector] cpu_capabilities``)"""
    flags = _part(subject, "cpu").get("flags")
    for flag, name in settings.inspector.cpu_capabilities.items():
        if isinstance(flags, list) and flag in flags:
            set_capability(subject, name, "true")


def count_pci_devices(subject: Subject, settings: Settings) -> None:
    """``pci-devices``: capabilities that say how many of the devices in ``[inspector] pci_device_alias`` there are"""
    names = pci_device_names(settings)
    devices = subject.plugin_data.get("pci_devices")
    found = Counter(
        names.get((str(device.get("vendor_id")), str(device.get("product_id"))))
        for device in (devices if isinstance(devices, list) else ())
        if isinstance(device, dict)
    )
    for name, count in found.items():
        if name is not None:
            set_capability(subject, name, count)


def pci_device_names(settings: Settings) -> Mapping[tuple[str, str], str]:
    """The names in ``[inspector] pci_device_alias``, by the ids of vendor and product. Raises InvalidValue."""
    return dict(map(_alias, settings.inspector.pci_device_alias))


def _alias(entry: str) -> tuple[tuple[str, str], str]:
    """``{"vendor_id": "10de", "product_id": "1eb8", "name": "t4"}``"""
    try:
        alias = json.loads(entry)
        return (str(alias["vendor_id"]), str(alias["product_id"])), str(alias["name"])
    except (ValueError, TypeError, KeyError):
        raise InvalidValue(message=f"[inspector] pci_device_alias: {entry} is not a valid alias.") from None


def _part(subject: Subject, name: str) -> Mapping[str, Any]:
    part = subject.inventory.get(name)
    return part if isinstance(part, dict) else {}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
