"""Types of interfaces, what these may offer, and hardware types as conductors register them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from baremetal_sched.errors import InvalidValue
from baremetal_sched.options import hardware

#: The first microversion (minor) that shows interfaces of nodes, unless they came later.
_SINCE = 31
_OTHERS_SINCE = {"network": 20, "storage": 33, "rescue": 38, "bios": 40, "firmware": 86}

#: Interface types, with the first microversion (minor) that shows them.
INTERFACE_TYPES: dict[str, int] = {kind: _OTHERS_SINCE.get(kind, _SINCE) for kind in hardware.INTERFACE_TYPES}

#: The operations that consist of steps, which are methods of interfaces.
StepKind = Literal["clean", "deploy", "service"]

#: Interfaces whose methods may be steps; of steps with the same priority, the one of the first comes first.
STEP_INTERFACES = ("vendor", "power", "management", "firmware", "deploy", "bios", "raid")


@dataclass(frozen=True)
class Argument:
    """An argument of a step."""

    description: str
    required: bool = False


@dataclass(frozen=True)
class Step:
    """A step that an interface has.

    ``abortable``: a client may abort it. ``requires_ramdisk``: it needs an agent on the machine. Both apply to steps of
    cleaning and servicing only.
    """

    interface: str
    step: str
    priority: int = 0
    abortable: bool = False
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    requires_ramdisk: bool = True


@dataclass(frozen=True)
class VendorMethod:
    """A method that only some hardware has. An ``asynchronous`` one is called by a conductor, after the answer."""

    description: str
    http_methods: tuple[str, ...] = ("POST",)
    asynchronous: bool = True
    require_exclusive_lock: bool = True


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
