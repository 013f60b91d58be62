"""The operator's choices: replacements of drivers and interfaces of Ironic that have no place here, and the effect of
others on rows of the originals that contradict each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from baremetal_sched.drivers import registry
from baremetal_sched.drivers.registry import HardwareType
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import INTERFACE_TYPES

#: Of hardware types, and of interfaces of any type.
_NEAREST: Mapping[str, str] = {
    "idrac": "redfish",
    "idrac-redfish": "redfish",
    "idrac-redfish-virtual-media": "redfish-virtual-media",
    "idrac-wsman": "redfish",
    "ilo": "redfish",
    "ilo5": "redfish",
    "irmc": "redfish",
    "snmp": "manual-management",
    "ilo-virtual-media": "redfish-virtual-media",
    "ilo-uefi-https": "redfish-virtual-media",
    "irmc-virtual-media": "redfish-virtual-media",
    "redfish-https": "redfish-virtual-media",
    "http": "pxe",
    "http-ipxe": "ipxe",
    "ilo-ipxe": "ipxe",
    "ilo-pxe": "pxe",
    "irmc-pxe": "pxe",
    "ansible": "direct",
    "bootc": "direct",
    "anaconda": "direct",
    "inspector": "agent",
    "flat": "noop",
    "neutron": "noop",
    "ironic-networking": "noop",
    "cinder": "noop",
    "external": "noop",
    "ipmitool-shellinabox": "no-console",
    "ipmitool-socat": "no-console",
    "redfish-graphical": "no-console",
    "fake-graphical": "no-console",
}


#: What a hardware type is called beside the types of interfaces.
DRIVER = "driver"


class Replacements:
    """The replacements that the operator chose: names of hardware types and interfaces, by the names in Ironic.

    A replacement is for everything of that name, or only for interfaces of one type: ``raid.idrac-redfish``.
    """

    def __init__(self, chosen: Mapping[str, str]) -> None:
        self._chosen = chosen

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Replacements":
        """Return the replacements that ``--replace-interface OLD=NEW`` names. Raises InvalidValue."""
        chosen = {}
        for text in texts:
            old, _, new = text.partition("=")
            if not old or not new:
                raise InvalidValue(
                    message=f"--replace-interface {text}: give OLD=NEW, such as idrac=redfish, or for one type of "
                    "interfaces TYPE.OLD=NEW, such as raid.idrac-redfish=no-raid."
                )
            if not _exists(new):
                raise InvalidValue(
                    message=f"--replace-interface {text}: no installed package has a hardware type or an interface "
                    f"'{new}'."
                )
            chosen[old] = new
        return cls(chosen)

    def name(self, kind: str, name: str | None) -> str | None:
        """Return the replacement of a hardware type (``kind`` is DRIVER) or an interface of type ``kind``."""
        if name is None:
            return None
        return self._chosen.get(f"{kind}.{name}", self._chosen.get(name, name))


def _exists(name: str) -> bool:
    return name in registry.hardware_type_names() or any(name in registry.interface_names(k) for k in INTERFACE_TYPES)


@cache
def driver_problem(name: str) -> str:
    """Return the complaint about a hardware type; empty if it has a place here."""
    return "" if name in registry.hardware_type_names() else f"there is no hardware type '{name}' here"


def driver_remedy(name: str) -> str:
    """Return what can take its place."""
    return f"Use --replace-interface {DRIVER}.{name}={_NEAREST.get(name, 'redfish')}, or install its driver."


@cache
def interface_problem(driver: str, kind: str, name: str | None) -> str:
    """Return the complaint about an interface of a hardware type that exists; empty if it fits."""
    if name is None:
        return ""
    if name not in registry.interface_names(kind):
        return f"there is no {kind} interface '{name}' here"
    served = _type_of(driver)
    if served is None or served.accepts_any or name in served.interfaces.get(kind, ()):
        return ""
    return f"hardware type '{driver}' does not support the {kind} interface '{name}'"


def interface_remedy(driver: str, kind: str, name: str) -> str:
    """Return what can take its place."""
    served = _type_of(driver)
    possible = served.interfaces.get(kind, ()) if served else ()
    nearest = _NEAREST.get(name)
    if nearest not in possible and possible:
        nearest = possible[-1]
    return f"Use --replace-interface {kind}.{name}={nearest or 'another'}, or install its driver."


def _type_of(driver: str) -> HardwareType | None:
    try:
        return registry.hardware_type(driver)
    except InvalidValue:  # it cannot be loaded here; a conductor says why
        return None


@dataclass(frozen=True)
class Choices:
    """The options of an import that change its result. ``in_flight_failed``: work in flight counts as failed."""

    replacements: Replacements
    in_flight_failed: bool = False


@dataclass
class ImportDecisions:
    """The effect of adopted findings on rows of Placement; ids are Placement's.

    ``collapsed``: providers of nodes whose claims become one of the node's class. ``evicted``: claims that are left
    out: UUID of the consumer, and id of the root of the tree. ``orphans``: ids of allocations that are left out.
    ``rooted``: providers that become roots. ``changed``: UUIDs of rows that changed while Ironic was read.
    """

    collapsed: set[int] = field(default_factory=set)
    evicted: set[tuple[str, int]] = field(default_factory=set)
    orphans: set[int] = field(default_factory=set)
    rooted: set[int] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
