"""Descriptions of steps: the methods of interfaces that cleaning, deploying or servicing consists of."""

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

    ``abortable``: a client may abort it. ``requires_ramdisk``: it needs an agent on the machine. Both apply to steps of
    cleaning and servicing only.
    """

    interface: str
    step: str
    priority: int = 0
    abortable: bool = False
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    requires_ramdisk: bool = True
