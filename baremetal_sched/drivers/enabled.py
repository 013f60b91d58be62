"""The hardware types and interfaces that the settings of a conductor enable."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from baremetal_sched.drivers import registry
from baremetal_sched.drivers.hardware_type import HardwareType
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import INTERFACE_TYPES
from baremetal_sched.settings import Settings

#: Names of interfaces by their type.
Names = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class EnabledDrivers:
    """What a conductor can serve: hardware types, the interfaces of each type of interface (sorted), the defaults that
    the settings name, and the interfaces that were left out, each with the reason."""

    hardware_types: tuple[HardwareType, ...]
    interfaces: Names
    named_defaults: Mapping[str, str]
    left_out: Mapping[str, str]

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """What ``settings`` enable.

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
        """The enabled interfaces of this type that the hardware type lists, the default first."""
        listed = [name for name in hardware_type.interfaces.get(kind, ()) if name in self.interfaces[kind]]
        default = self.named_defaults.get(kind)
        return tuple(sorted(listed, key=lambda name: name != default))

    def default(self, hardware_type: HardwareType, kind: str) -> str:
        """The interface of this type that a node gets if none is named."""
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
        """Why interfaces of this type, which the hardware type lists, were left out."""
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
