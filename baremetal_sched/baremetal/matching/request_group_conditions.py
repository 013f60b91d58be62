"""The conditions of a query of placement, one by one, and the query without some of them."""

from collections.abc import Collection, Iterator
from dataclasses import replace

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
)
from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.query_values import AggregateConditions, TraitConditions

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
