"""What every hardware type has."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from baremetal_sched.errors import InvalidValue

#: Interface types, with the first microversion (minor) that shows them.
INTERFACE_TYPES: dict[str, int] = {
    "bios": 40,
    "boot": 31,
    "console": 31,
    "deploy": 31,
    "firmware": 86,
    "inspect": 31,
    "management": 31,
    "network": 20,
    "power": 31,
    "raid": 31,
    "rescue": 38,
    "storage": 33,
    "vendor": 31,
}

#: Every interface that this release has, by type.
ENABLED_INTERFACES: dict[str, tuple[str, ...]] = {
    "bios": ("fake", "no-bios"),
    "boot": ("fake", "ipxe", "pxe"),
    "console": ("fake", "no-console"),
    "deploy": ("direct", "fake", "noop"),
    "firmware": ("fake", "no-firmware"),
    "inspect": ("agent", "fake", "no-inspect"),
    "management": ("fake", "noop"),
    "network": ("noop",),
    "power": ("agent", "fake"),
    "raid": ("agent", "fake", "no-raid"),
    "rescue": ("fake", "no-rescue"),
    "storage": ("fake", "noop"),
    "vendor": ("fake", "no-vendor"),
}


@dataclass(frozen=True)
class HardwareType:
    """A hardware type: its interfaces by type, the default first, and the driver properties that it documents.

    ``accepts_any`` is for a type that takes every enabled interface although it lists only its own.
    """

    name: str
    interfaces: Mapping[str, tuple[str, ...]]
    properties: Mapping[str, str] = field(default_factory=dict)
    accepts_any: bool = False

    def default(self, interface_type: str) -> str:
        """The interface that a node gets if none is named."""
        return self.interfaces[interface_type][0]

    def check(self, interface_type: str, name: str) -> None:
        """Raise InvalidValue if a node of this type cannot have interface ``name``."""
        enabled = ENABLED_INTERFACES[interface_type]
        if name not in enabled:
            raise InvalidValue(
                message=f"Could not find the {interface_type} interface '{name}'. Valid interfaces are {list(enabled)}."
            )
        if not self.accepts_any and name not in self.interfaces[interface_type]:
            raise InvalidValue(
                message=f"{interface_type} interface implementation '{name}' is not supported by hardware type "
                f"{self.name}; it supports {list(self.interfaces[interface_type])}."
            )
