"""A request of candidates as the parameters that ask for it, and with another name in it: pure."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.query_values import TraitConditions


def pairs_of(request: CandidateRequest) -> list[tuple[str, str]]:
    """Return the parameters of ``GET /allocation_candidates`` at microversion 1.39 that ask for ``request``."""
    found = [pair for group in request.groups.values() for pair in _of_group(group)]
    if request.limit is not None:
        found.append(("limit", str(request.limit)))
    if request.group_policy is not None:
        found.append(("group_policy", request.group_policy))
    found += [("root_required", text) for text in _traits(request.root_required)]
    return found + [("same_subtree", ",".join(sorted(suffixes))) for suffixes in request.same_subtrees]


def _of_group(group: RequestGroup) -> Iterator[tuple[str, str]]:
    suffix = group.suffix
    if group.resources:
        yield f"resources{suffix}", ",".join(f"{name}:{amount}" for name, amount in group.resources.items())
    for text in _traits(group.traits):
        yield f"required{suffix}", text
    for members in group.aggregates.member_of:
        yield f"member_of{suffix}", f"in:{','.join(sorted(members))}"
    if group.aggregates.forbidden:
        yield f"member_of{suffix}", f"!in:{','.join(sorted(group.aggregates.forbidden))}"
    if group.in_tree is not None:
        yield f"in_tree{suffix}", group.in_tree


def _traits(conditions: TraitConditions) -> Iterator[str]:
    alone = [name for names in conditions.required if len(names) == 1 for name in names]
    alone += [f"!{name}" for name in sorted(conditions.forbidden)]
    if alone:
        yield ",".join(alone)
    for names in conditions.required:
        if len(names) > 1:
            yield f"in:{','.join(sorted(names))}"


def renamed(request: CandidateRequest, name: str, instead: str) -> CandidateRequest:
    """Return the request with another class or trait in place of that called ``name``."""

    def call(each: str) -> str:
        return instead if each == name else each

    groups = {
        suffix: replace(
            group,
            resources={call(each): amount for each, amount in group.resources.items()},
            traits=_called(group.traits, call),
        )
        for suffix, group in request.groups.items()
    }
    return replace(request, groups=groups, root_required=_called(request.root_required, call))


def _called(conditions: TraitConditions, call: Callable[[str], str]) -> TraitConditions:
    return TraitConditions(
        [frozenset(map(call, names)) for names in conditions.required], {call(name) for name in conditions.forbidden}
    )
