"""Loading trees, and the providers that share with them: a constant number of statements for a batch of trees."""

from collections.abc import Iterator, Sequence

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.db import packing
from baremetal_sched.db.packing import concatenated, constant, number
from baremetal_sched.placement.candidates import anchors
from baremetal_sched.placement.candidates.conditions import Conditions, has_class, one_of
from baremetal_sched.placement.candidates.flat import SHARING_TRAIT
from baremetal_sched.placement.candidates.trees import Anchor, Inventory, Provider, Wanted
from baremetal_sched.placement.tables import INVENTORIES, PROVIDER_AGGREGATES, PROVIDER_TRAITS, PROVIDERS, TRAITS

#: Trees in one batch.
_BATCH = 200

_NOTHING = constant("0")

#: A line is a provider and one of its inventories; what is not there is 0, which nothing has as an id.
_LINES = packing.packed(
    PROVIDERS.c.id,
    concatenated(
        *(number(PROVIDERS.c.id), ",", number(PROVIDERS.c.root_id), ","),
        *(func.coalesce(number(PROVIDERS.c.parent_id), _NOTHING), ","),
        func.coalesce(
            concatenated(
                *(number(INVENTORIES.c.resource_class_id), ",", number(INVENTORIES.c.free), ","),
                *(number(INVENTORIES.c.min_unit), ",", number(INVENTORIES.c.max_unit), ","),
                number(INVENTORIES.c.step_size),
            ),
            _NOTHING,
        ),
    ),
)


class World:
    """What of the database matters to a request. Iterating yields anchors, as far as they are asked for."""

    def __init__(self, session: Session, wanted: Wanted, limit: int | None) -> None:
        self._session = session
        self._wanted = wanted
        self._limit = limit
        groups = wanted.groups
        self._classes = sorted(wanted.class_names)
        self._least = min(amount for group in groups for amount in group.resources.values())
        self._traits = sorted(
            wanted.root_forbidden.union(
                *wanted.root_required, *(group.forbidden.union(*group.required) for group in groups)
            )
        )
        self._aggregates = {aggregate for group in groups for aggregate in group.not_member_of.union(*group.member_of)}
        self._sharing = self._load_sharing()
        self._ancestors = self._load_ancestors()

    def __iter__(self) -> Iterator[Anchor]:
        size = min(max(self._limit or _BATCH, 10), _BATCH)
        for roots in anchors.batches(self._session, self._wanted, list(self._sharing.values()), size):
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
            sharing &= has_class(PROVIDERS.c.id, frozenset(self._classes))
        found = self._providers(sharing)
        if found:
            self._add_traits(found, sharing)
            self._add_aggregates(found, None, sharing)
        for provider in found.values():
            provider.shares = True
        return found

    def _load_ancestors(self) -> dict[int, int | None]:
        """Parents in the trees that those who share are in, if anybody asks for subtrees."""
        roots = {provider.root_id for provider in self._sharing.values()}
        if not roots or not self._wanted.same_subtrees:
            return {}
        query = select(PROVIDERS.c.id, PROVIDERS.c.parent_id).where(_in_trees(sorted(roots)))
        return {row_id: parent_id for row_id, parent_id in self._session.execute(query)}

    def _load_trees(self, roots: Sequence[int]) -> list[Anchor]:
        of_these = _in_trees(roots)
        found = self._providers(of_these)
        self._add_traits(found, of_these)
        served: dict[int, set[int]] = {}
        sharing_in: dict[int, list[Provider]] = {}
        for provider in self._sharing.values():
            for aggregate in provider.aggregates:
                sharing_in.setdefault(aggregate, []).append(provider)
        mentioned = self._aggregates | sharing_in.keys()
        if mentioned:
            served = self._add_aggregates(found, mentioned, of_these)
        local: dict[int, list[Provider]] = {root: [] for root in roots}
        for provider in found.values():
            provider.shares = provider.id in self._sharing
            local[provider.root_id].append(provider)
        result = []
        for root in roots:
            if root in found:
                guests = {p.id: p for aggregate in served.get(root, ()) for p in sharing_in.get(aggregate, ())}
                sharing = [guest for guest in guests.values() if guest.root_id != root]
                parents = {provider.id: provider.parent_id for provider in local[root]} | self._ancestors
                result.append(Anchor(found[root], local[root], sharing, parents))
        return result

    def _providers(self, which: ColumnElement[bool]) -> dict[int, Provider]:
        """SELECT (many lines) FROM resource_providers p LEFT JOIN inventories i
        ON i.provider_id = p.id AND i.resource_class_id IN (requested) AND i.free >= (the least that is requested)
        WHERE … GROUP BY p.id >> 6
        """
        p, i = PROVIDERS.c, INVENTORIES.c
        matters = and_(i.provider_id == p.id, i.resource_class_id.in_(self._classes), i.free >= self._least)
        query = (
            select(_LINES)
            .select_from(PROVIDERS.outerjoin(INVENTORIES, matters))
            .where(which, *self._matter())
            .group_by(packing.packet(p.id))
        )
        found: dict[int, Provider] = {}
        for line in packing.lines(self._session.scalars(query)):
            row_id, root_id, parent_id, resource_class, *inventory = map(int, line.split(","))
            provider = found.get(row_id)
            if provider is None:
                provider = found[row_id] = Provider(row_id, root_id, parent_id or None)
            if inventory:
                provider.inventories[resource_class] = Inventory._make(inventory)
        return found

    def _matter(self) -> Conditions:
        """Who has nothing that is requested matters as a root, to groups that request nothing, and as an ancestor."""
        if not all(group.resources for group in self._wanted.groups):
            return []
        matter: Conditions = [INVENTORIES.c.provider_id.is_not(None), PROVIDERS.c.parent_id.is_(None)]
        if self._wanted.same_subtrees:
            child = PROVIDERS.alias()
            matter.append(exists().where(child.c.parent_id == PROVIDERS.c.id))
        return [or_(*matter)]

    def _add_traits(self, found: dict[int, Provider], which: ColumnElement[bool]) -> None:
        """Those of the request's traits that the providers have."""
        if not self._traits:
            return
        query = select(PROVIDER_TRAITS.c.provider_id, PROVIDER_TRAITS.c.trait_id).where(
            PROVIDERS.c.id == PROVIDER_TRAITS.c.provider_id, which, PROVIDER_TRAITS.c.trait_id.in_(self._traits)
        )
        for row_id, trait in self._session.execute(query):
            if row_id in found:
                found[row_id].traits.add(trait)

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
        for root_id, row_id, aggregate in self._session.execute(query):
            by_root.setdefault(root_id, set()).add(aggregate)
            if row_id in found:
                found[row_id].aggregates.add(aggregate)
        return by_root


def _in_trees(roots: Sequence[int]) -> ColumnElement[bool]:
    return one_of(PROVIDERS.c.root_id, roots)
