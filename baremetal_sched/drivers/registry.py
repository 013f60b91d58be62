"""Hardware types and interfaces, found by their entry points."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from baremetal_sched.errors import InvalidValue

HARDWARE_TYPES, INTERFACES = "baremetal_sched.hardware_types", "baremetal_sched.hardware_interfaces"

#: The interfaces that are in use, by type and name: one object each, for all machines.
LOADED: dict[tuple[str, str], Any] = {}


def hardware_type_names() -> list[str]:
    """The names of all hardware types that are installed, sorted."""
    return sorted(_entry_points(HARDWARE_TYPES))


def interface_names(interface_type: str) -> frozenset[str]:
    """Return the names of all interfaces of this type that are installed."""
    prefix = f"{interface_type}."
    return frozenset(name.removeprefix(prefix) for name in _entry_points(INTERFACES) if name.startswith(prefix))


@cache
def hardware_type(name: str) -> "HardwareType":
    """The hardware type of this name. Raises InvalidValue if it is not installed or cannot be loaded."""
    found: HardwareType = _load(HARDWARE_TYPES, name, f"hardware type '{name}'")
    return found


def loaded(interface_type: str) -> dict[str, Any]:
    """Return the enabled interfaces of this type by name: a conductor loads them when it starts."""
    return {name: interface for (kind, name), interface in LOADED.copy().items() if kind == interface_type}


def interface(interface_type: str, name: str) -> Any:
    """The interface of this type and name. Raises InvalidValue if it is not installed or cannot be loaded."""
    found = LOADED.get((interface_type, name))
    if found is None:
        kind = _load(INTERFACES, f"{interface_type}.{name}", f"{interface_type} interface '{name}'")
        found = LOADED.setdefault((interface_type, name), kind())
    return found


@cache
def _entry_points(group: str) -> dict[str, EntryPoint]:
    by_name: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        if by_name.setdefault(entry.name, entry).value != entry.value:
            raise InvalidValue(
                message=f"Two installed packages have the entry point '{entry.name}' of {group}: "
                f"{_package(by_name[entry.name])} and {_package(entry)}. Remove one of them."
            )
    return by_name


def _load(group: str, name: str, what: str) -> Any:
    entry = _entry_points(group).get(name)
    if entry is None:
        raise InvalidValue(message=f"No installed package provides {what}.")
    try:
        return entry.load()
    except Exception as error:  # a package of others may fail in any way
        raise InvalidValue(message=f"The {what} cannot be loaded: {error!r}.{_remedy(entry)}") from error


def _remedy(entry: EntryPoint) -> str:
    """The extras to install, if the entry point names some of its package."""
    return f" Install '{_package(entry)}[{','.join(entry.extras)}]', which has what it needs." if entry.extras else ""


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value


@dataclass(frozen=True)
class HardwareType:
    """A hardware type: its interfaces by type, the default first, and the driver properties that it documents.

    ``accepts_any`` is for a type that takes every enabled interface although it lists only its own.
    """

    name: str
    interfaces: Mapping[str, tuple[str, ...]]
    properties: Mapping[str, str] = field(default_factory=dict)
    accepts_any: bool = False
