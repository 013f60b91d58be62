"""Hardware types as conductors register them, so that the API needs no driver to answer."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from baremetal_sched.errors import InvalidValue


@dataclass(frozen=True)
class Offer:
    """The interfaces of one type that a node of some hardware type may have.

    ``supported``: interfaces that suit the hardware type, the default first. ``enabled``: all that the conductors have.
    """

    default: str
    supported: tuple[str, ...]
    enabled: tuple[str, ...]

    def check(self, hardware_type: str, interface_type: str, name: str) -> None:
        """Raise InvalidValue if a node of ``hardware_type`` cannot have the interface ``name`` of this type."""
        if name not in self.enabled:
            raise InvalidValue(
                message=f"Could not find the {interface_type} interface '{name}'. "
                f"Valid interfaces are {list(self.enabled)}."
            )
        if name not in self.supported:
            raise InvalidValue(
                message=f"{interface_type} interface implementation '{name}' is not supported by hardware type "
                f"{hardware_type}; it supports {list(self.supported)}."
            )


@dataclass(frozen=True)
class ServedType:
    """A hardware type as a conductor registers it: the interfaces that lists of drivers show, the default first; what
    nodes may have; and the facts about the type itself and its interfaces, which are JSON."""

    name: str
    listed: Mapping[str, tuple[str, ...]]
    offers: Mapping[str, Offer]
    facts: Mapping[str, Any]

    def offers_document(self) -> dict[str, Any]:
        """``offers`` as they are kept."""
        return {interface_type: asdict(offer) for interface_type, offer in self.offers.items()}
