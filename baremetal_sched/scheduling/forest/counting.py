"""Counting candidates in trees that are loaded, with the search itself."""

from collections.abc import Sequence

from baremetal_sched.placement.candidates.request.resolved_request import ResolvedRequest
from baremetal_sched.placement.candidates.trees.enumeration import candidates
from baremetal_sched.placement.candidates.trees.time_limit import TimeLimit
from baremetal_sched.scheduling.forest.looks import Look


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
