"""A request as ids of the database, by one statement."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from typing import Any

from sqlalchemy import Connection, bindparam, literal_column, null, select, union_all

from baremetal_sched.db import compiled
from baremetal_sched.db.models import ResourceClass, Trait
from baremetal_sched.db.types import Query, process_cache
from baremetal_sched.errors.placement import TraitNotFound, UnknownClassInQuery
from baremetal_sched.placement import name_memory
from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.candidates.request.resolved_request import FrozenDict, Group, ResolvedRequest
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

#: Up to this many rows are few: a search starts from them.
_FEW = 300

#: A statement for more names than this is not kept: it takes a kilobyte for each, and there may be many of them.
_MANY = 40

#: A process that remembers no name asks for this many names of each kind along with those it needs: the newest, which
#: are custom ones. Otherwise each of them would take a statement of its own a moment later.
_AHEAD = 64

_MODELS: dict[str, type[ResourceClass] | type[Trait]] = {"class": ResourceClass, "trait": Trait}
_KINDS = {"class": "classes", "trait": "traits", "aggregate": "aggregates", "tree": "roots"}


@dataclass
class Ids:
    """Ids by name; ``few`` are the ids of classes, traits and aggregates that few providers have."""

    classes: dict[str, int] = field(default_factory=dict)
    traits: dict[str, int] = field(default_factory=dict)
    aggregates: dict[str, int] = field(default_factory=dict)
    roots: dict[str, int] = field(default_factory=dict)
    few: dict[str, set[int]] = field(default_factory=lambda: {"class": set(), "trait": set(), "aggregate": set()})

    def add(self, kind: str, name: str, row_id: int, *, few: bool) -> None:
        """Add the id of a name."""
        getattr(self, _KINDS[kind])[name] = row_id
        if few and kind in self.few:
            self.few[kind].add(row_id)


def resolve(
    connection: Connection, request: CandidateRequest, version: int, *, unknown_traits: bool = False
) -> ResolvedRequest | None:
    """The request by ids; None if nothing can fit: an unknown aggregate or tree, an amount beyond every inventory.

    Raises UnknownClassInQuery and TraitNotFound for unknown classes and traits, in whatever group they are. With
    ``unknown_traits`` a trait that does not exist is one that no provider has: TraitNotFound is raised only if all that
    are accepted are unknown.
    """
    ids = look_up(connection, request)
    if unknown_traits:
        request = _without_unknown(request, ids)
    resources, traits = _mentioned(request)
    for name in resources:
        if name not in ids.classes:
            raise UnknownClassInQuery(resource_class=name)
    unknown = sorted(traits - ids.traits.keys())
    if unknown:
        raise TraitNotFound(traits=", ".join(unknown))
    return _resolved(request, ids, version)


def _without_unknown(request: CandidateRequest, ids: Ids) -> CandidateRequest:
    """Return the request without unknown traits that are forbidden, or accepted beside a known one."""
    _, traits = _mentioned(request)
    if traits <= ids.traits.keys():
        return request
    groups = {name: replace(group, traits=group.traits.among(ids.traits)) for name, group in request.groups.items()}
    return replace(request, groups=groups, root_required=request.root_required.among(ids.traits))


def recall(connection: Connection, request: CandidateRequest, version: int) -> ResolvedRequest | None:
    """Like ``resolve``, but from what that looked up a moment ago; None if it did not.

    A name may be gone by now, or stand for another id (the rule is in ``name_memory``). Trees and aggregates are not
    remembered, because their members change: the request must name none (``names_places``).
    """
    known, ids = name_memory.of(connection).searched_ids(), Ids()
    for kind, names in zip(_MODELS, _mentioned(request), strict=True):
        for name in names:
            found = known.get((kind, name))
            if found is None:
                return None
            ids.add(kind, name, found[0], few=found[1])
    return _resolved(request, ids, version)


def names_places(request: CandidateRequest) -> bool:
    """Return whether the request names trees or aggregates."""
    return request.anchor is not None or any(
        group.in_tree or group.aggregates.member_of or group.aggregates.forbidden for group in request.groups.values()
    )


def needs_all(request: CandidateRequest) -> bool:
    """Return whether every candidate must have all classes and traits that the request names. Then nothing is found
    for a deleted one, whatever has its name by now."""
    conditions = [request.root_required, *(group.traits for group in request.groups.values())]
    return all(not one.forbidden and all(len(names) == 1 for names in one.required) for one in conditions)


def _mentioned(request: CandidateRequest) -> tuple[list[str], set[str]]:
    """Return the classes and traits that the request names."""
    groups = request.groups.values()
    resources = list(dict.fromkeys(name for group in groups for name in group.resources))
    traits = request.root_required.names().union(*(group.traits.names() for group in groups))
    return resources, traits


def _resolved(request: CandidateRequest, ids: Ids, version: int) -> ResolvedRequest | None:
    if not all(_is_possible(group, ids) for group in request.groups.values()):
        return None
    if request.anchor is not None and request.anchor not in ids.roots:
        return None
    return by_ids(request, ids, version)


def by_ids(request: CandidateRequest, ids: Ids, version: int) -> ResolvedRequest:
    """Return the request by ids. ``ids`` must hold every name in it, except aggregates."""
    root = request.root_required
    return ResolvedRequest(
        groups=tuple(_group(group, ids) for group in request.groups.values()),
        class_names=FrozenDict((row_id, name) for name, row_id in ids.classes.items()),
        trait_names=FrozenDict((row_id, name) for name, row_id in ids.traits.items()),
        isolate=request.group_policy == "isolate",
        same_subtrees=tuple(request.same_subtrees),
        root_required=_required(root, ids),
        root_forbidden=frozenset(ids.traits[name] for name in root.forbidden),
        one_per_tree=version < TREES_SINCE,
        few_classes=frozenset(ids.few["class"]),
        few_traits=frozenset(ids.few["trait"]),
        few_aggregates=frozenset(ids.few["aggregate"]),
        anchor=None if request.anchor is None else ids.roots[request.anchor],
    )


def _is_possible(group: RequestGroup, ids: Ids) -> bool:
    known = all(not wanted.isdisjoint(ids.aggregates) for wanted in group.aggregates.member_of)
    amounts = all(amount <= INT32 for amount in group.resources.values())
    return known and amounts and group.in_tree in (None, *ids.roots)


def _group(group: RequestGroup, ids: Ids) -> Group:
    aggregates = ids.aggregates
    member_of = tuple(
        frozenset(aggregates[uuid] for uuid in wanted if uuid in aggregates) for wanted in group.aggregates.member_of
    )
    return Group(
        suffix=group.suffix,
        resources=FrozenDict((ids.classes[name], amount) for name, amount in group.resources.items()),
        required=_required(group.traits, ids),
        forbidden=frozenset(ids.traits[name] for name in group.traits.forbidden),
        member_of=member_of,
        not_member_of=frozenset(aggregates[uuid] for uuid in group.aggregates.forbidden if uuid in aggregates),
        tree=None if group.in_tree is None else ids.roots[group.in_tree],
    )


def _required(conditions: TraitConditions, ids: Ids) -> tuple[frozenset[int], ...]:
    return tuple(frozenset(ids.traits[name] for name in wanted) for wanted in conditions.required)


def _asked(request: CandidateRequest) -> dict[str, Collection[str]]:
    """Return the names in the request, by kind."""
    groups = request.groups.values()
    classes, traits = _mentioned(request)
    aggregates = set[str]().union(*(group.aggregates.forbidden.union(*group.aggregates.member_of) for group in groups))
    trees = {tree for tree in (request.anchor, *(group.in_tree for group in groups)) if tree is not None}
    return {"class": classes, "trait": traits, "aggregate": aggregates, "tree": trees}


def with_unknown(request: CandidateRequest, ids: Ids) -> Ids:
    """Return the ids of the request's names; unknown names get ids that do not exist."""
    none, found = count(-1, -1), Ids()
    for kind, names in _asked(request).items():
        known = getattr(ids, _KINDS[kind])
        for name in sorted(names):
            found.add(kind, name, known.get(name) or next(none), few=False)
    return found


def look_up(connection: Connection, request: CandidateRequest) -> Ids:
    """Return the ids of the names in the request, without unknown ones."""
    asked = _asked(request)
    memory = name_memory.of(connection)
    known = memory.searched_ids()
    ahead = process_cache(connection) is not None and not known
    counts = [(kind, len(names)) for kind, names in asked.items() if names]
    given = {f"{kind}_{place}": name for kind, names in asked.items() for place, name in enumerate(names)}
    ids = Ids()
    if sum(number for _, number in counts) > _MANY:
        rows = connection.execute(_statement.__wrapped__(*counts, ahead=ahead), given)
    else:
        rows = compiled.run(connection, _statement(*counts, ahead=ahead), given)
    for kind, name, row_id, many in rows:
        if name in asked[kind]:
            ids.add(kind, name, row_id, few=not many)
        if kind in _MODELS:
            known[kind, name] = (row_id, not many)
            memory.names[_MODELS[kind]][row_id] = name
    return ids


@lru_cache(maxsize=1000)
def _statement(*asked: tuple[str, int], ahead: bool) -> Query:
    """SELECT 'class', c.name, c.id, (SELECT 1 FROM inventories i WHERE i.resource_class_id = c.id AND i.free > 0
                                      ORDER BY i.free DESC LIMIT 1 OFFSET 300)
    FROM resource_classes c WHERE c.name IN (:class_0, …)
    UNION ALL the same for traits, aggregates (by UUID) and trees (by the UUID of a member)
    and, if ``ahead``, UNION ALL the same for the newest classes and traits.

    It is kept for all requests with these numbers of names: making it takes longer than running it.
    """
    parts = [_NAMED[kind](tuple(bindparam(f"{kind}_{place}") for place in range(n))) for kind, n in asked]
    return union_all(*parts, *(_NEWEST if ahead else ()))


def _named(kind: str, table: Any, key: Any, name: Any, has: Any) -> Query:
    """Names of ``table``: their kind, name and id, and whether more than a few providers have them."""
    many = has.limit(literal_column("1")).offset(literal_column(str(_FEW))).correlate(table).scalar_subquery()
    return select(literal_column(f"'{kind}'"), name, key, many)


def _member(names: tuple[Any, ...]) -> Query:
    return select(literal_column("'tree'"), PROVIDERS.c.uuid, PROVIDERS.c.root_id, null()).where(
        PROVIDERS.c.uuid.in_(names)
    )


def _class(table: Any) -> Query:
    """The free ones come last in the index, and may be few among very many."""
    stock = INVENTORIES.c
    has: Query = select(literal_column("1")).where(stock.resource_class_id == table.c.id, stock.free > 0)
    return _named("class", table, table.c.id, table.c.name, has.order_by(stock.free.desc()))


def _trait(table: Any) -> Query:
    has: Query = select(literal_column("1")).where(PROVIDER_TRAITS.c.trait_id == table.c.id)
    return _named("trait", table, table.c.id, table.c.name, has)


def _aggregate(table: Any) -> Query:
    has: Query = select(literal_column("1")).where(PROVIDER_AGGREGATES.c.aggregate_id == table.c.id)
    return _named("aggregate", table, table.c.id, table.c.uuid, has)


def _newest(table: Any) -> Any:
    """(SELECT id, name FROM … ORDER BY id DESC LIMIT 64)"""
    rows = select(table.c.id, table.c.name).order_by(table.c.id.desc()).limit(literal_column(str(_AHEAD)))
    return rows.subquery(f"newest_{table.name}")


_NAMED: dict[str, Callable[[tuple[Any, ...]], Query]] = {
    "class": lambda names: _class(CLASSES).where(CLASSES.c.name.in_(names)),
    "trait": lambda names: _trait(TRAITS).where(TRAITS.c.name.in_(names)),
    "aggregate": lambda names: _aggregate(AGGREGATES).where(AGGREGATES.c.uuid.in_(names)),
    "tree": _member,
}
_NEWEST = (_class(_newest(CLASSES)), _trait(_newest(TRAITS)))
