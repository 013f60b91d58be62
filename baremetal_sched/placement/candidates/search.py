"""The whole search: which way to go, and where to stop. It loads trees, and the providers that share with them, in a
constant number of statements for a batch of trees."""

import random
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice

from sqlalchemy import ColumnElement, Connection, select

from baremetal_sched.db import compiled
from baremetal_sched.db.deadline import remaining
from baremetal_sched.errors.placement import SearchTookTooLong, TooManyCandidates
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.candidates.request.resolve import names_places, needs_all, recall, resolve
from baremetal_sched.placement.candidates.request.resolved_request import ResolvedRequest
from baremetal_sched.placement.candidates.sql import anchors, provider_rows, single_provider
from baremetal_sched.placement.candidates.sql.conditions import has_class, one_of
from baremetal_sched.placement.candidates.sql.provider_rows import Parser, UnparsedTree, has_root
from baremetal_sched.placement.candidates.trees.candidate import NEVER, Found, TimeLimit, TookTooLong
from baremetal_sched.placement.candidates.trees.enumeration import candidates
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider, ProviderRow
from baremetal_sched.placement.tables import PROVIDER_AGGREGATES, PROVIDER_TRAITS, PROVIDERS, SHARING_TRAIT, TRAITS
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class Options:
    """How to search. ``maximum``: how many candidates are made at most, whatever the request's limit. ``randomize``:
    return a random choice of these, in random order. ``seconds``: how long a search may take. ``unknown_traits``: as in
    ``resolve``. ``opened``: only trees with these roots (ids) are looked at, in about this order, and count as open
    (``tables.is_open``)."""

    maximum: int | None = None
    randomize: bool = False
    breadth_first: bool = False
    seconds: float | None = None
    unknown_traits: bool = False
    opened: Sequence[int] | None = None

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
    if options.opened is not None:
        return general(connection, resolved, limit, breadth_first=True, time_limit=time_limit, opened=options.opened)
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
    opened: Sequence[int] | None = None,
) -> Iterator[Found]:
    """Search in trees, with sharing and groups; this finds the candidates of every request.

    Raises TookTooLong, and TooMuch for more than one answer can hold.
    """
    # Without a limit both strategies find the same, and depth first keeps less.
    in_turn = breadth_first and limit is not None
    size = 0
    with closing(TreeLoader(connection, resolved, limit, opened)) as loader:
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


# -- loading trees -----------------------------------------------------------------------------------------------------

#: All providers of a tree, and the ones that matter to the request.
Tree = tuple[list[ProviderRow], list[Provider]]

#: Trees in one batch.
_BATCH = 200

_AGGREGATES = select(PROVIDERS.c.root_id, PROVIDER_AGGREGATES.c.provider_id, PROVIDER_AGGREGATES.c.aggregate_id).where(
    PROVIDERS.c.id == PROVIDER_AGGREGATES.c.provider_id, PROVIDERS.c.root_id.in_([compiled.IDS])
)


class TreeLoader:
    """The trees that matter to a request. Iterating yields anchors on demand; until it is at its end or ``close`` is
    called, no other statement may run on the connection.

    Each statement sees its own moment, except on SQLite: a tree whose root was moved between two of them is left out.
    """

    def __init__(
        self,
        connection: Connection,
        resolved: ResolvedRequest,
        limit: int | None,
        opened: Sequence[int] | None = None,
    ) -> None:
        self._opened = opened
        self._connection = connection
        self._resolved = resolved
        self.page_sizer = anchors.PageSizer(limit, _BATCH)
        self._parser = Parser(resolved)
        self._sharing = self._load_sharing()
        self._ancestors = self._load_ancestors()
        self._sharing_in: dict[int, list[Provider]] = {}
        for provider in self._sharing.values():
            for aggregate in provider.aggregates:
                self._sharing_in.setdefault(aggregate, []).append(provider)
        self._reading: Generator[list[ProviderRow]] | None = None

    def close(self) -> None:
        """Stop reading."""
        if self._reading is not None:
            self._reading.close()

    def __iter__(self) -> Iterator[Anchor]:
        sharing = list(self._sharing.values())
        batches = anchors.batches(self._connection, self._resolved, sharing, self.page_sizer)
        for roots in batches if self._opened is None else [list(self._opened)]:
            for start in range(0, len(roots), _BATCH):
                yield from self._load_trees(roots[start : start + _BATCH])

    def _load_sharing(self) -> dict[int, Provider]:
        """Return the providers that share and have a requested class (or all that share, if a group requests no class),
        with their aggregates."""
        # An alias: the condition is used in statements that read the same table for something else.
        row = PROVIDER_TRAITS.alias()
        sharing: ColumnElement[bool] = PROVIDERS.c.id.in_(
            select(row.c.provider_id).where(row.c.trait_id == TRAITS.c.id, TRAITS.c.name == SHARING_TRAIT)
        )
        if all(group.resources for group in self._resolved.groups):
            sharing &= has_class(PROVIDERS.c.id, frozenset(self._resolved.class_names))
        rows = provider_rows.load(self._connection, sharing)
        found = {provider.id: provider for provider in self._parser.members(rows, {row.id for row in rows})}
        if found:
            self._add_aggregates(found, {row.root_id for row in rows}, None)
        return found

    def _load_ancestors(self) -> dict[int, int | None]:
        """Return parents by id in the trees of the providers that share, if the request asks for subtrees."""
        roots = {provider.root_id for provider in self._sharing.values()}
        if not roots or not self._resolved.same_subtrees:
            return {}
        query = select(PROVIDERS.c.id, PROVIDERS.c.parent_id).where(one_of(PROVIDERS.c.root_id, roots))
        return {row_id: parent_id for row_id, parent_id in self._connection.execute(query)}

    def _load_trees(self, roots: Sequence[int]) -> Iterator[Anchor]:
        mentioned = self._resolved.aggregates | self._sharing_in.keys()
        # With traits, requested or not: the answer tells about all providers of a tree, and need not read them again.
        self._reading = provider_rows.load_trees(self._connection, roots, opened=self._opened is not None)
        if not mentioned and not self._sharing:
            yield from (UnparsedTree(rows, self._parser) for rows in self._reading if has_root(rows))
            return
        trees: Iterable[Tree] = ((rows, self._parser.members(rows, self._sharing)) for rows in self._reading)
        served: dict[int, set[int]] = {}
        if mentioned:
            trees = list(trees)
            found = {provider.id: provider for _, local in trees for provider in local}
            served = self._add_aggregates(found, roots, mentioned)
        for rows, local in trees:
            root = next((provider for provider in local if provider.parent_id is None), None)
            if root is not None:
                guests = {p.id: p for aggregate in served.get(root.id, ()) for p in self._sharing_in.get(aggregate, ())}
                sharing = [guest for guest in guests.values() if guest.root_id != root.id]
                yield Anchor(root, local, sharing, self._ancestors, rows)

    def _add_aggregates(
        self, found: dict[int, Provider], roots: Iterable[int], mentioned: Collection[int] | None
    ) -> dict[int, set[int]]:
        """Add to the providers, which are in the trees with these roots, their aggregates (of those ``mentioned``, if
        given). Return the aggregates of the trees by root."""
        by_root: dict[int, set[int]] = {}
        for root_id, row_id, aggregate in compiled.run(self._connection, _AGGREGATES, {}, roots):
            if mentioned is not None and aggregate not in mentioned:
                continue
            by_root.setdefault(root_id, set()).add(aggregate)
            if row_id in found:
                found[row_id].aggregates.add(aggregate)
        return by_root
