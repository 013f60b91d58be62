"""The trees in which a query of placement finds candidates: those that are open to everybody, and those that are closed
for bookings and open to the request."""

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import islice

from sqlalchemy import select

from baremetal_sched.baremetal.matching import free_machine
from baremetal_sched.baremetal.matching.question import machine_class
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.db.types import selecting
from baremetal_sched.errors.scheduling import CannotWait
from baremetal_sched.placement.candidates import search
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.candidates.trees.candidate import Found
from baremetal_sched.placement.tables import CLASSES, PROVIDERS

#: How many candidates are read, if none of fewer can be taken.
LIMITS = (64, 2_000, 100_000)
MOST = (100_000,)

_SAME = PROVIDERS.alias("same")


def find(
    context: MachineContext, query: CandidateRequest, version: int, limit: int, opened: Sequence[int] | None = None
) -> Generator[Found]:
    """Yield candidates of a query, at most ``limit``; ``opened``: see ``search.Options``. Raises the errors of the
    search."""
    seconds = context.settings.placement.candidates_time_limit or None
    options = search.Options(breadth_first=True, seconds=seconds, unknown_traits=True, opened=opened)
    return search.find(selecting(context.session), replace(query, limit=limit), version, options)


def trees(
    context: MachineContext, query: CandidateRequest, version: int, node: str | None, limits: Sequence[int] = LIMITS
) -> Iterator[dict[int, Found]]:
    """Yield the first candidate of each tree by the id of its root: first for a few trees, then for more. Machines that
    are open to the request alone come first, those with the shortest gaps before others. ``node``: the machine (UUID)
    that the request names, if any."""
    seen, opening = set[int](), context.opening
    if not opening.is_plain:
        opened = _opened_roots(context, query, node)
        for part in filter(None, (opened[: LIMITS[0]], opened[LIMITS[0] :])):
            found, _ = _first_of(find(context, query, version, len(part), part), len(part), seen)
            yield {root: found[root] for root in part if root in found}
            seen |= found.keys()
        if opening.is_of_gaps or opening.own.booking is not None:
            return
    for limit in limits:
        found, number = _first_of(find(context, query, version, limit), limit, seen)
        yield found
        seen |= found.keys()
        if number < limit:
            return


def _first_of(results: Generator[Found], limit: int, seen: Collection[int]) -> tuple[dict[int, Found], int]:
    """Return the first candidate of each tree that was not seen, and how many were found in all."""
    with closing(results) as found:
        candidates = list(islice(found, limit))
    first: dict[int, Found] = {}
    for candidate in candidates:
        root = free_machine.root_of(candidate)
        if root is not None and root not in seen:
            first.setdefault(root, candidate)
    return first, len(candidates)


def _opened_roots(context: MachineContext, query: CandidateRequest, node: str | None) -> list[int]:
    """Return the roots of trees that are open to the request and closed to others, as far as its class and its tree are
    known."""
    named = query.anchor or node or (query.groups[""].in_tree if "" in query.groups else None)
    own = select(_SAME.c.root_id).where(_SAME.c.uuid == named).scalar_subquery()
    clauses = [PROVIDERS.c.id == own] if named else []
    with suppress(CannotWait):
        of_class = select(CLASSES.c.id).where(CLASSES.c.name == machine_class(query))
        clauses.append(PROVIDERS.c.mirrored_class_id == of_class.scalar_subquery())
    return free_machine.opened_roots(context.session, context.opening, *clauses)
