"""The whole search: which way to go, and where to stop."""

import random
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice

from sqlalchemy import Connection

from baremetal_sched.db.deadline import remaining
from baremetal_sched.errors.placement import SearchTookTooLong, TooManyCandidates
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.candidates.request.resolve import names_places, needs_all, recall, resolve
from baremetal_sched.placement.candidates.request.resolved_request import ResolvedRequest
from baremetal_sched.placement.candidates.sql import single_provider
from baremetal_sched.placement.candidates.sql.tree_loader import TreeLoader
from baremetal_sched.placement.candidates.trees.candidate import NEVER, Found, TimeLimit, TookTooLong
from baremetal_sched.placement.candidates.trees.enumeration import candidates
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class Options:
    """How to search. ``maximum``: how many candidates are made at most, whatever the request's limit. ``randomize``:
    return a random choice of these, in random order. ``seconds``: how long a search may take. ``unknown_traits``: as in
    ``resolve``."""

    maximum: int | None = None
    randomize: bool = False
    breadth_first: bool = False
    seconds: float | None = None
    unknown_traits: bool = False

    @classmethod
    def of(cls, settings: Settings) -> "Options":
        """Return the options of the settings."""
        options = settings.placement
        maximum = options.max_allocation_candidates
        return cls(
            maximum=maximum if maximum >= 0 else None,
            randomize=options.randomize_allocation_candidates,
            breadth_first=options.allocation_candidates_generation_strategy == "breadth-first",
            seconds=options.candidates_time_limit or None,
        )

    def limit_of(self, request: CandidateRequest) -> int | None:
        """Return how many candidates to look for, if it does not matter which are found."""
        return min((limit for limit in (request.limit, self.maximum) if limit is not None), default=None)


DEFAULTS = Options()

#: Seconds between the end of a search and the deadline of its request.
_MARGIN = 0.5

#: Candidates may name this many providers all together (each once for what it gives, and once for each group that it
#: serves); what is written about more of them takes hundreds of megabytes.
MOST_NAMED = 500_000


class TooMuch(Exception):
    """There are more candidates than one answer can hold."""


def find(
    connection: Connection, request: CandidateRequest, version: int, options: Options = DEFAULTS
) -> Generator[Found]:
    """Yield candidates, no two the same, at most as many as the request and the options allow. Until it is at its end
    or closed, no other statement may run on the connection.

    Each statement sees its own moment, except on SQLite: a provider may be claimed, moved or deleted before the search
    ends. The claim checks everything again.

    Raises UnknownClassInQuery and TraitNotFound for names that do not exist, SearchTookTooLong and TooManyCandidates
    for requests that must be narrowed.
    """
    seconds = _seconds(options)
    time_limit = TimeLimit(seconds)
    if request.is_large:
        connection = connection.execution_options(compiled_cache=None)
    try:
        yield from _find(connection, request, version, options, time_limit)
    except TookTooLong:
        raise SearchTookTooLong(seconds=f"{seconds:.3g}", advice=_advice(request)) from None
    except TooMuch:
        raise TooManyCandidates(advice=_advice(request, "give a smaller limit")) from None


def _seconds(options: Options) -> float | None:
    """Return how long this search may take: it ends a little before the deadline of its request, and can say why."""
    left = remaining()
    limits = [options.seconds, None if left is None else max(0.0, left - _MARGIN)]
    return min((seconds for seconds in limits if seconds is not None), default=None)


def _find(
    connection: Connection, request: CandidateRequest, version: int, options: Options, time_limit: TimeLimit
) -> Iterator[Found]:
    remembered = None
    if needs_all(request) and not names_places(request):
        remembered = recall(connection, request, version)
    if remembered is not None:
        with closing(_found(connection, remembered, request, options, time_limit)) as found:
            first = next(found, None)
            if first is not None:
                yield first
                yield from found
                return
    resolved = resolve(connection, request, version, unknown_traits=options.unknown_traits)
    if resolved is None or (remembered is not None and remembered.asks_like(resolved)):
        return
    yield from _found(connection, resolved, request, options, time_limit)


def _advice(request: CandidateRequest, limit: str = "") -> str:
    """Return what to change in a request that asks for too much; ``limit``: what to do about its limit, if any."""
    groups = len(request.groups)
    advice = [limit if request.limit else "give a limit"]
    advice += [f"ask for fewer groups (there are {groups})"] if groups > 2 else []
    return ", ".join([*filter(None, advice), "or name a tree (in_tree), aggregates (member_of) or traits (required)"])


def _found(
    connection: Connection,
    resolved: ResolvedRequest,
    request: CandidateRequest,
    options: Options,
    time_limit: TimeLimit,
) -> Generator[Found]:
    if options.randomize:
        yield from _some(_first(connection, resolved, options.maximum, options, time_limit), request.limit)
    else:
        yield from _first(connection, resolved, options.limit_of(request), options, time_limit)


def _first(
    connection: Connection, resolved: ResolvedRequest, limit: int | None, options: Options, time_limit: TimeLimit
) -> Iterator[Found]:
    """Return an iterator over candidates, at most ``limit``."""
    if single_provider.applies(connection, resolved):
        if resolved.anchor is not None:
            resolved = replace(resolved, groups=tuple(replace(each, tree=resolved.anchor) for each in resolved.groups))
        return iter(single_provider.search(connection, resolved, limit))
    return general(connection, resolved, limit, breadth_first=options.breadth_first, time_limit=time_limit)


def general(
    connection: Connection,
    resolved: ResolvedRequest,
    limit: int | None,
    *,
    breadth_first: bool = False,
    time_limit: TimeLimit = NEVER,
) -> Iterator[Found]:
    """Search in trees, with sharing and groups; this finds the candidates of every request.

    Raises TookTooLong, and TooMuch for more than one answer can hold.
    """
    # Without a limit both strategies find the same, and depth first keeps less.
    in_turn = breadth_first and limit is not None
    size = 0
    with closing(TreeLoader(connection, resolved, limit)) as loader:
        for found in islice(candidates(resolved, loader, breadth_first=in_turn, time_limit=time_limit), limit):
            time_limit.check()
            size += found.size
            if size > MOST_NAMED:
                raise TooMuch
            loader.page_sizer.found += 1
            yield found


def _some(found: Iterable[Found], count: int | None) -> list[Found]:
    """Return ``count`` of them (or all), each as likely as any other, in random order; keeps no more than these."""
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
