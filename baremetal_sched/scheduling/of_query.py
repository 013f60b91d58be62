"""The conditions of a query of allocation candidates, group by group, made of the parts that the search uses."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, exists, select, true
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.ownership import Membership
from baremetal_sched.db.transaction import selecting
from baremetal_sched.placement import names
from baremetal_sched.placement.candidates import conditions, flat
from baremetal_sched.placement.candidates.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.candidates.wanted import Fixed, Group, Wanted
from baremetal_sched.placement.query_values import TraitConditions
from baremetal_sched.placement.schemas.common import INT32
from baremetal_sched.placement.tables import AGGREGATES, PROVIDER_TRAITS, PROVIDERS
from baremetal_sched.scheduling.masks import Condition, Kind
from baremetal_sched.scheduling.question import (
    AVAILABILITY,
    NEVER,
    Asker,
    Check,
    Names,
    Question,
    conductor_check,
    lock_check,
    providers_source,
)
from baremetal_sched.scheduling.reasons import PROVIDER

_ID = PROVIDER.c.id
_ROOT = PROVIDER.c.root_id
_MEMBER = PROVIDERS.alias("tree_member")


@dataclass(frozen=True)
class Ids:
    """Ids by name, of what there is of what a request names."""

    classes: Mapping[str, int]
    traits: Mapping[str, int]
    aggregates: Mapping[str, int]
    roots: Mapping[str, int]


def look_up(session: Session, request: CandidateRequest) -> Ids:
    """Return the ids of what the request names, as far as there is such a thing."""
    groups = request.groups.values()
    aggregates = {uuid for group in groups for uuid in group.aggregates.forbidden.union(*group.aggregates.member_of)}
    trees = {group.in_tree for group in groups if group.in_tree is not None}
    asked = names_of(request)
    return Ids(
        names.ids_of_classes(session, asked.classes),
        names.ids_of_traits(session, asked.traits),
        dict(session.execute(select(AGGREGATES.c.uuid, AGGREGATES.c.id).where(AGGREGATES.c.uuid.in_(aggregates))).all())
        if aggregates
        else {},
        dict(session.execute(select(PROVIDERS.c.uuid, PROVIDERS.c.root_id).where(PROVIDERS.c.uuid.in_(trees))).all())
        if trees
        else {},
    )


def names_of(request: CandidateRequest) -> Names:
    """Return the classes and traits that the request names, sorted."""
    groups = request.groups.values()
    classes = {name for group in groups for name in group.resources}
    traits = request.root_required.names().union(*(group.traits.names() for group in groups))
    return Names(sorted(classes), sorted(traits))


def is_flat(session: Session, request: CandidateRequest, ids: Ids) -> bool:
    """Return whether every candidate is one provider: whether one scan of the providers says all."""
    if len(request.groups) > 1:
        return False
    (group,) = request.groups.values()
    wanted = Wanted(
        groups=(
            Group(
                group.suffix,
                Fixed((ids.classes.get(name, 0), amount) for name, amount in group.resources.items()),
                not_member_of=frozenset(ids.aggregates.get(uuid, 0) for uuid in group.aggregates.forbidden),
            ),
        ),
        class_names=Fixed(),
        root_required=tuple(frozenset([0]) for _ in request.root_required.required),
        root_forbidden=frozenset([0]) if request.root_required.forbidden else frozenset(),
    )
    # A class that nobody has (0) is in no tree; names of the same class are the same class.
    return flat.applies(selecting(session), wanted)


def parts(request: CandidateRequest) -> list[tuple[str, RequestGroup]]:
    """Return what one provider has to give each, with its parameter: a group with a suffix, or one class of that
    without."""
    found = []
    for suffix, group in request.groups.items():
        if suffix or len(group.resources) <= 1:
            found.append((f"resources{suffix}", group))
            continue
        for name, amount in group.resources.items():
            one = RequestGroup("", {name: amount}, group.traits, group.aggregates, group.in_tree)
            found.append((f"resources={name}:{amount}", one))
    return found


def question(
    request: CandidateRequest,
    group: RequestGroup,
    ids: Ids,
    membership: Membership,
    asker: Asker,
    *,
    of_tree: bool = False,
) -> Question:
    """Return the question which providers can give what ``group`` asks for.

    ``of_tree``: the group is a part of one whose other parts may be given by other providers of the tree: traits that
    are required may be there.
    """
    asked = [
        *_classes(group, ids),
        *_traits(group.traits, ids, of_tree=of_tree),
        *_places(group, ids),
        *_of_root(request.root_required, ids),
    ]
    unique = {check.condition.id: check for check in asked}
    checks = sorted(unique.values(), key=lambda check: check.condition.kind is not Kind.REQUEST)
    return Question(
        [*checks, lock_check(counts=False), conductor_check(membership, counts=False)],
        providers_source(asker),
        asker.usable(),
        Names(sorted(group.resources), sorted(group.traits.names() | request.root_required.names())),
        of_providers=True,
    )


def _classes(group: RequestGroup, ids: Ids) -> Iterator[Check]:
    for name, amount in group.resources.items():
        class_id = ids.classes.get(name)
        possible = class_id is not None and amount <= INT32
        condition = Condition(f"class:{name}", f"can give {amount} of {name}")
        free = Condition(f"{AVAILABILITY}{name}", f"has {amount} of {name} free", Kind.AVAILABILITY, condition.id)
        yield Check(condition, conditions.could_give(_ID, class_id, amount) if possible else NEVER)
        yield Check(free, conditions.gives(_ID, class_id, amount) if possible else NEVER)


def _traits(asked: TraitConditions, ids: Ids, *, of_tree: bool) -> Iterator[Check]:
    for wanted in asked.required:
        known = frozenset(ids.traits[name] for name in wanted if name in ids.traits)
        has = _tree_has(known) if of_tree else conditions.has_trait(_ID, known) if known else NEVER
        yield Check(_of_traits("trait", wanted), has if known else NEVER)
    for name in sorted(asked.forbidden):
        lacks = ~conditions.has_trait(_ID, frozenset([ids.traits[name]])) if name in ids.traits else true()
        yield Check(Condition(f"trait:!{name}", f"does not have {name}"), lacks)


def _of_root(asked: TraitConditions, ids: Ids) -> Iterator[Check]:
    for wanted in asked.required:
        known = frozenset(ids.traits[name] for name in wanted if name in ids.traits)
        has = conditions.has_trait(_ROOT, known) if known else NEVER
        yield Check(_of_traits("root", wanted), has)
    for name in sorted(asked.forbidden):
        lacks = ~conditions.has_trait(_ROOT, frozenset([ids.traits[name]])) if name in ids.traits else true()
        yield Check(Condition(f"root:!{name}", f"the root of its tree does not have {name}"), lacks)


def _of_traits(kind: str, wanted: frozenset[str]) -> Condition:
    begin = "the root of its tree has " if kind == "root" else "has "
    several = sorted(wanted)
    if len(several) == 1:
        return Condition(f"{kind}:{several[0]}", begin + several[0])
    return Condition(f"{kind}:in:{','.join(several)}", begin + " or ".join(several))


def _tree_has(traits: frozenset[int]) -> ColumnElement[bool]:
    return exists().where(
        _MEMBER.c.root_id == _ROOT,
        PROVIDER_TRAITS.c.provider_id == _MEMBER.c.id,
        PROVIDER_TRAITS.c.trait_id.in_(traits),
    )


def _places(group: RequestGroup, ids: Ids) -> Iterator[Check]:
    """Aggregates and the tree. Without a suffix, all aggregates that are asked for are those of the provider, or all
    are those of its root: they are one condition."""
    asked, rows = group.aggregates, (_ID,) if group.suffix else (_ID, _ROOT)
    sets = list(dict.fromkeys(asked.member_of))
    for wanted in [[each] for each in sets] if group.suffix else [sets] if sets else []:
        known = [frozenset(ids.aggregates[uuid] for uuid in each if uuid in ids.aggregates) for each in wanted]
        named = ";".join(_aggregates(each) for each in wanted)
        member = NEVER
        if all(known):
            for row in rows:
                member = member | _in_all(row, known)
        yield Check(Condition(f"aggregate:{named}", f"is in aggregate {named}"), member)
    for uuid in sorted(asked.forbidden):
        outside: ColumnElement[bool] = true()
        if uuid in ids.aggregates:
            for row in rows:
                outside = outside & ~conditions.in_aggregate(row, frozenset([ids.aggregates[uuid]]))
        yield Check(Condition(f"aggregate:!{uuid}", f"is not in aggregate {uuid}"), outside)
    if group.in_tree is not None:
        root = ids.roots.get(group.in_tree)
        inside = NEVER if root is None else _ROOT.in_([root])
        yield Check(Condition(f"tree:{group.in_tree}", f"is in the tree of {group.in_tree}"), inside)


def _in_all(row: ColumnElement[int], wanted: list[frozenset[int]]) -> ColumnElement[bool]:
    found: ColumnElement[bool] = true()
    for each in wanted:
        found = found & conditions.in_aggregate(row, each)
    return found


def _aggregates(uuids: frozenset[str]) -> str:
    return next(iter(uuids)) if len(uuids) == 1 else f"in:{','.join(sorted(uuids))}"
