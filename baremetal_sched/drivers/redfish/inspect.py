"""Inspections out of band, by Redfish: the hardware of a machine as its controller reports it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import structlog
from sushy import exceptions

from baremetal_sched.documents.schema import canonical_mac
from baremetal_sched.drivers.interfaces.provisioning import InspectInterface
from baremetal_sched.drivers.redfish.documents import (
    Document,
    Documents,
    count,
    documents_of,
    link,
    member,
    objects,
    text,
)
from baremetal_sched.drivers.redfish.driver_info import Target
from baremetal_sched.drivers.redfish.transport import Nonsense
from baremetal_sched.machines.machine import Finding, Machine

#: Hooks that would fail for want of something that not all controllers say, by what that is in the inventory.
_NEED_INTERFACES = frozenset(("validate-interfaces", "ports", "local-link-connection", "physical-network"))
_NEED_ARCHITECTURE = frozenset(("architecture",))
_NEED_MEMORY = frozenset(("memory",))


@dataclass(frozen=True)
class Hardware:
    """An inventory, and what the node's properties and capabilities are by it."""

    inventory: dict[str, Any]
    properties: dict[str, Any]
    capabilities: dict[str, str]


@dataclass(frozen=True)
class _Processor:
    architecture: str
    model: str | None
    speed: int | None

    @classmethod
    def of(cls, document: Document) -> Self:
        architecture = _ARCHITECTURES.get(str(document.get("InstructionSet")), "")
        return cls(architecture, text(document.get("Model")), count(document.get("MaxSpeedMHz")))


def read(documents: Documents) -> Hardware:
    """What the controller says. Raises sushy's errors, but not for collections that it does not have, nor if it only
    fails at storage."""
    system = documents.of_system
    inventory: dict[str, Any] = {"cpu": _cpu(documents), "interfaces": _interfaces(documents)}
    properties: dict[str, Any] = {}
    memory = _memory_mb(system)
    if memory is not None:
        inventory["memory"] = {"physical_mb": memory}
        properties["memory_mb"] = memory
    try:
        inventory["disks"], properties["local_gb"] = _storage(documents)
    except exceptions.ServerSideError as error:
        # Some controllers fail at it while the machine is off, or has no disks: the rest is worth having.
        log.warning("controller fails at storage", path=link(system, "Storage"), status=error.status_code)
        inventory["disks"] = []
    vendor = _vendor(system)
    if vendor:
        inventory["system_vendor"] = vendor
    mode = _BOOT_MODES.get(str(member(system, "Boot", "BootSourceOverrideMode")))
    if mode is not None:
        inventory["boot"] = {"current_boot_mode": mode}
    return Hardware(inventory, properties, {} if mode is None else {"boot_mode": mode})


def _cpu(documents: Documents) -> dict[str, Any]:
    """All processors; model and speed are those of the first."""
    threads, first = 0, None
    for each in _present(documents.members(documents.find(link(documents.of_system, "Processors")))):
        if each.get("ProcessorType") in ("CPU", None):
            threads += count(each.get("TotalThreads")) or 0
            first = first or _Processor.of(each)
    summary = member(documents.of_system, "ProcessorSummary")
    cpu: dict[str, Any] = {
        "count": threads or count(member(summary, "LogicalProcessorCount")) or 0,
        "architecture": first.architecture if first else "",
    }
    model = (first.model if first else None) or text(member(summary, "Model"))
    speed = first.speed if first else None
    return cpu | ({"model_name": model} if model else {}) | ({"frequency": speed} if speed else {})


def _memory_mb(system: Document) -> int | None:
    gibibytes = member(system, "MemorySummary", "TotalSystemMemoryGiB")
    if isinstance(gibibytes, float) and 0 < gibibytes < 2**32:
        return int(gibibytes * 1024) or None
    whole = count(gibibytes)
    return whole * 1024 if whole and whole < 2**32 else None


def _interfaces(documents: Documents) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for each in _present(documents.members(documents.find(link(documents.of_system, "EthernetInterfaces")))):
        address = text(each.get("MACAddress")) or text(each.get("PermanentMACAddress"))
        mac, name = canonical_mac(address) if address else None, text(each.get("Id"))
        if mac is None or name is None or mac in {known["mac_address"] for known in found}:
            continue
        speed = count(each.get("SpeedMbps"))
        found.append({"name": name, "mac_address": mac} | ({"speed_mbps": speed} if speed is not None else {}))
    return found


def _storage(documents: Documents) -> tuple[list[dict[str, Any]], int]:
    """The disks, and the size that a node has by them. Raises Nonsense if there are too many."""
    drives: list[dict[str, Any]] = []
    volumes: list[int | None] = []
    devices: list[dict[str, Any]] = []
    for storage in documents.members(documents.find(link(documents.of_system, "Storage"))):
        _add(drives, map(_disk, _present(documents.members(storage, "Drives"))))
        members = documents.members(documents.find(link(storage, "Volumes")))
        volumes += [count(each.get("CapacityBytes")) for each in members]
    for storage in documents.members(documents.find(link(documents.of_system, "SimpleStorage"))):
        _add(devices, map(_device, _present(objects(storage.get("Devices")))))
    sizes = _sizes(volumes) or _sizes(disk["size"] for disk in drives)
    return drives or devices, _local_gb(_sizes(device["size"] for device in devices), sizes)


def _add(disks: list[dict[str, Any]], more: Iterable[dict[str, Any]]) -> None:
    for disk in more:
        if len(disks) >= _MOST_DISKS:
            raise Nonsense(f"has more than {_MOST_DISKS} disks; no machine has so many.")
        disks.append(disk)


def _disk(drive: Document) -> dict[str, Any]:
    disk: dict[str, Any] = {
        "name": text(drive.get("Name")) or text(drive.get("Id")),
        "size": count(drive.get("CapacityBytes")),
        "vendor": text(drive.get("Manufacturer")),
        "model": text(drive.get("Model")),
        "serial": text(drive.get("SerialNumber")),
    }
    kind = text(drive.get("MediaType"))
    return disk | ({"rotational": kind == "HDD"} if kind else {})


def _device(device: Document) -> dict[str, Any]:
    return {"name": text(device.get("Name")), "size": count(device.get("CapacityBytes"))}


def _sizes(sizes: Iterable[int | None]) -> list[int]:
    return sorted(size for size in sizes if size is not None and size >= _SMALLEST_DISK)


def _local_gb(simple: list[int], full: list[int]) -> int:
    """Return the size of the smallest disk that is large enough for an instance, less one GiB; 0 without one."""
    smallest = [sizes[0] for sizes in (simple, full) if sizes]
    return max(0, min(smallest) // _GIB - 1) if smallest else 0


def _vendor(system: Document) -> dict[str, str]:
    names = {"Model": "product_name", "SerialNumber": "serial_number", "Manufacturer": "manufacturer"}
    found = {name: text(system.get(key)) for key, name in {**names, "UUID": "system_uuid"}.items()}
    return {name: value for name, value in found.items() if value is not None}


def _present(members: Iterable[Document]) -> Iterator[Document]:
    """Return the members that are present and in use, if they report that."""
    return (each for each in members if member(each, "Status", "State") not in ("Absent", "Disabled"))


class RedfishInspect(InspectInterface):
    """Asks the controller; what it does not say is left out."""

    def validate(self, machine: Machine) -> None:
        Target.of(machine)

    def inspect_hardware(self, machine: Machine) -> Finding:
        with documents_of(machine) as documents:
            found = read(documents)
        hooks = [name.strip() for name in machine.settings.redfish.inspection_hooks.split(",")]
        return Finding(found.inventory, {}, found.properties, found.capabilities, _possible(hooks, found))


def _possible(hooks: Sequence[str], found: Hardware) -> tuple[str, ...]:
    """The hooks that have what they need."""
    without: frozenset[str] = frozenset()
    if not found.inventory["interfaces"]:
        without |= _NEED_INTERFACES
    if not found.inventory["cpu"]["architecture"]:
        without |= _NEED_ARCHITECTURE
    if "memory" not in found.inventory:
        without |= _NEED_MEMORY
    return tuple(name for name in hooks if name and name not in without)


log = structlog.get_logger(__name__)

_GIB = 2**30
#: Smaller disks are no place for an instance: virtual media, memory cards.
_SMALLEST_DISK = 4 * _GIB
_MOST_DISKS = 1024

#: Architectures as the kernel calls them.
_ARCHITECTURES = {
    "x86-64": "x86_64",
    "x86": "i686",
    "ARM-A64": "aarch64",
    "ARM-A32": "arm",
    "IA-64": "ia64",
    "MIPS32": "mips",
    "MIPS64": "mips64",
}
_BOOT_MODES = {"UEFI": "uefi", "Legacy": "bios"}
