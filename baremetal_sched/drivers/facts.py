"""The facts about enabled drivers for processes that load no driver: see ``machines.served_types``."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args

from baremetal_sched.drivers import registry
from baremetal_sched.drivers.enabled import EnabledDrivers
from baremetal_sched.drivers.hardware_type import HardwareType
from baremetal_sched.drivers.steps import steps_of
from baremetal_sched.machines.interface_types import INTERFACE_TYPES, STEP_INTERFACES, StepKind, VendorMethod
from baremetal_sched.machines.served_types import Offer, ServedType


def served_types(enabled: EnabledDrivers) -> list[ServedType]:
    """The enabled hardware types, as a conductor registers them."""
    return [_served(enabled, hardware_type) for hardware_type in enabled.hardware_types]


def _served(enabled: EnabledDrivers, hardware_type: HardwareType) -> ServedType:
    offers = {kind: _offer(enabled, hardware_type, kind) for kind in INTERFACE_TYPES}
    listed = {
        kind: tuple(dict.fromkeys((offer.default, *enabled.supported(hardware_type, kind))))
        for kind, offer in offers.items()
    }
    default_vendor = registry.interface("vendor", offers["vendor"].default)
    facts = {
        "properties": dict(hardware_type.properties),
        "vendor_methods": _methods(default_vendor.driver_methods),
        "interfaces": {
            kind: {name: _facts(kind, registry.interface(kind, name)) for name in offer.supported}
            for kind, offer in offers.items()
        },
    }
    return ServedType(hardware_type.name, listed, offers, facts)


def _offer(enabled: EnabledDrivers, hardware_type: HardwareType, kind: str) -> Offer:
    supported = enabled.supported(hardware_type, kind)
    if hardware_type.accepts_any:
        supported = tuple(dict.fromkeys((*supported, *enabled.interfaces[kind])))
    return Offer(enabled.default(hardware_type, kind), supported, enabled.interfaces[kind])


def _facts(kind: str, interface: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if kind in STEP_INTERFACES:
        facts["steps"] = {
            each: [asdict(step) for step in steps_of(interface, kind, each)] for each in get_args(StepKind)
        }
    if kind == "raid":
        facts["schema"] = interface.get_raid_config_schema()
        facts["logical_disk_properties"] = interface.get_logical_disk_properties()
    if kind == "vendor":
        facts["methods"] = _methods(interface.methods)
    return facts


def _methods(methods: Mapping[str, VendorMethod]) -> dict[str, Any]:
    return {name: asdict(method) for name, method in methods.items()}
