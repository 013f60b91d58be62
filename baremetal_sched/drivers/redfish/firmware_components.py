"""The components of a machine that have firmware, as its controller knows them: BIOS, controller, network adapters."""

from collections.abc import Iterator

from baremetal_sched.drivers.redfish.documents import (
    LONGEST_TEXT,
    Document,
    Documents,
    link,
    links,
    member,
    objects,
    text,
)
from baremetal_sched.machines.machine import Firmware

BIOS, BMC, NIC_PREFIX = "bios", "bmc", "nic:"


def read(documents: Documents) -> dict[str, Firmware]:
    """Return the components that the controller reports, by name. Raises sushy's errors."""
    found = {}
    bios = text(documents.of_system.get("BiosVersion"))
    if bios is not None:
        found[BIOS] = Firmware(bios)
    manager = manager_of(documents)
    version = text(member(manager, "FirmwareVersion"))
    if version is not None:
        found[BMC] = Firmware(version, model=text(member(manager, "Model")))
    for adapter in _adapters(documents):
        _add_adapter(found, adapter)
    return found


def controller_version(documents: Documents) -> str | None:
    """The version of the controller's own firmware; None if it does not say it. Raises sushy's errors."""
    return text(member(manager_of(documents), "FirmwareVersion"))


def manager_of(documents: Documents) -> Document | None:
    """The controller itself; None if it is not listed. Raises sushy's errors."""
    paths = links(documents.of_system, "Links", "ManagedBy")
    if not paths:
        managers = documents.find(link(documents.find(documents.root), "Managers"))
        paths = links(managers, "Members")
    return documents.find(paths[0]) if paths else None


def _adapters(documents: Documents) -> Iterator[Document]:
    chassis = links(documents.of_system, "Links", "Chassis")
    first = documents.find(chassis[0]) if chassis else None
    return documents.members(documents.find(link(first, "NetworkAdapters")))


def _add_adapter(found: dict[str, Firmware], adapter: Document) -> None:
    serial_number = text(adapter.get("SerialNumber"))
    name = serial_number or text(adapter.get("Id"))
    for controller in objects(adapter.get("Controllers")):
        version = text(controller.get("FirmwarePackageVersion"))
        component = f"{NIC_PREFIX}{name}"[:LONGEST_TEXT]
        if name is None or version is None or component.lower() in {known.lower() for known in found}:
            continue  # databases keep no two names that differ in case only
        vendor, model = text(adapter.get("Manufacturer")), text(adapter.get("Model"))
        found[component] = Firmware(version, vendor, model, serial_number)
