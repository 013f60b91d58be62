"""The enabled hardware types and interfaces of a conductor, and their facts for processes that load no driver."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self, get_args

from baremetal_sched.drivers import registry
from baremetal_sched.drivers.registry import HardwareType
from baremetal_sched.drivers.steps import steps_of
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import (
    INTERFACE_TYPES,
    STEP_INTERFACES,
    Offer,
    ServedType,
    StepKind,
    VendorMethod,
)
from baremetal_sched.settings import Settings

#: Names of interfaces by their type.
Names = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class EnabledDrivers:
    """The drivers that a conductor can serve: hardware types, the interfaces of each type of interface (sorted), the
    defaults that the settings name, and the interfaces that were left out, each with the reason."""

    hardware_types: tuple[HardwareType, ...]
    interfaces: Names
    named_defaults: Mapping[str, str]
    left_out: Mapping[str, str]

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The drivers that ``settings`` enable.

        Raises InvalidValue if something that they name cannot be loaded, if a default does not suit a hardware type, or
        if a hardware type is left without an interface of some type.
        """
        hardware_types = _load_hardware_types(settings)
        interfaces: dict[str, tuple[str, ...]] = {}
        left_out: dict[str, str] = {}
        for kind in INTERFACE_TYPES:
            named = getattr(settings, f"enabled_{kind}_interfaces")
            if named is None:
                interfaces[kind] = _loadable(kind, hardware_types, left_out)
            else:
                interfaces[kind] = _loaded(kind, named)
        defaults = {kind: getattr(settings, f"default_{kind}_interface") for kind in INTERFACE_TYPES}
        named_defaults = {kind: name for kind, name in defaults.items() if name is not None}
        enabled = cls(hardware_types, interfaces, named_defaults, left_out)
        for hardware_type in hardware_types:
            for kind in INTERFACE_TYPES:
                enabled._check(hardware_type, kind)
        return enabled

    def supported(self, hardware_type: HardwareType, kind: str) -> tuple[str, ...]:
        """Return the enabled interfaces of this type that the hardware type lists, the default first."""
        listed = [name for name in hardware_type.interfaces.get(kind, ()) if name in self.interfaces[kind]]
        default = self.named_defaults.get(kind)
        return tuple(sorted(listed, key=lambda name: name != default))

    def default(self, hardware_type: HardwareType, kind: str) -> str:
        """Return the interface of this type that a node gets if its client names none."""
        return self.named_defaults.get(kind) or self.supported(hardware_type, kind)[0]

    def _check(self, hardware_type: HardwareType, kind: str) -> None:
        supported, default = self.supported(hardware_type, kind), self.named_defaults.get(kind)
        if default is not None and default not in (self.interfaces[kind] if hardware_type.accepts_any else supported):
            raise InvalidValue(
                message=f"default_{kind}_interface is '{default}', which hardware type {hardware_type.name} does not "
                f"support or which is not enabled; it may be one of {list(supported)}."
            )
        if not supported:
            raise InvalidValue(
                message=f"No {kind} interface of hardware type {hardware_type.name} is enabled. It supports "
                f"{list(hardware_type.interfaces.get(kind, ()))}; enabled_{kind}_interfaces are "
                f"{list(self.interfaces[kind])}.{self._reasons(hardware_type, kind)}"
            )

    def _reasons(self, hardware_type: HardwareType, kind: str) -> str:
        """Return why interfaces of this type, which the hardware type lists, were left out."""
        listed = [f"{kind}.{name}" for name in hardware_type.interfaces.get(kind, ())]
        return "".join(f" {self.left_out[name]}" for name in listed if name in self.left_out)


def _load_hardware_types(settings: Settings) -> tuple[HardwareType, ...]:
    names = list(dict.fromkeys(settings.enabled_hardware_types))
    known = registry.hardware_type_names()
    unknown = sorted(set(names) - set(known))
    if unknown or not names:
        raise InvalidValue(
            message=f"Unknown hardware types: {', '.join(unknown) or '(none given)'}. "
            f"Installed are: {', '.join(known)}."
        )
    return tuple(registry.hardware_type(name) for name in names)


def _loadable(kind: str, hardware_types: tuple[HardwareType, ...], left_out: dict[str, str]) -> tuple[str, ...]:
    """Return the interfaces that the hardware types list and that can be loaded."""
    found = []
    for name in sorted({name for hardware_type in hardware_types for name in hardware_type.interfaces.get(kind, ())}):
        try:
            registry.interface(kind, name)
        except InvalidValue as error:
            left_out[f"{kind}.{name}"] = str(error)
        else:
            found.append(name)
    return tuple(found)


def _loaded(kind: str, named: list[str]) -> tuple[str, ...]:
    for name in named:
        try:
            registry.interface(kind, name)
        except InvalidValue as error:
            raise InvalidValue(message=f"enabled_{kind}_interfaces names '{name}'. {error}") from error
    return tuple(sorted(set(named)))


def served_types(enabled: EnabledDrivers) -> list[ServedType]:
    """Return the enabled hardware types as a conductor registers them."""
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
