"""The smallest sets of conditions without which a request has a candidate in another tree, and on how many machines it
has one then: the search is run again without them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from baremetal_sched.baremetal.matching import wording
from baremetal_sched.baremetal.matching.masks import Kind
from baremetal_sched.explain.tree_looks import Look
from baremetal_sched.explain.tree_parts import Asked, Part
from baremetal_sched.placement.candidates.request.resolved_request import ResolvedRequest
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit, TookTooLong
from baremetal_sched.placement.candidates.trees.enumeration import candidates

#: Limits: how many sets are tried, of how many conditions, on how many of the closest shapes of trees; and how many
#: sets are returned.
_TRIED = 400
_LARGEST = 2
_SHAPES = 200
_FOUND = 20


@dataclass(frozen=True)
class Found:
    """The sets, the smallest first. ``exact``: whether these are all of the smallest ones."""

    sets: list[frozenset[str]]
    exact: bool


def smallest(asked: Asked, parts: Sequence[Part], looks: Sequence[Look], seconds: float) -> Found:
    """Return the smallest sets of up to two conditions that make a tree of ``looks``, none of which fits, do so; within
    about ``seconds``. Larger sets are not tried: what is found is exact only if there is a smaller one."""
    units = units_of(asked, parts)
    closest = sorted(looks, key=lambda look: look.rank)[:_SHAPES]
    limit, tried = TimeLimit(seconds), 0
    found: list[frozenset[str]] = []
    for drop in (frozenset(some) for size in range(1, _LARGEST + 1) for some in combinations(units, size)):
        if any(each < drop for each in found):
            continue
        if tried == _TRIED or len(found) == _FOUND:
            return Found(found, False)
        tried += 1
        try:
            if any(look.fits_without(drop, limit) for look in closest):
                found.append(drop)
        except TookTooLong:
            return Found(found, False)
    return Found(found, len(looks) <= _SHAPES and (bool(found) or len(units) <= _LARGEST))


def units_of(asked: Asked, parts: Sequence[Part]) -> list[str]:
    """Return the ids of all conditions of the request that can be left out."""
    found = [condition.id for part in parts for condition in part.conditions if condition.kind is Kind.REQUEST]
    if asked.request.group_policy == "isolate":
        found.append(wording.ISOLATE)
    found += [wording.of_subtree(named).id for named in asked.request.same_subtrees]
    return list(dict.fromkeys(found))


def machines(wanted: ResolvedRequest, looks: Sequence[Look], most: int, limit: TimeLimit) -> tuple[int, list[str]]:
    """Return how many machines have a candidate, ``most`` at most, and the UUIDs of these, in order.

    The machine of a candidate is the tree in which it is found. Where all that is given is shared, it is what shares
    it, which has no UUID here. Trees of the same shape have the same candidates. Raises TookTooLong.
    """
    found: dict[int, str | None] = {}
    for look in looks:
        shape = look.shape
        own = {provider.id for provider in shape.now.local if not provider.shares}
        for candidate in islice(candidates(wanted, [shape.now], time_limit=limit), most):
            if not own.isdisjoint(candidate.allocations):
                found.update((tree.root_id, tree.uuid) for tree in shape.trees)
                break
            found.setdefault(min(candidate.roots), None)
        if len(found) >= most:
            break
    return min(len(found), most), sorted(filter(None, found.values()))
