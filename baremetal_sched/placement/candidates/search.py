"""The whole search: which way to go, and where to stop."""

import random
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import Connection

from baremetal_sched.placement.candidates import flat
from baremetal_sched.placement.candidates.choosing import candidates
from baremetal_sched.placement.candidates.query import CandidateRequest
from baremetal_sched.placement.candidates.resolve import names_places, needs_all, recall, resolve
from baremetal_sched.placement.candidates.trees import Found
from baremetal_sched.placement.candidates.wanted import Wanted
from baremetal_sched.placement.candidates.world import World
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class Options:
    """``maximum``: how many candidates are made at most, whatever the request's limit; then, maybe, in random order."""

    maximum: int | None = None
    randomize: bool = False
    breadth_first: bool = False

    @classmethod
    def of(cls, settings: Settings) -> "Options":
        """Those that the settings hold."""
        options = settings.placement
        maximum = options.max_allocation_candidates
        return cls(
            maximum=maximum if maximum >= 0 else None,
            randomize=options.randomize_allocation_candidates,
            breadth_first=options.allocation_candidates_generation_strategy == "breadth-first",
        )

    def limit_of(self, request: CandidateRequest) -> int | None:
        """How many candidates are wanted, if the first that are found will do."""
        return min((limit for limit in (request.limit, self.maximum) if limit is not None), default=None)


DEFAULTS = Options()


def find(
    connection: Connection, request: CandidateRequest, version: int, options: Options = DEFAULTS
) -> Generator[Found]:
    """Candidates one by one, no two the same, at most as many as the request and the options allow. Until it is at its
    end or closed, there is no other statement on the connection.

    Raises UnknownClassInQuery and TraitNotFound for names that do not exist.
    """
    remembered = None
    if needs_all(request) and not names_places(request):
        remembered = recall(connection, request, version)
    if remembered is not None:
        with closing(_found(connection, remembered, request, options)) as found:
            first = next(found, None)
            if first is not None:
                yield first
                yield from found
                return
    wanted = resolve(connection, request, version)
    if wanted is None or (remembered is not None and remembered.asks_like(wanted)):
        return
    yield from _found(connection, wanted, request, options)


def _found(connection: Connection, wanted: Wanted, request: CandidateRequest, options: Options) -> Generator[Found]:
    if options.randomize:
        yield from _some(_first(connection, wanted, options.maximum, options), request.limit)
    else:
        yield from _first(connection, wanted, options.limit_of(request), options)


def _first(connection: Connection, wanted: Wanted, limit: int | None, options: Options) -> Iterator[Found]:
    """Candidates one by one, at most ``limit``."""
    if flat.applies(connection, wanted):
        return iter(flat.search(connection, wanted, limit))
    return general(connection, wanted, limit, breadth_first=options.breadth_first)


def general(
    connection: Connection, wanted: Wanted, limit: int | None, *, breadth_first: bool = False
) -> Iterator[Found]:
    """The search that knows trees, sharing and groups; it answers every request."""
    with closing(World(connection, wanted, limit)) as world:
        # Without a limit both strategies find the same, and depth first keeps less.
        for found in islice(candidates(wanted, world, breadth_first=breadth_first and limit is not None), limit):
            world.pace.found += 1
            yield found


def _some(found: Iterable[Found], count: int | None) -> list[Found]:
    """``count`` of them (or all), each as likely as any other, in random order; keeps no more than these."""
    kept: list[Found] = []
    for place, candidate in enumerate(found):
        if count is None or len(kept) < count:
            kept.append(candidate)
        else:
            other = random.randrange(place + 1)  # noqa: S311 - a sample, not a secret
            if other < count:
                kept[other] = candidate
    random.shuffle(kept)
    return kept
