"""The question which machines can be chosen: the rows that are looked at, and the conditions on each; what a query of
placement says of the machine; the conditions of such a query, one by one, and the query without some of them."""

import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, and_, true
from sqlalchemy.orm import Session
from sqlalchemy.sql.visitors import iterate

from baremetal_sched.baremetal.matching import free_machine
from baremetal_sched.baremetal.matching.capabilities import required_capabilities, unmet_capabilities
from baremetal_sched.baremetal.matching.conditions import (
    ISOLATE,
    PROJECT,
    Condition,
    Kind,
    of_aggregates,
    of_class,
    of_forbidden,
    of_forbidden_aggregate,
    of_root_forbidden,
    of_root_traits,
    of_subtree,
    of_traits,
    of_tree,
)
from baremetal_sched.baremetal.provider.availability import PROVIDER, with_provider, with_stock
from baremetal_sched.db.models import Node, table_of
from baremetal_sched.errors.scheduling import CannotWait
from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.candidates.request.resolve import names_places
from baremetal_sched.placement.names import is_custom
from baremetal_sched.placement.query_values import AggregateConditions, TraitConditions


@dataclass(frozen=True)
class Names:
    """The names in a request, which may be unknown.

    ``of_nodes``: the names of classes are those of nodes, not those of placement.
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
    """The rows that are examined if there are too many for all: the ones where ``holds``. All others fail the
    conditions with the ids ``others_fail``; the first id is the name of the scope. ``row_id`` is the id of a row,
    in the table that is read first; ``count`` counts the rows, and may count too many.
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
    """``conditions`` of every row of ``source``, which joins nodes, providers and inventories, if it meets ``where``.

    ``of_providers``: a row is a provider, which need not be a node. ``capabilities``: extra specs whose capabilities a
    node must have, which SQL cannot compare. ``disclosed``: the machines whose classes and traits may be disclosed;
    None: the ones that meet ``where``.
    """

    conditions: list[Condition]
    source: Any
    where: tuple[ColumnElement[bool], ...]
    names: Names = field(default_factory=Names)
    of_providers: bool = False
    capabilities: Mapping[str, str] = field(default_factory=dict)
    scope: Scope | None = None
    disclosed: tuple[ColumnElement[bool], ...] | None = None

    @property
    def counted(self) -> Any:
        """A part of ``source`` that has each row once, and all columns that ``where`` needs."""
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
        """Return this question about a single row, ``uuid``. Being visible becomes its first condition."""
        seen = and_(true(), *self.where)
        visible = Condition(PROJECT, "may be used by the project", Kind.AVAILABILITY, holds=seen)
        first = [visible] if self.where else []
        return replace(self, conditions=[*first, *self.conditions], where=(self.uuid == uuid,), disclosed=self.where)


def nodes_source() -> Any:
    """Return nodes with their providers and inventories."""
    return with_provider(table_of(Node))


def providers_source(*, nodes_only: bool) -> Any:
    """Return providers with the nodes that they mirror, if any; ``nodes_only``: only providers of nodes."""
    nodes = table_of(Node)
    return with_stock(PROVIDER.join(nodes, nodes.c.uuid == PROVIDER.c.uuid, isouter=not nodes_only))


# -- what a query says of the machine ----------------------------------------------------------------------------------


def machine_class(request: CandidateRequest) -> str:
    """Return the class of the node that the request asks for. The class may not exist yet.

    Raises CannotWait unless the request group without a suffix asks for one unit of one custom class.
    """
    amounts = request.groups[""].resources if "" in request.groups else {}
    own = [name for name in amounts if is_custom(name)]
    if len(own) != 1 or amounts[own[0]] != 1:
        raise CannotWait(
            message="To wait, or for several machines, a request must ask for one unit of a node's custom class in the "
            "request group without a suffix, such as resources=CUSTOM_GOLD:1."
        )
    return own[0]


def needed_trait(request: CandidateRequest) -> str | None:
    """Return a trait that the node itself must have; None if only the search can tell."""
    group = request.groups.get("")
    if group is None or len(request.groups) > 1 or len(group.resources) != 1:
        return None
    return min((name for names in group.traits.required if len(names) == 1 for name in names), default=None)


def asks_for_traits_only(request: CandidateRequest) -> bool:
    """Return whether a request is for one unit of one class, with conditions on traits of its provider only."""
    amounts = [amount for group in request.groups.values() for amount in group.resources.values()]
    elsewhere = names_places(request) or request.root_required.names() or request.same_subtrees
    return [*request.groups] == [""] and amounts == [1] and not elsewhere


def shuffled(roots: Iterable[int]) -> list[int]:
    """Return the roots in random order, so that concurrent choices rarely begin with the same."""
    found = list(roots)
    random.shuffle(found)
    return found


def capable(session: Session, roots: Iterable[int], extra_specs: Mapping[str, str]) -> list[int]:
    """Return the roots, in random order, whose nodes have the capabilities of the extra specs."""
    fitting = shuffled(roots)
    if not required_capabilities(extra_specs):
        return fitting
    found = free_machine.properties_of(session, fitting)
    able = {root for root, properties in found if not unmet_capabilities(extra_specs, properties or {})}
    return [root for root in fitting if root in able]


# -- the conditions of a query, one by one -----------------------------------------------------------------------------

#: Conditions, each with a group that asks for nothing else.
Listed = Iterator[tuple[Condition, RequestGroup]]


def of_group(group: RequestGroup, *, named: bool = True) -> Listed:
    """The conditions of a request group. Without a suffix all aggregates are one condition: they are those of the
    provider, or all are those of its root. ``named``: whether ids say which group they are of."""
    traits, aggregates = group.traits, group.aggregates
    suffix = group.suffix if named else ""
    for name, amount in group.resources.items():
        yield of_class(name, amount, suffix), RequestGroup(group.suffix, {name: amount})
    for names in traits.required:
        yield of_traits(names, suffix), RequestGroup(group.suffix, traits=TraitConditions([names]))
    for name in sorted(traits.forbidden):
        yield of_forbidden(name, suffix), RequestGroup(group.suffix, traits=TraitConditions(forbidden={name}))
    sets = list(dict.fromkeys(aggregates.member_of))
    for some in [[each] for each in sets] if group.suffix else [sets] if sets else []:
        yield of_aggregates(some, suffix), RequestGroup(group.suffix, aggregates=AggregateConditions(some))
    for uuid in sorted(aggregates.forbidden):
        outside = AggregateConditions(forbidden={uuid})
        yield of_forbidden_aggregate(uuid, suffix), RequestGroup(group.suffix, aggregates=outside)
    if group.in_tree is not None:
        yield of_tree(group.in_tree, suffix), RequestGroup(group.suffix, in_tree=group.in_tree)


def of_root(root: TraitConditions) -> Listed:
    """The conditions of the root of a tree."""
    for names in root.required:
        yield of_root_traits(names), RequestGroup("", traits=TraitConditions([names]))
    for name in sorted(root.forbidden):
        yield of_root_forbidden(name), RequestGroup("", traits=TraitConditions(forbidden={name}))


def without(request: CandidateRequest, drop: Collection[str]) -> CandidateRequest | None:
    """Return the request without the conditions that have these ids; None if it would ask for nothing.

    A group that is left without its resources is left out, and so is one without resources that no subtree names.
    """
    groups = {suffix: _joined(suffix, of_group(group), drop) for suffix, group in request.groups.items()}
    subtrees = [named for named in request.same_subtrees if of_subtree(named).id not in drop]
    named = frozenset[str]().union(*subtrees)
    stays = {
        suffix: group
        for suffix, group in groups.items()
        if group.resources or (not request.groups[suffix].resources and suffix in named)
    }
    if not any(group.resources for group in stays.values()):
        return None
    return replace(
        request,
        groups=stays,
        group_policy="none" if ISOLATE in drop else request.group_policy,
        root_required=_joined("", of_root(request.root_required), drop).traits,
        same_subtrees=[frozenset(rest) for rest in (each & stays.keys() for each in subtrees) if rest],
    )


def _joined(suffix: str, listed: Listed, drop: Collection[str]) -> RequestGroup:
    """The request group with all listed conditions except the dropped ones."""
    stays = [group for condition, group in listed if condition.id not in drop]
    return RequestGroup(
        suffix,
        {name: amount for group in stays for name, amount in group.resources.items()},
        TraitConditions(
            [names for group in stays for names in group.traits.required],
            {name for group in stays for name in group.traits.forbidden},
        ),
        AggregateConditions(
            [some for group in stays for some in group.aggregates.member_of],
            {uuid for group in stays for uuid in group.aggregates.forbidden},
        ),
        next((group.in_tree for group in stays if group.in_tree), None),
    )
