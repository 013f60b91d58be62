"""What is known of a step: a method of an interface that cleaning, deploying or servicing is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["clean", "deploy", "service"]

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

    ``abortable``: may a client abort while the machine is at it? ``requires_ramdisk``: does it need an agent on the
    machine? Of steps of cleaning and servicing only.
    """

    interface: str
    step: str
    priority: int = 0
    abortable: bool = False
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    requires_ramdisk: bool = True
