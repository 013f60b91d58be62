"""Finding the roots of trees that may have candidates, without looking into every tree.

A tree is looked into if, for each thing that one provider must give, a provider in it or one that shares with it can
give that thing. What providers can give together is decided later, in ``trees``.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, literal_column, or_, select

from baremetal_sched.db.types import Query
from baremetal_sched.placement.candidates.request.resolved_request import Group, ResolvedRequest
from baremetal_sched.placement.candidates.sql import conditions
from baremetal_sched.placement.candidates.sql.conditions import Column, Conditions, Source
from baremetal_sched.placement.candidates.trees.providers import Provider, can_satisfy
from baremetal_sched.placement.tables import INVENTORIES, PROVIDER_AGGREGATES, PROVIDERS

#: Each page of roots is at most this many times the one before, up to the largest: few pages, however many roots.
_GROWTH = 4
_SMALLEST, _LARGEST = 10, 100_000

_PROVIDER = PROVIDERS.alias("provider")
_STOCK = INVENTORIES.alias("stock")
_ROOT = PROVIDERS.alias("root")
_MEMBER = PROVIDERS.alias("member")
_MEMBERSHIP = PROVIDER_AGGREGATES.alias("membership")


@dataclass
class Need:
    """A need that one provider must serve: all of a group with a suffix, or one class of the group without.
    ``aggregates`` are those of the sharing providers that could.
    """

    group: Group
    resources: Mapping[int, int]
    aggregates: set[int]
    shareable: bool


@dataclass
class PageSizer:
    """How many roots to look for at once: not many more than will be needed.

    ``first``: how many there are in the first page at most. ``found``: how many candidates (of at most ``limit``) there
    are so far, which the caller updates.
    """

    limit: int | None
    first: int
    found: int = 0
    _size: int = 0
    _before: int = 0

    def next_size(self) -> int:
        """The size of the next page, if those before were full."""
        gained, self._before = self.found - self._before, self.found
        if not self._size:
            self._size = min(max(self.limit or self.first, _SMALLEST), self.first)
            return self._size
        size, self._size = self._size, min(self._size * _GROWTH, _LARGEST)
        # A page that brought nothing says nothing of how many more it takes.
        if self.limit is not None and gained:
            needed = (self.limit - self.found) * size // gained
            self._size = min(self._size, needed + needed // 16 + _SMALLEST)
        return self._size


def batches(
    connection: Connection, resolved: ResolvedRequest, sharing: Sequence[Provider], page_sizer: PageSizer
) -> Iterator[list[int]]:
    """Ids of roots, each once, a page at a time; always the same order for the same data."""
    if resolved.anchor is not None:
        yield [resolved.anchor]
        return
    needs = _needs(resolved, sharing)
    pinned = {need.group.tree for need in needs if need.group.tree is not None and not need.shareable}
    if pinned:
        if len(pinned) == 1:
            yield [root for root in pinned if root is not None]
        return
    local = [(need, name) for need in needs if not need.shareable for name in need.resources]
    if local:
        driver = min(local, key=lambda pair: pair[1] not in resolved.few_classes)
        yield from _by_inventory(connection, resolved, needs, *driver, page_sizer)
    else:
        yield from _by_root(connection, resolved, needs, page_sizer)


def _needs(resolved: ResolvedRequest, sharing: Sequence[Provider]) -> list[Need]:
    needs = []
    for group in resolved.groups:
        if group.suffix:
            able = [provider for provider in sharing if can_satisfy(group, provider)]
            needs.append(Need(group, group.resources, _aggregates(able), bool(able)))
            continue
        for item in group.resources.items():
            able = [] if group.tree is not None else [provider for provider in sharing if provider.gives(*item)]
            needs.append(Need(group, dict([item]), _aggregates(able), bool(able)))
    return list({_condition(need): need for need in needs}.values())


def _condition(need: Need) -> Hashable:
    """Return the need without the name of its group. Equal needs are looked up only once."""
    group, resources = need.group, frozenset(need.resources.items())
    traits, aggregates = (group.required, group.forbidden), (group.member_of, group.not_member_of)
    return bool(group.suffix), resources, traits, aggregates, group.tree, frozenset(need.aggregates), need.shareable


def _aggregates(providers: Sequence[Provider]) -> set[int]:
    return set[int]().union(*(provider.aggregates for provider in providers))


def _by_inventory(
    connection: Connection, resolved: ResolvedRequest, needs: list[Need], need: Need, name: int, page_sizer: PageSizer
) -> Iterator[list[int]]:
    """SELECT i.free, i.provider_id, p.root_id FROM inventories i JOIN resource_providers p ON p.id = i.provider_id
    WHERE i.resource_class_id = :c AND i.free >= :n AND … AND p is able to serve the rest of the need
    AND (for every other need: a provider in p's tree, or one that shares)
    AND (i.free, i.provider_id) comes after the last row seen
    ORDER BY i.free, i.provider_id LIMIT :size
    """
    provider, inventory = _PROVIDER, _STOCK
    rest = Need(need.group, {key: value for key, value in need.resources.items() if key != name}, set(), False)
    query: Query = (
        select(inventory.c.free, inventory.c.provider_id, provider.c.root_id)
        .select_from(inventory.join(provider, provider.c.id == inventory.c.provider_id))
        .where(*conditions.fits(inventory, name, need.resources[name]))
        .where(*_able(provider, rest))
        .where(*_on_root(provider.c.root_id, resolved))
        .where(*_all_served(provider.c.root_id, [other for other in needs if other is not need]))
    )
    page = query = conditions.by_index(query.order_by(inventory.c.free, inventory.c.provider_id), inventory)
    seen: set[int] = set()
    while True:
        size = page_sizer.next_size()
        rows = connection.execute(page.limit(size)).all()
        fresh = dict.fromkeys(root_id for _, _, root_id in rows if root_id not in seen)
        seen.update(fresh)
        if fresh:
            yield list(fresh)
        if len(rows) < size:
            return
        free, row_id, _ = rows[-1]
        after = or_(inventory.c.free > free, inventory.c.provider_id > row_id)
        page = query.where(inventory.c.free >= free, after)


def _by_root(
    connection: Connection, resolved: ResolvedRequest, needs: list[Need], page_sizer: PageSizer
) -> Iterator[list[int]]:
    """SELECT r.id FROM resource_providers r
    WHERE r.parent_id IS NULL AND (for every need: a provider in r's tree, or one that shares) AND r.id > :last
    ORDER BY r.id LIMIT :size
    """
    root = _ROOT
    query = (
        select(root.c.id)
        .where(root.c.parent_id.is_(None), *_on_root(root.c.id, resolved))
        .where(*_all_served(root.c.id, needs))
        .order_by(root.c.id)
    )
    last = 0
    while True:
        size = page_sizer.next_size()
        roots = list(connection.scalars(query.where(root.c.id > last).limit(size)))
        if roots:
            yield roots
        if len(roots) < size:
            return
        last = roots[-1]


def _on_root(root_id: Column, resolved: ResolvedRequest) -> Conditions:
    return conditions.has_traits(root_id, resolved.root_required, resolved.root_forbidden)


def _all_served(root_id: Column, needs: Sequence[Need]) -> Conditions:
    return conditions.unjoined([_some_provider(root_id, need) for need in needs])


def _some_provider(root_id: Column, need: Need) -> ColumnElement[bool]:
    """EXISTS (SELECT 1 FROM resource_providers m WHERE m.root_id = … AND m is able)
    OR EXISTS (SELECT 1 FROM resource_providers m JOIN provider_aggregates a ON a.provider_id = m.id
               WHERE m.root_id = … AND a.aggregate_id IN (those of providers that share))
    """
    member, row = _MEMBER, _MEMBERSHIP
    one: Column = literal_column("1")
    able = select(one).select_from(member).where(member.c.root_id == root_id, *_able(member, need))
    local = able.correlate_except(member).exists()
    if not need.aggregates:
        return local
    guests = (
        select(one)
        .select_from(member.join(row, row.c.provider_id == member.c.id))
        .where(member.c.root_id == root_id, conditions.one_of(row.c.aggregate_id, need.aggregates))
    )
    return or_(local, guests.correlate_except(member, row).exists())


def _able(provider: Source, need: Need) -> Conditions:
    """The conditions on a provider of the tree that serves the need, as far as they depend on the provider itself."""
    group = need.group
    able = conditions.unjoined([conditions.gives(provider.c.id, *item) for item in need.resources.items()])
    able += conditions.has_traits(provider.c.id, group.required if group.suffix else (), group.forbidden)
    if group.suffix:
        able += conditions.in_aggregates(provider.c.id, group)
    if group.tree is not None:
        able.append(provider.c.root_id == group.tree)
    return able
