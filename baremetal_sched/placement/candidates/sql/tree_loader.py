"""Loading trees, and the providers that share with them: a constant number of statements for a batch of trees."""

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence

from sqlalchemy import ColumnElement, Connection, select

from baremetal_sched.db import compiled
from baremetal_sched.placement.candidates.request.resolved_request import ResolvedRequest
from baremetal_sched.placement.candidates.sql import anchors, provider_rows
from baremetal_sched.placement.candidates.sql.conditions import has_class, one_of
from baremetal_sched.placement.candidates.sql.provider_rows import Parser, UnparsedTree, has_root
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider, ProviderRow
from baremetal_sched.placement.tables import PROVIDER_AGGREGATES, PROVIDER_TRAITS, PROVIDERS, SHARING_TRAIT, TRAITS

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

    def __init__(self, connection: Connection, resolved: ResolvedRequest, limit: int | None) -> None:
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
        for roots in anchors.batches(self._connection, self._resolved, list(self._sharing.values()), self.page_sizer):
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
        self._reading = provider_rows.load_trees(self._connection, roots)
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
