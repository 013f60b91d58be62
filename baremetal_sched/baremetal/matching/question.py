"""What an explanation is about: the machines that are looked at, and the conditions on each."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, and_, false
from sqlalchemy.sql.visitors import iterate

from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.matching.conditions import Condition, Kind
from baremetal_sched.baremetal.provider import availability
from baremetal_sched.baremetal.provider.availability import PROVIDER, STOCK, with_provider, with_stock
from baremetal_sched.db.models import Node, table_of
from baremetal_sched.placement.candidates.request.query import CandidateRequest

#: Ids of conditions that are the same whatever is asked for.
AVAILABILITY = "availability:"
LOCK = f"{AVAILABILITY}lock"
CONDUCTOR = f"{AVAILABILITY}conductor"
CLAIM = f"{AVAILABILITY}allocation in placement"
PROJECT = f"{AVAILABILITY}project"


@dataclass(frozen=True)
class Check:
    """A condition, and the same in SQL: ``holds`` for a row of the question's ``source``."""

    condition: Condition
    holds: ColumnElement[bool]


@dataclass(frozen=True)
class Names:
    """What a request calls by name, for a look at whether there is such a thing.

    ``of_nodes``: the classes are called as nodes have them, not as in placement.
    """

    classes: Collection[str] = ()
    traits: Collection[str] = ()
    of_nodes: bool = False


def names_of(request: CandidateRequest) -> Names:
    """Return the classes and traits that the request names, sorted."""
    groups = request.groups.values()
    classes = {name for group in groups for name in group.resources}
    traits = request.root_required.names().union(*(group.traits.names() for group in groups))
    return Names(sorted(classes), sorted(traits))


@dataclass(frozen=True)
class Scope:
    """The rows that are looked at where there are too many for all: where ``holds``.

    All others fail the conditions with the ids ``others_fail``, of which the first is what the scope is called.
    ``row_id`` is that of a row, in the table that is read first; ``count`` counts the rows, and may count too many.
    """

    others_fail: tuple[str, ...]
    holds: ColumnElement[bool]
    row_id: Any
    count: Select[Any]

    @property
    def name(self) -> str:
        """The id of the condition that all others fail."""
        return self.others_fail[0]


@dataclass(frozen=True)
class Question:
    """``checks`` of every row of ``source``, which joins nodes, providers and inventories, if it meets ``where``.

    ``of_providers``: a row is a provider, which need not be a node. ``capabilities``: extra specs whose capabilities a
    node must have, which SQL cannot compare. ``told``: the machines whose classes and traits may be disclosed;
    None: the ones that meet ``where``.
    """

    checks: list[Check]
    source: Any
    where: tuple[ColumnElement[bool], ...]
    names: Names = field(default_factory=Names)
    of_providers: bool = False
    capabilities: Mapping[str, str] = field(default_factory=dict)
    scope: Scope | None = None
    told: tuple[ColumnElement[bool], ...] | None = None

    @property
    def counted(self) -> Any:
        """What has each row once, and all that ``where`` needs: less than ``source``."""
        if self.of_providers and not self.where:
            return PROVIDER
        tables = {each.table.name for clause in self.where for each in iterate(clause) if isinstance(each, Column)}
        return table_of(Node) if tables <= {Node.__tablename__} else self.source

    @property
    def uuid(self) -> Any:
        """The UUID of a row."""
        return PROVIDER.c.uuid if self.of_providers else Node.uuid

    @property
    def row_id(self) -> Any:
        """The number of a row."""
        return PROVIDER.c.id if self.of_providers else Node.id

    def about(self, uuid: str) -> "Question":
        """Return the same question about the one row with this UUID, whatever is asked about else.

        Whether the question would have been about it is the first condition then.
        """
        condition = Condition(PROJECT, "may be used by the project", Kind.AVAILABILITY)
        first = [Check(condition, and_(*self.where))] if self.where else []
        return replace(self, checks=[*first, *self.checks], where=(self.uuid == uuid,), told=self.where)


def nodes_source() -> Any:
    """Return nodes with their providers and inventories."""
    return with_provider(table_of(Node))


def providers_source(*, nodes_only: bool) -> Any:
    """Return providers with the nodes that they mirror, if any; ``nodes_only``: only providers of nodes."""
    nodes = table_of(Node)
    return with_stock(PROVIDER.join(nodes, nodes.c.uuid == PROVIDER.c.uuid, isouter=not nodes_only))


def availability_checks() -> list[Check]:
    """Return a check for each condition of the rule of availability, and one for planned holds."""
    # That a machine is in use says more than the state that it is in then.
    ordered = sorted(availability.CONDITIONS, key=lambda each: each.label != "instance")
    checks = [Check(_of_availability(each), each.clause) for each in ordered]
    failure = ("is kept free for a planned hold", "are kept free for planned holds")
    planned = Condition(
        f"{AVAILABILITY}{availability.PLANNED}",
        "is not kept free for a planned hold",
        Kind.AVAILABILITY,
        failure=failure,
    )
    return [*checks, Check(planned, availability.IS_OPEN)]


def _of_availability(rule: availability.AvailabilityCondition) -> Condition:
    """The condition that what the rule is about does not keep a machine from being given out."""
    text = f"is not held back by its {rule.label}"
    return Condition(f"{AVAILABILITY}{rule.label}", text, Kind.AVAILABILITY, failure=rule.failure)


def lock_check(*, counts: bool) -> Check:
    """Return the check that no conductor is working on the node. A provider that is no node has none."""
    failure = ("is being worked on by a conductor", "are being worked on by conductors")
    condition = Condition(LOCK, "no conductor is working on it", Kind.AVAILABILITY, counts=counts, failure=failure)
    return Check(condition, Node.reservation.is_(None))


def conductor_check(membership: Membership, *, counts: bool) -> Check:
    """Return the check that a live conductor serves the node. A provider that is no node needs none."""
    failure = ("has no live conductor", "have no live conductor")
    condition = Condition(CONDUCTOR, "a live conductor serves it", Kind.SERVICE, counts=counts, failure=failure)
    return Check(condition, Node.id.is_(None) | membership.served())


def claim_check() -> Check:
    """Return the check that the node is not claimed in placement.

    NOT claimed AND (i.free = 1 OR the node is held back by something else): each machine fails for its own reason.
    """
    failure = ("is claimed through placement", "are claimed through placement")
    condition = Condition(CLAIM, "is not claimed in placement", Kind.AVAILABILITY, failure=failure)
    return Check(condition, availability.IS_CLAIMED.is_not(True) & ((STOCK.c.free == 1) | ~availability.IS_AVAILABLE))


#: What nothing fulfils.
NEVER: ColumnElement[bool] = false()
