"""The conditions of a query of allocation candidates, group by group, made of the parts that the search uses."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import ColumnElement, and_, func, select, true

from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.matching import wording
from baremetal_sched.baremetal.matching.masks import Kind
from baremetal_sched.baremetal.matching.question import (
    NEVER,
    Asker,
    Check,
    Names,
    Question,
    Scope,
    conductor_check,
    lock_check,
    providers_source,
)
from baremetal_sched.baremetal.matching.reasons import PROVIDER
from baremetal_sched.explain.tree_parts import Asked
from baremetal_sched.placement import trait_ids
from baremetal_sched.placement.candidates.request.query import RequestGroup
from baremetal_sched.placement.candidates.request.resolve import Ids
from baremetal_sched.placement.candidates.sql import conditions
from baremetal_sched.placement.query_values import TraitConditions
from baremetal_sched.placement.schemas.common import INT32
from baremetal_sched.placement.tables import INVENTORIES

_ID = PROVIDER.c.id
_ROOT = PROVIDER.c.root_id
_ASKED = [INVENTORIES.alias(f"asked_{place}") for place in range(conditions.FEW)]


def question(asked: Asked, membership: Membership, asker: Asker) -> Question:
    """Return the question which providers can give what the one group of a flat request asks for."""
    request, ids = asked.request, asked.known
    (group,) = request.groups.values()
    stocks = _stocks(group, ids)
    listed = [
        *_classes(group, ids, stocks),
        *_traits(group.traits, ids),
        *_places(group, ids),
        *_of_root(request.root_required, ids),
    ]
    unique = {check.condition.id: check for check in listed}
    checks = sorted(unique.values(), key=lambda check: check.condition.kind is not Kind.REQUEST)
    return Question(
        [*checks, lock_check(counts=False), conductor_check(membership, counts=False)],
        _with_stocks(providers_source(asker), stocks),
        asker.usable(),
        Names(sorted(group.resources), sorted(group.traits.names() | request.root_required.names())),
        of_providers=True,
        scope=_scope(group, ids, stocks),
    )


def _stocks(group: RequestGroup, ids: Ids) -> dict[int, Any]:
    """Aliases of the inventories of the classes, by their ids, unless there are too many."""
    wanted = sorted({ids.classes[name] for name in group.resources if name in ids.classes})
    return dict(zip(wanted, _ASKED, strict=False))


def _with_stocks(source: Any, stocks: Mapping[int, Any]) -> Any:
    """LEFT JOIN inventories i ON i.provider_id = p.id AND i.resource_class_id = …, for each: at most one row."""
    for class_id, stock in stocks.items():
        source = source.outerjoin(stock, and_(stock.c.provider_id == _ID, stock.c.resource_class_id == class_id))
    return source


def _scope(group: RequestGroup, ids: Ids, stocks: Mapping[int, Any]) -> Scope | None:
    """Providers that have the class, if there is one: no change of the request makes it do without."""
    if len(group.resources) != 1:
        return None
    ((name, amount),) = group.resources.items()
    if name not in ids.classes:
        return None
    stock, failed = stocks[ids.classes[name]], (wording.of_class(name, amount).id, wording.of_free(name, amount).id)
    count = select(func.count()).select_from(stock).where(stock.c.resource_class_id == ids.classes[name])
    return Scope(failed, stock.c.provider_id.is_not(None), stock.c.provider_id, count)


def _classes(group: RequestGroup, ids: Ids, stocks: Mapping[int, Any]) -> Iterator[Check]:
    for name, amount in group.resources.items():
        class_id = ids.classes.get(name)
        if class_id is None or amount > INT32:
            could_give = gives = NEVER
        elif class_id in stocks:
            could_give = and_(*conditions.could_fit(stocks[class_id], class_id, amount))
            gives = and_(*conditions.fits(stocks[class_id], class_id, amount))
        else:
            could_give = conditions.could_give(_ID, class_id, amount)
            gives = conditions.gives(_ID, class_id, amount)
        yield Check(wording.of_class(name, amount), could_give)
        yield Check(wording.of_free(name, amount), gives)


def _traits(asked: TraitConditions, ids: Ids) -> Iterator[Check]:
    own = PROVIDER.c.trait_ids
    for wanted in asked.required:
        known = frozenset(ids.traits[name] for name in wanted if name in ids.traits)
        yield Check(wording.of_traits(wanted), trait_ids.has_any(own, known) if known else NEVER)
    for name in sorted(asked.forbidden):
        lacks = ~trait_ids.has_any(own, [ids.traits[name]]) if name in ids.traits else true()
        yield Check(wording.of_forbidden(name), lacks)


def _of_root(asked: TraitConditions, ids: Ids) -> Iterator[Check]:
    for wanted in asked.required:
        known = frozenset(ids.traits[name] for name in wanted if name in ids.traits)
        yield Check(wording.of_root_traits(wanted), conditions.has_trait(_ROOT, known) if known else NEVER)
    for name in sorted(asked.forbidden):
        lacks = ~conditions.has_trait(_ROOT, frozenset([ids.traits[name]])) if name in ids.traits else true()
        yield Check(wording.of_root_forbidden(name), lacks)


def _places(group: RequestGroup, ids: Ids) -> Iterator[Check]:
    """Aggregates and the tree. Without a suffix, all aggregates that are asked for are those of the provider, or all
    are those of its root: they are one condition."""
    asked, rows = group.aggregates, (_ID,) if group.suffix else (_ID, _ROOT)
    sets = list(dict.fromkeys(asked.member_of))
    for wanted in [[each] for each in sets] if group.suffix else [sets] if sets else []:
        known = [frozenset(ids.aggregates[uuid] for uuid in each if uuid in ids.aggregates) for each in wanted]
        member = NEVER
        if all(known):
            for row in rows:
                member = member | _in_all(row, known)
        yield Check(wording.of_aggregates(wanted), member)
    for uuid in sorted(asked.forbidden):
        outside: ColumnElement[bool] = true()
        if uuid in ids.aggregates:
            for row in rows:
                outside = outside & ~conditions.in_aggregate(row, frozenset([ids.aggregates[uuid]]))
        yield Check(wording.of_forbidden_aggregate(uuid), outside)
    if group.in_tree is not None:
        root = ids.roots.get(group.in_tree)
        inside = NEVER if root is None else _ROOT.in_([root])
        yield Check(wording.of_tree(group.in_tree), inside)


def _in_all(row: ColumnElement[int], wanted: list[frozenset[int]]) -> ColumnElement[bool]:
    found: ColumnElement[bool] = true()
    for each in wanted:
        found = found & conditions.in_aggregate(row, each)
    return found
