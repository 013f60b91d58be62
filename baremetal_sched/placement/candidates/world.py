"""Loading trees, and the providers that share with them: a constant number of statements for a batch of trees."""

from collections.abc import Iterator, Sequence

from sqlalchemy import ColumnElement, Connection, select

from baremetal_sched.placement.candidates import anchors, reading
from baremetal_sched.placement.candidates.conditions import has_class, one_of
from baremetal_sched.placement.candidates.flat import SHARING_TRAIT
from baremetal_sched.placement.candidates.lines import Line
from baremetal_sched.placement.candidates.parsing import Parser
from baremetal_sched.placement.candidates.trees import Anchor, Provider, Wanted
from baremetal_sched.placement.tables import PROVIDER_AGGREGATES, PROVIDER_TRAITS, PROVIDERS, TRAITS

#: Trees in one batch.
_BATCH = 200


class World:
    """What of the database matters to a request. Iterating yields anchors, as far as they are asked for."""

    def __init__(self, connection: Connection, wanted: Wanted, limit: int | None) -> None:
        self._connection = connection
        self._wanted = wanted
        self._limit = limit
        self._parser = Parser(wanted)
        self._aggregates = set[int]().union(*(group.not_member_of.union(*group.member_of) for group in wanted.groups))
        self._sharing = self._load_sharing()
        self._ancestors = self._load_ancestors()

    def __iter__(self) -> Iterator[Anchor]:
        size = min(max(self._limit or _BATCH, 10), _BATCH)
        for roots in anchors.batches(self._connection, self._wanted, list(self._sharing.values()), size):
            for start in range(0, len(roots), _BATCH):
                yield from self._load_trees(roots[start : start + _BATCH])

    def _load_sharing(self) -> dict[int, Provider]:
        """Those who share and have a requested class (or just exist, if a group asks for none), and where they do."""
        # An alias: the condition is used in statements that read the same table for something else.
        row = PROVIDER_TRAITS.alias()
        sharing: ColumnElement[bool] = PROVIDERS.c.id.in_(
            select(row.c.provider_id).where(row.c.trait_id == TRAITS.c.id, TRAITS.c.name == SHARING_TRAIT)
        )
        if all(group.resources for group in self._wanted.groups):
            sharing &= has_class(PROVIDERS.c.id, frozenset(self._wanted.class_names))
        rows = reading.load(self._connection, sharing)
        found = {provider.id: provider for provider in self._parser.members(rows, {int(row_id) for row_id, *_ in rows})}
        if found:
            self._add_aggregates(found, None, sharing)
        return found

    def _load_ancestors(self) -> dict[int, int | None]:
        """Parents in the trees that those who share are in, if anybody asks for subtrees."""
        roots = {provider.root_id for provider in self._sharing.values()}
        if not roots or not self._wanted.same_subtrees:
            return {}
        query = select(PROVIDERS.c.id, PROVIDERS.c.parent_id).where(one_of(PROVIDERS.c.root_id, roots))
        return {row_id: parent_id for row_id, parent_id in self._connection.execute(query)}

    def _load_trees(self, roots: Sequence[int]) -> list[Anchor]:
        # With traits, wanted or not: the answer tells about all providers of a tree, and need not read them again.
        found = reading.load_those(self._connection, PROVIDERS.c.root_id, roots, traits=True)
        trees: dict[str, list[Line]] = {str(root): [] for root in roots}
        for line in found:
            trees[line[3]].append(line)
        members = {root: self._parser.members(trees[str(root)], self._sharing) for root in roots}
        sharing_in: dict[int, list[Provider]] = {}
        for provider in self._sharing.values():
            for aggregate in provider.aggregates:
                sharing_in.setdefault(aggregate, []).append(provider)
        served: dict[int, set[int]] = {}
        mentioned = self._aggregates | sharing_in.keys()
        if mentioned:
            local = {provider.id: provider for tree in members.values() for provider in tree}
            served = self._add_aggregates(local, mentioned, one_of(PROVIDERS.c.root_id, roots))
        result = []
        for root_id, tree in members.items():
            root = next((provider for provider in tree if provider.parent_id is None), None)
            if root is not None:
                guests = {p.id: p for aggregate in served.get(root_id, ()) for p in sharing_in.get(aggregate, ())}
                sharing = [guest for guest in guests.values() if guest.root_id != root_id]
                result.append(Anchor(root, tree, sharing, self._ancestors, trees[str(root_id)]))
        return result

    def _add_aggregates(
        self, found: dict[int, Provider], mentioned: set[int] | None, which: ColumnElement[bool]
    ) -> dict[int, set[int]]:
        """The aggregates that the providers are in (only those ``mentioned``, if given); returns them by root."""
        row = PROVIDER_AGGREGATES.c
        query = select(PROVIDERS.c.root_id, row.provider_id, row.aggregate_id).where(
            PROVIDERS.c.id == row.provider_id, which
        )
        if mentioned is not None:
            query = query.where(one_of(row.aggregate_id, mentioned))
        by_root: dict[int, set[int]] = {}
        for root_id, row_id, aggregate in self._connection.execute(query):
            by_root.setdefault(root_id, set()).add(aggregate)
            if row_id in found:
                found[row_id].aggregates.add(aggregate)
        return by_root
