"""The conditions of a query of placement, one by one, and the query without some of them; and which machines have the
capabilities that extra specs ask for, which no query can."""

import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching import free_machine
from baremetal_sched.baremetal.matching.conditions import (
    ISOLATE,
    Condition,
    of_aggregates,
    of_class,
    of_forbidden,
    of_forbidden_aggregate,
    of_root_forbidden,
    of_root_traits,
    of_subtree,
    of_traits,
    of_tree,
    required_capabilities,
    unmet_capabilities,
)
from baremetal_sched.db.models import Node
from baremetal_sched.errors.scheduling import CannotWait
from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.candidates.request.resolve import names_places
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.placement.names import is_custom
from baremetal_sched.placement.query_values import AggregateConditions, TraitConditions
from baremetal_sched.placement.tables import PROVIDERS

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
    able = set()
    for start in range(0, len(fitting), free_machine.BATCH):
        rows = session.execute(
            select(PROVIDERS.c.id, Node.properties)
            .join(Node, Node.uuid == PROVIDERS.c.uuid)
            .where(one_of(PROVIDERS.c.id, fitting[start : start + free_machine.BATCH]))
        )
        able |= {root for root, properties in rows if not unmet_capabilities(extra_specs, properties or {})}
    return [root for root in fitting if root in able]
