"""Conditions on machines.

A condition is written once, and has its readings: in SQL for a row of the question, of a machine that has just become
free, and of a provider within its tree. If two readings differ, the search finds machines that an explanation denies.
``suffix`` is that of the group, where a request has several: ids then name the group.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy import ColumnElement, false, or_, true

from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.matching.free_machine import FreeMachine
from baremetal_sched.baremetal.matching.opening import UNBOOKED, UNHELD, Opening
from baremetal_sched.baremetal.provider import availability
from baremetal_sched.baremetal.provider.availability import STOCK
from baremetal_sched.baremetal.visibility import usable_by
from baremetal_sched.db.models import Node
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider
from baremetal_sched.placement.names import is_scheduler_trait

#: What ids of conditions on classes begin with, and those of conditions between groups.
CLASS = "class:"
ISOLATE = "group_policy:isolate"
SAME_SUBTREE = "same_subtree:"

#: Ids of conditions that are the same for every request.
AVAILABILITY = "availability:"
LOCK = f"{AVAILABILITY}lock"
CONDUCTOR = f"{AVAILABILITY}conductor"
CLAIM = f"{AVAILABILITY}allocation in placement"
PROJECT = f"{AVAILABILITY}project"

#: SQL conditions: that nothing meets, and that everything meets, as databases cannot check it.
NEVER: ColumnElement[bool] = false()
ALWAYS: ColumnElement[bool] = true()

#: Returns the SQL condition that a row has one of the traits.
HasTrait = Callable[[frozenset[str]], ColumnElement[bool]]


class Kind(StrEnum):
    """The subject of a condition: the request, whether a machine is free, or whether a conductor serves it."""

    REQUEST = "request"
    AVAILABILITY = "availability"
    SERVICE = "service"


def _perhaps(machine: FreeMachine) -> bool:
    """Return True: only the search can tell."""
    return True


def _everywhere(anchor: Anchor, now: Provider, free: Provider) -> bool:
    """Return True: it is no condition on providers of trees."""
    return True


@dataclass(frozen=True)
class Condition:
    """A condition, as clients see it, with its readings.

    ``part_of``: the id of the condition of the request on which this one depends. ``counts``: whether a machine that
    fails it is ruled out; otherwise it is only reported. ``failure``: the text about one machine that fails it, and
    about several; None: the opposite of ``text``, which is about a machine that meets it.

    ``few``: so few machines meet it that a search begins with them.

    ``holds``: in SQL, for a row of the question. ``met_by``: for a free machine; False if it certainly fails it.
    ``in_tree``: for a provider in a tree, as it is now and as it would be if everything were free.
    """

    id: str
    text: str
    kind: Kind = Kind.REQUEST
    part_of: str | None = None
    counts: bool = True
    failure: tuple[str, str] | None = None
    few: bool = False
    holds: ColumnElement[bool] = field(default=ALWAYS, compare=False, repr=False)
    met_by: Callable[[FreeMachine], bool] = field(default=_perhaps, compare=False, repr=False)
    in_tree: Callable[[Anchor, Provider, Provider], bool] = field(default=_everywhere, compare=False, repr=False)


# -- conditions of requests --------------------------------------------------------------------------------------------


def of_class(name: str, amount: int, suffix: str = "") -> Condition:
    """Return the condition that a provider could give the amount if all of it were free."""
    failure = (f"has no {name}", f"have no {name}") if amount == 1 else None
    return Condition(f"class{suffix}:{name}", f"can give {amount} of {name}", failure=failure)


def of_free(name: str, amount: int, suffix: str = "") -> Condition:
    """Return the condition that the amount is free now; it is part of that of the class."""
    less = f"no {name} free" if amount == 1 else f"less than {amount} of {name} free"
    return Condition(
        f"availability{suffix}:{name}",
        f"has {amount} of {name} free",
        Kind.AVAILABILITY,
        of_class(name, amount, suffix).id,
        failure=(f"has {less}", f"have {less}"),
    )


def of_traits(traits: frozenset[str], suffix: str = "", *, has: HasTrait | None = None) -> Condition:
    """Return the condition of having one of the traits. ``has`` reads it in SQL."""
    return Condition(
        f"trait{suffix}:{_any_of(traits)}",
        f"has {' or '.join(sorted(traits))}",
        holds=ALWAYS if has is None else has(traits),
        met_by=lambda machine: not traits.isdisjoint(machine.traits),
    )


def of_forbidden(name: str, suffix: str = "", *, has: HasTrait | None = None, own: bool = False) -> Condition:
    """Return the condition of not having the trait. ``own``: the node's, so that of a scheduler does not count."""
    return Condition(
        f"trait{suffix}:!{name}",
        f"does not have {name}",
        holds=ALWAYS if has is None else ~has(frozenset([name])),
        met_by=lambda machine: name not in machine.traits or (own and is_scheduler_trait(name)),
    )


def of_root_traits(traits: frozenset[str]) -> Condition:
    """Return the condition that the root has one of the traits."""
    return Condition(f"root:{_any_of(traits)}", f"the root of its tree has {' or '.join(sorted(traits))}")


def of_root_forbidden(name: str) -> Condition:
    """Return the condition that the root does not have the trait."""
    return Condition(f"root:!{name}", f"the root of its tree does not have {name}")


def of_aggregates(sets: Collection[frozenset[str]], suffix: str = "") -> Condition:
    """Return the condition of being in one aggregate of each set."""
    named = ";".join(map(_any_of, sets))
    return Condition(
        f"aggregate{suffix}:{named}",
        f"is in aggregate {named}",
        met_by=lambda machine: all(not some.isdisjoint(machine.aggregates) for some in sets),
    )


def of_forbidden_aggregate(uuid: str, suffix: str = "") -> Condition:
    """Return the condition of not being in the aggregate."""
    return Condition(
        f"aggregate{suffix}:!{uuid}",
        f"is not in aggregate {uuid}",
        met_by=lambda machine: uuid not in machine.aggregates,
    )


def of_tree(uuid: str, suffix: str = "") -> Condition:
    """Return the condition of being in the tree of the provider."""
    return Condition(f"tree{suffix}:{uuid}", f"is in the tree of {uuid}")


def of_capability(name: str, value: str) -> Condition:
    """Return the condition that a node has the capability with this value."""
    return Condition(f"capability:{name}={value}", f"has the capability {name}={value}")


def of_subtree(suffixes: Iterable[str]) -> Condition:
    """Return the condition that the providers of the request groups are in one subtree."""
    named = ",".join(sorted(suffixes))
    return Condition(f"{SAME_SUBTREE}{named}", f"the provider of one of the request groups {named} is above the others")


def _any_of(names: frozenset[str]) -> str:
    return next(iter(names)) if len(names) == 1 else f"in:{','.join(sorted(names))}"


# -- conditions on nodes ----------------------------------------------------------------------------------------------


def of_node_class(name: str) -> Condition:
    """Return the condition on the class of a node, as nodes have it."""
    return Condition(
        f"{CLASS}{name}",
        f"is of resource class {name}",
        holds=Node.resource_class == name,
        met_by=lambda machine: machine.resource_class == name,
    )


def of_zone(group: str) -> Condition:
    """Return the condition on the conductor group of a node, which users know as an availability zone."""
    return Condition(
        "zone",
        "is in the availability zone",
        failure=("is in another availability zone", "are in other availability zones"),
        holds=Node.conductor_group == group,
        met_by=lambda machine: machine.conductor_group == group,
    )


def of_node(uuid: str) -> Condition:
    """Return the condition of being the node that the request names."""
    return Condition(
        "node",
        "is the requested node",
        failure=("is not the requested node", "are not the requested node"),
        holds=Node.uuid == uuid,
        met_by=lambda machine: machine.uuid == uuid,
    )


def of_untried(tried: Collection[str]) -> Condition:
    """Return the condition that the deployment did not fail on the node already."""
    return Condition(
        "tried",
        "did not fail to deploy this server",
        holds=Node.uuid.not_in(tried),
        met_by=lambda machine: machine.uuid not in tried,
    )


def of_candidates(uuids: Collection[str]) -> Condition:
    """Return the condition of being one of the nodes that the request accepts."""
    return Condition(
        "candidate_nodes",
        "is one of the candidate nodes",
        failure=("is not one of the candidate nodes", "are not among the candidate nodes"),
        holds=Node.uuid.in_(uuids),
        met_by=lambda machine: machine.uuid in uuids,
    )


def of_owner(owner: str) -> Condition:
    """Return the condition that the project owns or leases the node."""
    return Condition(
        "owner",
        "has the owner that was asked for",
        failure=("belongs to another project or to no project", "belong to other projects or to no project"),
        holds=or_(Node.owner == owner, Node.lessee == owner),
        met_by=lambda machine: owner in (machine.owner, machine.lessee),
    )


def of_project(project: str) -> Condition:
    """Return the condition that the project may use the node."""
    return Condition(
        PROJECT,
        "may be used by the project",
        Kind.AVAILABILITY,
        holds=usable_by(project),
        met_by=lambda machine: (machine.lessee or machine.owner) in (None, project),
    )


# -- whether a machine is free, and served -----------------------------------------------------------------------------


def availability_conditions(opening: Opening | None = None) -> list[Condition]:
    """Return a condition for each part of the rule of availability, and those of planned holds and bookings: what they
    leave to a request with this ``opening``; None: to everybody."""
    rule = [_free(each.label, f"is not held back by its {each.label}", each.failure, each.clause) for each in _ORDERED]
    return [*rule, *opened(opening)]


#: A machine that is in use is reported as such: its state says less.
_ORDERED = sorted(availability.CONDITIONS, key=lambda each: each.label != "instance")


def available(opening: Opening) -> list[ColumnElement[bool]]:
    """Return what ``availability_conditions`` mean, for a search."""
    return [*(each.clause for each in _ORDERED), *opening.clauses()]


def opened(opening: Opening | None = None) -> list[Condition]:
    """Return the conditions of planned holds and bookings alone."""
    failure = ("is kept free for a planned hold", "are kept free for planned holds")
    is_unheld = UNHELD if opening is None else opening.is_unheld()
    conditions = [
        _free(availability.PLANNED, "is not kept free for a planned hold", failure, is_unheld),
        _of_bookings(opening),
    ]
    stays = None if opening is None else opening.stays_open()
    if stays is not None:
        before = ("has a hold planned before the end", "have holds planned before the end")
        conditions.append(_free("planned hold before the end", "no hold is planned before the end", before, stays))
    return conditions


def _of_bookings(opening: Opening | None) -> Condition:
    if opening is None or opening.own.booking is None:
        is_unbooked = UNBOOKED if opening is None else opening.is_unbooked()
        return _free(availability.BOOKED, "is not booked", ("is booked", "are booked"), is_unbooked)
    failure = ("is not a machine of the booking now", "are not machines of the booking now")
    return _free(availability.BOOKED, "is a machine of the booking now", failure, opening.is_unbooked())


def _free(label: str, text: str, failure: tuple[str, str], holds: ColumnElement[bool]) -> Condition:
    return Condition(f"{AVAILABILITY}{label}", text, Kind.AVAILABILITY, failure=failure, holds=holds)


def of_lock(*, counts: bool) -> Condition:
    """Return the condition that no conductor is working on the node. A provider that is no node has none."""
    return Condition(
        LOCK,
        "no conductor is working on it",
        Kind.AVAILABILITY,
        counts=counts,
        failure=("is being worked on by a conductor", "are being worked on by conductors"),
        holds=Node.reservation.is_(None),
    )


def of_conductor(membership: Membership, *, counts: bool) -> Condition:
    """Return the condition that a live conductor serves the node. A provider that is no node needs none."""
    return Condition(
        CONDUCTOR,
        "a live conductor serves it",
        Kind.SERVICE,
        counts=counts,
        failure=("has no live conductor", "have no live conductor"),
        holds=Node.id.is_(None) | membership.served(),
    )


def of_claim() -> Condition:
    """Return the condition that the node is not claimed in placement.

    NOT claimed AND (i.free = 1 OR the node is held back by something else): each machine fails for its own reason.
    """
    return Condition(
        CLAIM,
        "is not claimed in placement",
        Kind.AVAILABILITY,
        failure=("is claimed through placement", "are claimed through placement"),
        holds=availability.IS_CLAIMED.is_not(True) & ((STOCK.c.free == 1) | ~availability.IS_AVAILABLE),
    )
