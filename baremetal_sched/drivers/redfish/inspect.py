"""Inspections out of band, by Redfish: the hardware of a machine as its controller reports it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

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
from baremetal_sched.drivers.redfish.driver_info import RedfishInterface
from baremetal_sched.drivers.redfish.transport import Nonsense
from baremetal_sched.machines.machine import Machine, MachineFinding

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
#: The same for controllers that name only a family of processors, by what servers of that family are today, or only
#: the vendor.
_FAMILIES = {"x86": "x86_64", "ARM": "aarch64", "IA-64": "ia64", "Power": "ppc64le"}
_VENDORS = dict.fromkeys(("GenuineIntel", "AuthenticAMD", "HygonGenuine"), "x86_64")
_BOOT_MODES = {"UEFI": "uefi", "Legacy": "bios"}

#: Hooks that would fail without a part of the inventory that not all controllers report, with that part.
_NEEDS = {
    "validate-interfaces": "interfaces",
    "ports": "interfaces",
    "local-link-connection": "interfaces",
    "physical-network": "interfaces",
    "architecture": "architecture",
    "memory": "memory",
}


def read(documents: Documents) -> MachineFinding:
    """Return the hardware that the controller reports.

    Raises sushy's errors, except for missing collections and failures of storage.
    """
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
    capabilities = {} if mode is None else {"boot_mode": mode}
    return MachineFinding(inventory, properties=properties, capabilities=capabilities)


def _cpu(documents: Documents) -> dict[str, Any]:
    """Return a description of all processors, with model and speed of the first one."""
    members = _present(documents.members(documents.find(link(documents.of_system, "Processors"))))
    threads = 0
    first: dict[str, Any] | None = None
    for each in members:
        if each.get("ProcessorType") in ("CPU", None):
            threads += count(each.get("TotalThreads")) or 0
            first = first or _processor(each)
    summary = member(documents.of_system, "ProcessorSummary")
    cpu = {
        "count": threads or count(member(summary, "LogicalProcessorCount")) or 0,
        **(first or {"architecture": ""}),
    }
    cpu["model_name"] = cpu.get("model_name") or text(member(summary, "Model"))
    return {name: value for name, value in cpu.items() if value is not None}


def _processor(document: Document) -> dict[str, Any]:
    return {
        "architecture": _architecture(document),
        "model_name": text(document.get("Model")),
        "frequency": count(document.get("MaxSpeedMHz")) or None,
    }


def _architecture(document: Document) -> str:
    known = (
        _ARCHITECTURES.get(str(document.get("InstructionSet"))),
        _FAMILIES.get(str(document.get("ProcessorArchitecture"))),
        _VENDORS.get(str(member(document, "ProcessorId", "VendorId")).strip()),
    )
    return next((name for name in known if name), "")


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
    """Return the disks, and the node's local_gb according to them. Raises Nonsense if there are too many."""
    drives: list[dict[str, Any]] = []
    volumes: list[int | None] = []
    devices: list[dict[str, Any]] = []
    for storage in documents.members(documents.find(link(documents.of_system, "Storage"))):
        _add(drives, map(_disk, _present(documents.members(storage, "Drives"))))
        members = documents.members(documents.find(link(storage, "Volumes")))
        volumes += [count(each.get("CapacityBytes")) for each in members]
    for storage in documents.members(documents.find(link(documents.of_system, "SimpleStorage"))):
        present = _present(objects(storage.get("Devices")))
        _add(devices, ({"name": text(each.get("Name")), "size": count(each.get("CapacityBytes"))} for each in present))
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


class RedfishInspect(RedfishInterface, InspectInterface):
    """Inspects the machine by its controller; values that are not reported are left out."""

    def inspect_hardware(self, machine: Machine) -> MachineFinding:
        with documents_of(machine) as documents:
            found = read(documents)
        hooks = [name.strip() for name in machine.settings.redfish.inspection_hooks.split(",")]
        return replace(found, hooks=_possible(hooks, found.inventory))


def _possible(hooks: Sequence[str], inventory: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the hooks for which the inventory has the part that they need."""
    reported = {
        "interfaces": bool(inventory["interfaces"]),
        "architecture": bool(inventory["cpu"]["architecture"]),
        "memory": "memory" in inventory,
    }
    return tuple(name for name in hooks if name and (name not in _NEEDS or reported[_NEEDS[name]]))
