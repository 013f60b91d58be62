"""The types of interfaces that a node has, and what interfaces may offer: steps and vendor methods."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

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
