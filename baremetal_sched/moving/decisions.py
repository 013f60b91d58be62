"""The operator's choices, and their effect on rows of the originals that contradict each other."""

from dataclasses import dataclass, field

from baremetal_sched.moving.replacements import Replacements


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
