"""What every hardware type has."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class HardwareType:
    """A hardware type: its interfaces by type, the default first, and the driver properties that it documents.

    ``accepts_any`` is for a type that takes every enabled interface although it lists only its own.
    """

    name: str
    interfaces: Mapping[str, tuple[str, ...]]
    properties: Mapping[str, str] = field(default_factory=dict)
    accepts_any: bool = False
