"""What is in a machine, as its controller says it, in the words of an inventory of Ironic's agent."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import structlog
from sushy import exceptions

from baremetal_sched.baremetal.identifiers import canonical_mac
from baremetal_sched.drivers.redfish.documents import Document, Documents, count, link, links, member, objects, text

log = structlog.get_logger(__name__)

_GIB = 2**30
#: Smaller disks are no place for an instance: virtual media, memory cards.
_SMALLEST_DISK = 4 * _GIB

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


@dataclass(frozen=True)
class Hardware:
    """An inventory, and what the node's properties and capabilities are by it."""

    inventory: dict[str, Any]
    properties: dict[str, Any]
    capabilities: dict[str, str]


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
    members = _present(documents.members(documents.find(link(documents.of_system, "Processors"))))
    processors = [each for each in members if each.get("ProcessorType") in ("CPU", None)]
    summary = member(documents.of_system, "ProcessorSummary")
    threads = sum(count(each.get("TotalThreads")) or 0 for each in processors)
    first: Document = processors[0] if processors else {}
    cpu: dict[str, Any] = {
        "count": threads or count(member(summary, "LogicalProcessorCount")) or 0,
        "architecture": _ARCHITECTURES.get(str(first.get("InstructionSet")), ""),
    }
    model = text(first.get("Model")) or text(member(summary, "Model"))
    speed = count(first.get("MaxSpeedMHz"))
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
    """The disks, and the size that a node has by them."""
    storages = documents.members(documents.find(link(documents.of_system, "Storage")))
    simple = documents.members(documents.find(link(documents.of_system, "SimpleStorage")))
    drives = [drive for storage in storages for drive in _present(_drives(documents, storage))]
    devices = [device for storage in simple for device in _present(objects(storage.get("Devices")))]
    disks = [_disk(each) for each in drives] or [_device(each) for each in devices]
    return disks, _local_gb(_sizes(devices), _sizes(_volumes(documents, storages)) or _sizes(drives))


def _drives(documents: Documents, storage: Document) -> list[Document]:
    found = (documents.find(path) for path in links(storage, "Drives"))
    return [drive for drive in found if drive is not None]


def _volumes(documents: Documents, storages: Iterable[Document]) -> list[Document]:
    return [volume for each in storages for volume in documents.members(documents.find(link(each, "Volumes")))]


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


def _sizes(disks: Iterable[Document]) -> list[int]:
    sizes = (count(disk.get("CapacityBytes")) or 0 for disk in disks)
    return sorted(size for size in sizes if size >= _SMALLEST_DISK)


def _local_gb(simple: list[int], full: list[int]) -> int:
    """Return the size of the smallest disk that is large enough for an instance, less one GiB; 0 without one."""
    smallest = [sizes[0] for sizes in (simple, full) if sizes]
    return max(0, min(smallest) // _GIB - 1) if smallest else 0


def _vendor(system: Document) -> dict[str, str]:
    names = {"Model": "product_name", "SerialNumber": "serial_number", "Manufacturer": "manufacturer"}
    found = {name: text(system.get(key)) for key, name in {**names, "UUID": "system_uuid"}.items()}
    return {name: value for name, value in found.items() if value is not None}


def _present(members: Iterable[Document]) -> list[Document]:
    """Return the members that are present and in use, if they report that."""
    return [each for each in members if member(each, "Status", "State") not in ("Absent", "Disabled")]
