"""Hooks that set ``properties`` of a node from the hardware of its machine."""

import json
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import structlog
import yaml

from baremetal_sched.baremetal.inspection.hooks.hook import HookFailed
from baremetal_sched.baremetal.inspection.rules.actions import set_capability
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.db.types import dump_json
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)


def set_architecture(subject: Subject, settings: Settings) -> None:
    """``architecture``: Set ``cpu_arch``, unless the agent says that it does not know it."""
    architecture = _part(subject, "cpu").get("architecture", "")
    if architecture is None:
        log.warning("the architecture of the CPU is unknown", node=subject.read_only.get("uuid"))
        return
    if not isinstance(architecture, str) or not architecture:
        raise HookFailed(message="The inventory does not say the architecture of the CPU.")
    subject.node["properties"]["cpu_arch"] = architecture


def set_cpus(subject: Subject, settings: Settings) -> None:
    """``cpus``: Set ``cpus`` if they were counted."""
    count = _part(subject, "cpu").get("count")
    if _is_count(count) and count:
        subject.node["properties"]["cpus"] = count


def set_memory(subject: Subject, settings: Settings) -> None:
    """``memory``: Set ``memory_mb``, unless the agent says that it does not know it: it has no dmidecode, or that
    tells it nothing."""
    memory = _part(subject, "memory").get("physical_mb", "")
    if memory is None:
        log.warning("the size of the memory is unknown", node=subject.read_only.get("uuid"))
        return
    if not _is_count(memory):
        raise HookFailed(message="The inventory does not say how much memory there is.")
    subject.node["properties"]["memory_mb"] = memory


def set_boot_mode(subject: Subject, settings: Settings) -> None:
    """``boot-mode``: Set the capability ``boot_mode`` if the agent reports it."""
    mode = _part(subject, "boot").get("current_boot_mode")
    if isinstance(mode, str):
        set_capability(subject, "boot_mode", mode)


def set_cpu_capabilities(subject: Subject, settings: Settings) -> None:
    """``cpu-capabilities``: Set capabilities by flags of the CPU (``[inspector] cpu_capabilities``)."""
    flags = _part(subject, "cpu").get("flags")
    for flag, name in settings.inspector.cpu_capabilities.items():
        if isinstance(flags, list) and flag in flags:
            set_capability(subject, name, "true")


def count_pci_devices(subject: Subject, settings: Settings) -> None:
    """``pci-devices``: Set capabilities to the numbers of devices that ``[inspector] pci_device_alias`` names."""
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
    """Return the names in ``[inspector] pci_device_alias`` by the ids of vendor and product. Raises InvalidValue."""
    return dict(map(_alias, settings.inspector.pci_device_alias))


def _alias(entry: str) -> tuple[tuple[str, str], str]:
    """Parse an entry like ``{"vendor_id": "10de", "product_id": "1eb8", "name": "t4"}``."""
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


#: Keys of the plugin data: the list, and the objects that are made from it.
_LIST, _OBJECTS = "data", "extra"
#: An entry of the list has a kind of hardware, the name of a device, the name of a property and its value.
_LENGTH = 4
#: Texts with more digits are names and stay texts.
_MOST_DIGITS = 18


def arrange(subject: Subject, settings: Settings) -> None:
    """Make objects of a list: ``["disk", "sda", "size", "10"]`` becomes ``{"disk": {"sda": {"size": 10}}}``.

    A list with an entry that is no list stays as it is. With ``[inspector] extra_hardware_strict`` it is removed, as is
    a list with entries that are too short or too long; without the option these entries are left out.
    """
    if _LIST not in subject.plugin_data:
        return
    entries, strict = subject.plugin_data[_LIST], settings.inspector.extra_hardware_strict
    if _is_usable(entries, strict):
        subject.plugin_data[_OBJECTS] = _objects(entries)
    else:
        log.warning("extra data about the hardware is not understood", node=subject.read_only.get("uuid"))
        if not strict:
            return
    del subject.plugin_data[_LIST]


def _is_usable(entries: Any, strict: bool) -> bool:
    return isinstance(entries, list) and all(
        isinstance(entry, list) and (not strict or len(entry) == _LENGTH) for entry in entries
    )


def _objects(entries: list[list[Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    objects: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in entries:
        if len(entry) >= _LENGTH and all(isinstance(name, str) for name in entry[:3]):
            kind, device, name, value = entry[:_LENGTH]
            objects.setdefault(kind, {}).setdefault(device, {})[name] = _number(value)
    return objects


def _number(value: Any) -> Any:
    """Return the number that a text contains; other values are returned as they are."""
    if not isinstance(value, str):
        return value
    digits = value.strip().removeprefix("-")
    return int(value) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else value


#: Descriptions of accelerators, by the ids of vendor and device.
Known = Mapping[tuple[str, str], Mapping[str, Any]]

_NVIDIA = "10de"
#: The accelerators that Ironic knows without a file.
_GPUS = {"1df6": "GV100GL", "1eb8": "Tesla T4", "2235": "A40", "2236": "A10", "26b9": "L40S", "26ba": "L20"}
_BUILT_IN: Known = {
    (_NVIDIA, device_id): {
        "vendor_id": _NVIDIA,
        "device_id": device_id,
        "type": "GPU",
        "device_info": f"NVIDIA Corporation {model}",
    }
    for device_id, model in _GPUS.items()
}


def list_accelerators(subject: Subject, settings: Settings) -> None:
    """``accelerators``: Set the property of this name to the known accelerators, each with its ``pci_address``.

    Nothing is done if the agent has not looked for PCI devices.
    """
    devices = subject.plugin_data.get("pci_devices") or subject.inventory.get("pci_devices")
    if not isinstance(devices, list) or not devices:
        log.info("PCI devices are not known", node=subject.read_only.get("uuid"))
        return
    known = known_accelerators(settings)
    subject.node["properties"]["accelerators"] = [
        {**accelerator, "pci_address": device.get("bus")}
        for device in devices
        if isinstance(device, dict) and (accelerator := known.get(_ids(device, "product_id")))
    ]


def known_accelerators(settings: Settings) -> Known:
    """Return the accelerators that ``[inspector] known_accelerators`` lists. Raises InvalidValue."""
    path = settings.inspector.known_accelerators
    return _BUILT_IN if path is None else _load(path)


@lru_cache(maxsize=8)
def _load(path: str) -> Known:
    """Read once: a change of the file counts from the next start on."""
    try:
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        devices = document["pci_devices"]
        if not all(device["vendor_id"] and device["device_id"] for device in devices):
            raise ValueError("a device lacks vendor_id or device_id")
        # What YAML can say and JSON cannot would be found too late.
        dump_json(devices)
        return {_ids(device, "device_id"): device for device in devices}
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise InvalidValue(message=f"[inspector] known_accelerators: {path} cannot be read: {error!r}") from None


def _ids(device: Mapping[str, Any], name: str) -> tuple[str, str]:
    return str(device.get("vendor_id")).lower(), str(device.get(name)).lower()
