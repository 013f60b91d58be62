"""A request of candidates with some of its conditions left out: pure."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from baremetal_sched.baremetal.matching import wording
from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.query_values import AggregateConditions, TraitConditions


def without(request: CandidateRequest, drop: Collection[str]) -> CandidateRequest | None:
    """Return the request without the conditions that have these ids (``wording``); None if nothing is asked for then.

    A group that is left without its resources is left out, and so is one without resources that no subtree names.
    """
    groups = {suffix: _group(group, drop) for suffix, group in request.groups.items()}
    subtrees = [named for named in request.same_subtrees if wording.of_subtree(named).id not in drop]
    named = frozenset[str]().union(*subtrees)
    stays = {
        suffix: group
        for suffix, group in groups.items()
        if group.resources or (not request.groups[suffix].resources and suffix in named)
    }
    if not any(group.resources for group in stays.values()):
        return None
    subtrees = [rest for rest in (each & stays.keys() for each in subtrees) if rest]
    return replace(
        request,
        groups=stays,
        group_policy="none" if wording.ISOLATE in drop else request.group_policy,
        root_required=TraitConditions(
            [each for each in request.root_required.required if wording.of_root_traits(each).id not in drop],
            {name for name in request.root_required.forbidden if wording.of_root_forbidden(name).id not in drop},
        ),
        same_subtrees=[frozenset(each) for each in subtrees],
    )


def _group(group: RequestGroup, drop: Collection[str]) -> RequestGroup:
    suffix, traits, places = group.suffix, group.traits, group.aggregates
    return RequestGroup(
        suffix,
        {name: amount for name, amount in group.resources.items() if wording.of_class(name, 0, suffix).id not in drop},
        TraitConditions(
            [each for each in traits.required if wording.of_traits(each, suffix).id not in drop],
            {name for name in traits.forbidden if wording.of_forbidden(name, suffix).id not in drop},
        ),
        AggregateConditions(
            [
                each
                for sets in aggregate_sets(group)
                if wording.of_aggregates(sets, suffix).id not in drop
                for each in sets
            ],
            {uuid for uuid in places.forbidden if wording.of_forbidden_aggregate(uuid, suffix).id not in drop},
        ),
        None if group.in_tree and wording.of_tree(group.in_tree, suffix).id in drop else group.in_tree,
    )


def aggregate_sets(group: RequestGroup) -> Iterator[list[frozenset[str]]]:
    """Yield the sets of aggregates that make a condition each. Without a suffix all are one condition: they are those
    of the provider, or all are those of its root."""
    sets = list(dict.fromkeys(group.aggregates.member_of))
    if group.suffix:
        yield from ([each] for each in sets)
    elif sets:
        yield sets
