"""The tree that comes closest to a request, and what keeps it from fitting."""

from collections.abc import Sequence
from dataclasses import dataclass

from baremetal_sched.baremetal.matching.masks import Condition
from baremetal_sched.scheduling.forest.loading import uuid_of
from baremetal_sched.scheduling.forest.looks import Look
from baremetal_sched.scheduling.forest.parts import Part


@dataclass(frozen=True)
class ServedPart:
    """A part in the closest tree: the provider (UUID) that is closest to it, and which conditions it fails, if any."""

    parameter: str
    provider: str | None
    failing: list[Condition]


@dataclass(frozen=True)
class ClosestTree:
    """The tree in which most parts are served, each by itself; of several, where the fewest conditions fail, and of
    these the one whose root has the least UUID. ``trees``: how many look the same to the request.

    ``constraints``: what between the groups is in the way where each part is served. UUIDs are None where they may not
    be named.
    """

    root: str | None
    trees: int
    parts: list[ServedPart]
    constraints: list[Condition]


def closest(parts: Sequence[Part], looks: Sequence[Look], named: frozenset[str] | None) -> ClosestTree | None:
    """Return the closest tree of ``looks``; None if there is no tree. ``named``: UUIDs of the roots of trees whose
    providers may be named; None: all may."""
    if not looks:
        return None
    look = min(looks, key=lambda each: each.rank)
    shape = look.shape
    is_named = named is None or shape.uuid in named

    def name(place: int) -> str | None:
        # A sharing provider is of another tree.
        return uuid_of(shape.lines[place]) if named is None or (is_named and place < len(shape.now.local)) else None

    served = [
        ServedPart(part.parameter, name(nearest.place), nearest.failing)
        for part, nearest in zip(parts, look.nearest, strict=True)
    ]
    return ClosestTree(shape.uuid if is_named else None, len(shape.trees), served, look.constraints)
