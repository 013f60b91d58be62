"""The smallest sets of conditions without which a request has a candidate in another tree, and how many it has then."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from baremetal_sched.baremetal.matching import wording
from baremetal_sched.baremetal.matching.masks import Kind
from baremetal_sched.explain.tree_looks import Look
from baremetal_sched.explain.tree_parts import Asked, Part
from baremetal_sched.placement.candidates.request.resolved_request import ResolvedRequest
from baremetal_sched.placement.candidates.trees.enumeration import candidates
from baremetal_sched.placement.candidates.trees.time_limit import TimeLimit, TookTooLong

#: Limits: how many sets are tried, on how many of the closest shapes of trees; and how many sets are returned.
_TRIED = 400
_SHAPES = 200
_FOUND = 20

#: For each shape, how many assignments of its providers to the parts are examined.
_WAYS = 64


@dataclass(frozen=True)
class Found:
    """The sets, the smallest first. ``exact``: whether they are all that there are."""

    sets: list[frozenset[str]]
    exact: bool


def smallest(asked: Asked, parts: Sequence[Part], looks: Sequence[Look], seconds: float) -> Found:
    """Return the smallest sets that make a tree of ``looks``, none of which fits, do so; within about ``seconds``.

    A tree fits without a set only if each part is served then; that is what the search starts from. Where groups are in
    each other's way one condition more is left out, whichever it is.
    """
    units = units_of(asked, parts)
    bits = {name: 1 << place for place, name in enumerate(units)}
    closest = sorted(looks, key=lambda look: look.rank)
    ways = [_Ways(parts, look, bits) for look in closest[:_SHAPES]]
    exact = len(closest) <= _SHAPES and not any(each.cut for each in ways)
    queue = [(need.bit_count(), need) for need in {need for each in ways for need in each.needs}]
    heapify(queue)
    limit, tried = TimeLimit(seconds), set[int]()
    found: list[int] = []
    while queue:
        if len(tried) >= _TRIED or len(found) >= _FOUND:
            exact = False
            break
        _, drop = heappop(queue)
        if drop in tried or any(not each & ~drop for each in found):
            continue
        tried.add(drop)
        names = frozenset(name for name, bit in bits.items() if bit & drop)
        if asked.without(names) is None:
            continue
        try:
            fits = any(each.look.fits_without(names, limit) for each in ways if each.allow(drop))
        except TookTooLong:
            exact = False
            break
        if fits:
            found.append(drop)
            continue
        for bit in bits.values():
            if not bit & drop:
                heappush(queue, ((drop | bit).bit_count(), drop | bit))
    return Found([frozenset(name for name, bit in bits.items() if bit & drop) for drop in found], exact)


def units_of(asked: Asked, parts: Sequence[Part]) -> list[str]:
    """Return the ids of all conditions of the request that can be left out."""
    found = [condition.id for part in parts for condition in part.conditions if condition.kind is Kind.REQUEST]
    if asked.request.group_policy == "isolate":
        found.append(wording.ISOLATE)
    found += [wording.of_subtree(named).id for named in asked.request.same_subtrees]
    return list(dict.fromkeys(found))


class _Ways:
    """The sets of conditions without which each part is served in a shape; ``cut``: not all were looked at."""

    def __init__(self, parts: Sequence[Part], look: Look, bits: dict[str, int]) -> None:
        self.look = look
        self.cut = False
        self.needs = [0]
        for part, masks in zip(parts, look.masks, strict=True):
            options = _minimal([*_options(part, masks, bits), *_relieving(part, bits)])
            together = _minimal(need | option for need in self.needs for option in options)
            self.cut |= len(together) > _WAYS
            self.needs = together[:_WAYS]

    def allow(self, drop: int) -> bool:
        """Return whether each part is served without the conditions."""
        return any(not need & ~drop for need in self.needs)


def _options(part: Part, masks: Iterable[int], bits: dict[str, int]) -> Iterator[int]:
    """What has to be left out for each provider to serve the part, if its lack of free resources is no obstacle."""
    conditions = part.conditions
    for mask in set(masks):
        needed = [condition for place, condition in enumerate(conditions) if mask >> place & 1]
        yield sum({bits[condition.part_of or condition.id] for condition in needed})


def _relieving(part: Part, bits: dict[str, int]) -> Iterator[int]:
    for names in part.relieved_by:
        yield sum(bits[name] for name in names)


def _minimal(masks: Iterable[int]) -> list[int]:
    """Return the sets that contain no other one, the smallest first."""
    found: list[int] = []
    for mask in sorted(set(masks), key=lambda mask: (mask.bit_count(), mask)):
        if not any(not each & ~mask for each in found):
            found.append(mask)
    return found


def count(wanted: ResolvedRequest, looks: Sequence[Look], most: int, limit: TimeLimit) -> tuple[int, list[str]]:
    """Return how many candidates there are, ``most`` at most, and the UUIDs of the roots of trees that have one, in
    order.

    Trees of the same shape have as many candidates each. Raises TookTooLong.
    """
    shapes = {id(look.shape.now): look.shape for look in looks}
    found, roots = 0, set[str]()
    for candidate in candidates(wanted, [shape.now for shape in shapes.values()], time_limit=limit):
        shape = shapes[id(candidate.anchor)]
        serving = {row_id for ids in candidate.mappings.values() for row_id in ids}
        if serving.isdisjoint(shape.now.ids):
            # Parts that only sharing providers serve are counted once, in whatever tree they were found.
            found += 1
            roots.add(shape.uuid)
        else:
            found += len(shape.trees)
            roots.update(tree.uuid for tree in shape.trees)
        if found >= most:
            break
    return min(found, most), sorted(roots)
