"""A request as ids of the database, by one statement."""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import Connection, bindparam, literal_column, null, select, union_all

from baremetal_sched.db import kept
from baremetal_sched.db.transaction import remembered
from baremetal_sched.db.types import Query
from baremetal_sched.errors.placement import TraitNotFound, UnknownClassInQuery
from baremetal_sched.placement.candidates.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.candidates.trees import Fixed, Group, Wanted
from baremetal_sched.placement.query_values import TraitConditions
from baremetal_sched.placement.schemas.common import INT32
from baremetal_sched.placement.tables import (
    AGGREGATES,
    CLASSES,
    INVENTORIES,
    PROVIDER_AGGREGATES,
    PROVIDER_TRAITS,
    PROVIDERS,
    TRAITS,
)

TREES_SINCE = 29

#: So many rows are few; a search had better start from them.
_FEW = 300

#: So many seconds it may be remembered what a name's id is and whether few providers have it.
_FRESH = 60.0
_FORGOTTEN = (0, False, -_FRESH)


_KINDS = {"class": "classes", "trait": "traits", "aggregate": "aggregates", "tree": "roots"}


@dataclass
class Ids:
    """Ids by name, and the ids of those that few providers have."""

    classes: dict[str, int] = field(default_factory=dict)
    traits: dict[str, int] = field(default_factory=dict)
    aggregates: dict[str, int] = field(default_factory=dict)
    roots: dict[str, int] = field(default_factory=dict)
    few: dict[str, set[int]] = field(default_factory=lambda: {"class": set(), "trait": set(), "aggregate": set()})

    def add(self, kind: str, name: str, row_id: int, *, few: bool) -> None:
        """Note what a name stands for."""
        getattr(self, _KINDS[kind])[name] = row_id
        if few and kind in self.few:
            self.few[kind].add(row_id)


def resolve(connection: Connection, request: CandidateRequest, version: int) -> Wanted | None:
    """The request by ids; None if nothing can fit: an unknown aggregate or tree, an amount beyond every inventory.

    Raises UnknownClassInQuery and TraitNotFound for unknown classes and traits, in whatever group they are.
    """
    resources, traits = _mentioned(request)
    ids = _look_up(connection, request, resources, traits)
    for name in resources:
        if name not in ids.classes:
            raise UnknownClassInQuery(resource_class=name)
    unknown = sorted(traits - ids.traits.keys())
    if unknown:
        raise TraitNotFound(traits=", ".join(unknown))
    return _wanted(request, ids, version)


def recall(connection: Connection, request: CandidateRequest, version: int) -> Wanted | None:
    """Like ``resolve``, but from what that looked up a moment ago; None if it did not.

    A name may be gone by now, or stand for another id: a search has to ask for both. Trees and aggregates are not
    remembered, because who belongs to them changes: the request has to name none (``names_places``).
    """
    memory, oldest, ids = _memory(connection), time.monotonic() - _FRESH, Ids()
    for kind, names in zip(("class", "trait"), _mentioned(request), strict=True):
        for name in names:
            row_id, few, when = memory.get((kind, name), _FORGOTTEN)
            if when < oldest:
                return None
            ids.add(kind, name, row_id, few=few)
    return _wanted(request, ids, version)


def names_places(request: CandidateRequest) -> bool:
    """Does the request ask for trees or aggregates?"""
    return any(
        group.in_tree or group.aggregates.member_of or group.aggregates.forbidden for group in request.groups.values()
    )


def _mentioned(request: CandidateRequest) -> tuple[list[str], set[str]]:
    """The classes and traits of a request."""
    groups = request.groups.values()
    resources = list(dict.fromkeys(name for group in groups for name in group.resources))
    traits = request.root_required.names().union(*(group.traits.names() for group in groups))
    return resources, traits


def _wanted(request: CandidateRequest, ids: Ids, version: int) -> Wanted | None:
    resolved = [_group(group, ids) for group in request.groups.values()]
    possible = [group for group in resolved if group is not None]
    if len(possible) < len(resolved):
        return None
    root = request.root_required
    return Wanted(
        groups=tuple(possible),
        class_names=Fixed((row_id, name) for name, row_id in ids.classes.items()),
        trait_names=Fixed((row_id, name) for name, row_id in ids.traits.items()),
        isolate=request.group_policy == "isolate",
        same_subtrees=tuple(request.same_subtrees),
        root_required=_required(root, ids),
        root_forbidden=frozenset(ids.traits[name] for name in root.forbidden),
        one_per_tree=version < TREES_SINCE,
        few_classes=frozenset(ids.few["class"]),
        few_traits=frozenset(ids.few["trait"]),
        few_aggregates=frozenset(ids.few["aggregate"]),
    )


def _group(group: RequestGroup, ids: Ids) -> Group | None:
    aggregates = ids.aggregates
    member_of = tuple(
        frozenset(aggregates[uuid] for uuid in wanted if uuid in aggregates) for wanted in group.aggregates.member_of
    )
    possible = all(member_of) and all(amount <= INT32 for amount in group.resources.values())
    if not possible or group.in_tree not in (None, *ids.roots):
        return None
    return Group(
        suffix=group.suffix,
        resources=Fixed((ids.classes[name], amount) for name, amount in group.resources.items()),
        required=_required(group.traits, ids),
        forbidden=frozenset(ids.traits[name] for name in group.traits.forbidden),
        member_of=member_of,
        not_member_of=frozenset(aggregates[uuid] for uuid in group.aggregates.forbidden if uuid in aggregates),
        tree=None if group.in_tree is None else ids.roots[group.in_tree],
    )


def _required(conditions: TraitConditions, ids: Ids) -> tuple[frozenset[int], ...]:
    return tuple(frozenset(ids.traits[name] for name in wanted) for wanted in conditions.required)


def _look_up(
    connection: Connection, request: CandidateRequest, classes: Collection[str], traits: Collection[str]
) -> Ids:
    groups = request.groups.values()
    aggregates = set[str]().union(*(group.aggregates.forbidden.union(*group.aggregates.member_of) for group in groups))
    trees = {group.in_tree for group in groups if group.in_tree is not None}
    asked = {"class": classes, "trait": traits, "aggregate": aggregates, "tree": trees}
    query = _statement(*((kind, len(names)) for kind, names in asked.items() if names))
    given = {f"{kind}_{place}": name for kind, names in asked.items() for place, name in enumerate(names)}
    ids, memory, now = Ids(), _memory(connection), time.monotonic()
    for kind, name, row_id, many in kept.run(connection, query, given):
        ids.add(kind, name, row_id, few=not many)
        if kind in ("class", "trait"):
            memory[kind, name] = (row_id, not many, now)
    return ids


@lru_cache(maxsize=1000)
def _statement(*asked: tuple[str, int]) -> Query:
    """SELECT 'class', c.name, c.id, (SELECT 1 FROM inventories i WHERE i.resource_class_id = c.id AND i.free > 0
                                      LIMIT 1 OFFSET 300) FROM resource_classes c WHERE c.name IN (:class_0, …)
    UNION ALL the same for traits, aggregates (by UUID) and trees (by the UUID of a member)

    It is kept for all requests that ask for so many names of these kinds: making it takes longer than running it.
    """
    return union_all(*(_NAMED[kind](tuple(bindparam(f"{kind}_{place}") for place in range(n))) for kind, n in asked))


def _memory(connection: Connection) -> dict[tuple[str, str], tuple[int, bool, float]]:
    """Ids by kind and name, whether few providers have it, and when that was looked up."""
    memory: dict[tuple[str, str], tuple[int, bool, float]] = remembered(connection).setdefault(Ids, {})
    return memory


def _named(kind: str, name: Any, row_id: Any, has: tuple[Any, ...], names: tuple[Any, ...]) -> Query:
    many: Query = select(literal_column("1")).where(*has).limit(literal_column("1")).offset(literal_column(str(_FEW)))
    return select(literal_column(f"'{kind}'"), name, row_id, many.correlate(name.table).scalar_subquery()).where(
        name.in_(names)
    )


def _member(names: tuple[Any, ...]) -> Query:
    return select(literal_column("'tree'"), PROVIDERS.c.uuid, PROVIDERS.c.root_id, null()).where(
        PROVIDERS.c.uuid.in_(names)
    )


_STOCK, _TRAIT, _PLACE = INVENTORIES.c, PROVIDER_TRAITS.c, PROVIDER_AGGREGATES.c
_NAMED: dict[str, Callable[[tuple[Any, ...]], Query]] = {
    "class": partial(
        _named, "class", CLASSES.c.name, CLASSES.c.id, (_STOCK.resource_class_id == CLASSES.c.id, _STOCK.free > 0)
    ),
    "trait": partial(_named, "trait", TRAITS.c.name, TRAITS.c.id, (_TRAIT.trait_id == TRAITS.c.id,)),
    "aggregate": partial(
        _named, "aggregate", AGGREGATES.c.uuid, AGGREGATES.c.id, (_PLACE.aggregate_id == AGGREGATES.c.id,)
    ),
    "tree": _member,
}
