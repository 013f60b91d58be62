"""What an explanation is about: the machines that are looked at, and the conditions on each."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, false

from baremetal_sched.baremetal import availability
from baremetal_sched.baremetal.ownership import Membership
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.compute.host_choice import usable_by
from baremetal_sched.db.models import Node, table_of
from baremetal_sched.scheduling.masks import Condition, Kind
from baremetal_sched.scheduling.reasons import PROVIDER, STOCK, with_provider, with_stock

#: Ids of conditions that are the same whatever is asked for.
AVAILABILITY = "availability:"
CLASS = "class:"
LOCK = f"{AVAILABILITY}lock"
CONDUCTOR = f"{AVAILABILITY}conductor"
CLAIM = f"{AVAILABILITY}allocation in placement"


@dataclass(frozen=True)
class Check:
    """A condition, and the same in SQL: ``holds`` for a row of the question's ``source``."""

    condition: Condition
    holds: ColumnElement[bool]


@dataclass(frozen=True)
class Asker:
    """Who asks. ``project``: nodes of other projects are not there; None: everything is.

    ``named``: the nodes that may be named as examples.
    """

    project: str | None = None
    named: Visibility = EVERYTHING

    def usable(self) -> tuple[ColumnElement[bool], ...]:
        """Return the condition that a node may be used by the project."""
        return () if self.project is None else (usable_by(self.project),)


@dataclass(frozen=True)
class Names:
    """What a request calls by name, for a look at whether there is such a thing.

    ``of_nodes``: the classes are called as nodes have them, not as in placement.
    """

    classes: Collection[str] = ()
    traits: Collection[str] = ()
    of_nodes: bool = False


@dataclass(frozen=True)
class Question:
    """``checks`` of every row of ``source``, which joins nodes, providers and inventories, as far as ``where`` lets.

    ``of_providers``: a row is a provider, and may be no node. ``capabilities``: extra specs whose capabilities a node
    has to have, which no SQL can tell.
    """

    checks: list[Check]
    source: Any
    where: tuple[ColumnElement[bool], ...]
    names: Names = field(default_factory=Names)
    of_providers: bool = False
    capabilities: Mapping[str, str] = field(default_factory=dict)

    @property
    def uuid(self) -> Any:
        """The UUID of a row."""
        return PROVIDER.c.uuid if self.of_providers else Node.uuid

    @property
    def row_id(self) -> Any:
        """The number of a row."""
        return PROVIDER.c.id if self.of_providers else Node.id


def nodes_source() -> Any:
    """Return nodes with their providers and inventories."""
    return with_provider(table_of(Node))


def providers_source(asker: Asker) -> Any:
    """Return providers with the nodes that they mirror, if any; only those that do, for who does not see everything."""
    nodes = table_of(Node)
    return with_stock(PROVIDER.join(nodes, nodes.c.uuid == PROVIDER.c.uuid, isouter=asker.project is None))


def availability_checks() -> list[Check]:
    """Return a check for each condition of the rule of availability."""
    return [Check(of_availability(each.label), each.clause) for each in availability.CONDITIONS]


def of_availability(label: str, *, counts: bool = True) -> Condition:
    """Return the condition that what ``label`` calls does not keep a machine from being given out."""
    return Condition(f"{AVAILABILITY}{label}", f"is not held back by its {label}", Kind.AVAILABILITY, counts=counts)


def lock_check(*, counts: bool) -> Check:
    """Return the check that no conductor is working on the node. A provider that is no node has none."""
    return Check(
        Condition(LOCK, "no conductor is working on it", Kind.AVAILABILITY, counts=counts), Node.reservation.is_(None)
    )


def conductor_check(membership: Membership, *, counts: bool) -> Check:
    """Return the check that a live conductor serves the node. A provider that is no node needs none."""
    condition = Condition(CONDUCTOR, "a live conductor serves it", Kind.SERVICE, counts=counts)
    return Check(condition, Node.id.is_(None) | membership.served())


def claim_check() -> Check:
    """Return the check that nobody has claimed the node in placement.

    NOT claimed AND (i.free = 1 OR the node is held back by something else): each machine fails for its own reason.
    """
    condition = Condition(CLAIM, "is not claimed in placement", Kind.AVAILABILITY)
    claimed = (STOCK.c.used > 0) | PROVIDER.c.holder.is_not(None)
    return Check(condition, claimed.is_not(True) & ((STOCK.c.free == 1) | ~availability.IS_AVAILABLE))


#: What nothing fulfils.
NEVER: ColumnElement[bool] = false()
