"""The conditions of a request of candidates: one list, read as SQL, in a tree, and for what is left without some."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.conditions import (
    ISOLATE,
    Condition,
    Kind,
    of_aggregates,
    of_class,
    of_forbidden,
    of_forbidden_aggregate,
    of_free,
    of_root_forbidden,
    of_root_traits,
    of_subtree,
    of_traits,
    of_tree,
)
from baremetal_sched.baremetal.matching.masks import places
from baremetal_sched.baremetal.matching.question import (
    NEVER,
    Check,
    Question,
    Scope,
    conductor_check,
    lock_check,
    names_of,
    providers_source,
)
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION as VERSION
from baremetal_sched.baremetal.provider.availability import PROVIDER
from baremetal_sched.db.transaction import selecting
from baremetal_sched.placement import trait_ids
from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.candidates.request.resolve import by_ids, look_up, with_unknown
from baremetal_sched.placement.candidates.request.resolved_request import Group, ResolvedRequest
from baremetal_sched.placement.candidates.sql import conditions, single_provider
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider
from baremetal_sched.placement.candidates.trees.slots import can_satisfy, is_eligible
from baremetal_sched.placement.query_values import AggregateConditions, TraitConditions
from baremetal_sched.placement.schemas.common import INT32
from baremetal_sched.placement.tables import INVENTORIES

_ID = PROVIDER.c.id
_ROOT = PROVIDER.c.root_id
_ASKED = [INVENTORIES.alias(f"asked_{place}") for place in range(conditions.FEW)]

#: Conditions, each with a group that asks for nothing else.
Listed = Iterator[tuple[Condition, RequestGroup]]


def _of_group(group: RequestGroup, *, named: bool = True) -> Listed:
    """The conditions of a group. Without a suffix all aggregates are one condition: they are those of the provider, or
    all are those of its root. ``named``: whether ids say which group they are of."""
    traits, aggregates = group.traits, group.aggregates
    suffix = group.suffix if named else ""
    for name, amount in group.resources.items():
        yield of_class(name, amount, suffix), RequestGroup(group.suffix, {name: amount})
    for wanted in traits.required:
        yield of_traits(wanted, suffix), RequestGroup(group.suffix, traits=TraitConditions([wanted]))
    for name in sorted(traits.forbidden):
        yield of_forbidden(name, suffix), RequestGroup(group.suffix, traits=TraitConditions(forbidden={name}))
    sets = list(dict.fromkeys(aggregates.member_of))
    for some in [[each] for each in sets] if group.suffix else [sets] if sets else []:
        yield of_aggregates(some, suffix), RequestGroup(group.suffix, aggregates=AggregateConditions(some))
    for uuid in sorted(aggregates.forbidden):
        outside = AggregateConditions(forbidden={uuid})
        yield of_forbidden_aggregate(uuid, suffix), RequestGroup(group.suffix, aggregates=outside)
    if group.in_tree is not None:
        yield of_tree(group.in_tree, suffix), RequestGroup(group.suffix, in_tree=group.in_tree)


def _of_root(root: TraitConditions) -> Listed:
    """The conditions of the root of a tree."""
    for wanted in root.required:
        yield of_root_traits(wanted), RequestGroup("", traits=TraitConditions([wanted]))
    for name in sorted(root.forbidden):
        yield of_root_forbidden(name), RequestGroup("", traits=TraitConditions(forbidden={name}))


def without(request: CandidateRequest, drop: Collection[str]) -> CandidateRequest | None:
    """Return the request without the conditions that have these ids; None if nothing is asked for then.

    A group that is left without its resources is left out, and so is one without resources that no subtree names.
    """
    groups = {suffix: _joined(suffix, _of_group(group), drop) for suffix, group in request.groups.items()}
    subtrees = [named for named in request.same_subtrees if of_subtree(named).id not in drop]
    named = frozenset[str]().union(*subtrees)
    stays = {
        suffix: group
        for suffix, group in groups.items()
        if group.resources or (not request.groups[suffix].resources and suffix in named)
    }
    if not any(group.resources for group in stays.values()):
        return None
    return replace(
        request,
        groups=stays,
        group_policy="none" if ISOLATE in drop else request.group_policy,
        root_required=_joined("", _of_root(request.root_required), drop).traits,
        same_subtrees=[frozenset(rest) for rest in (each & stays.keys() for each in subtrees) if rest],
    )


def _joined(suffix: str, listed: Listed, drop: Collection[str]) -> RequestGroup:
    """The group that asks for all that is listed but for what is dropped."""
    stays = [group for condition, group in listed if condition.id not in drop]
    return RequestGroup(
        suffix,
        {name: amount for group in stays for name, amount in group.resources.items()},
        TraitConditions(
            [wanted for group in stays for wanted in group.traits.required],
            {name for group in stays for name in group.traits.forbidden},
        ),
        AggregateConditions(
            [some for group in stays for some in group.aggregates.member_of],
            {uuid for group in stays for uuid in group.aggregates.forbidden},
        ),
        next((group.in_tree for group in stays if group.in_tree), None),
    )


@dataclass(frozen=True)
class ProviderCondition:
    """A condition on a provider, with a group by ids that asks for nothing else.

    ``if_free``: what the provider could give counts, and not what it can give now. ``of_root``: the traits are those of
    the root of its tree; ``of_all``: those of all providers that may serve the tree.
    """

    condition: Condition
    group: Group
    if_free: bool = False
    of_root: bool = False
    of_all: bool = False

    def in_sql(self, stocks: Mapping[int, Any]) -> ColumnElement[bool]:
        """Return the condition on a row of ``PROVIDER``, made of the parts that the search uses. ``stocks``: its
        inventories, by class."""
        group, rows = self.group, (_ID,) if self.group.suffix else (_ID, _ROOT)
        clauses = [self._gives(class_id, amount, stocks) for class_id, amount in group.resources.items()]
        clauses += [self._has(wanted) for wanted in group.required]
        clauses += [~self._has(frozenset([trait])) for trait in group.forbidden]
        if group.member_of:
            members = [and_(*(conditions.in_aggregate(row, some) for some in group.member_of)) for row in rows]
            clauses.append(or_(*members))
        if group.not_member_of:
            clauses += [~conditions.in_aggregate(row, group.not_member_of) for row in rows]
        if group.tree is not None:
            clauses.append(_ROOT.in_([group.tree]))
        return and_(*clauses)

    def _gives(self, class_id: int, amount: int, stocks: Mapping[int, Any]) -> ColumnElement[bool]:
        if class_id < 0 or amount > INT32:
            return NEVER
        if class_id in stocks:
            fits = conditions.could_fit if self.if_free else conditions.fits
            return and_(*fits(stocks[class_id], class_id, amount))
        return (conditions.could_give if self.if_free else conditions.gives)(_ID, class_id, amount)

    def _has(self, traits: frozenset[int]) -> ColumnElement[bool]:
        if self.of_root:
            return conditions.has_trait(_ROOT, traits)
        return trait_ids.has_any(PROVIDER.c.trait_ids, traits)

    def holds(self, anchor: Anchor, now: Provider, free: Provider) -> bool:
        """Return whether a provider, as it is ``now`` and as it would be if everything were ``free``, meets it in the
        tree: by the search's own rules."""
        group, provider = self.group, free if self.if_free else now
        if self.of_root:
            return anchor.root.has(group.required, group.forbidden)
        if self.of_all:
            (traits,) = group.required
            return any(not traits.isdisjoint(each.traits) for each in (*anchor.local, *anchor.sharing))
        if group.suffix:
            return can_satisfy(group, provider)
        gives = all(provider.gives(*item) for item in group.resources.items())
        return gives and provider.has(group.required, frozenset()) and is_eligible(group, anchor, provider)


@dataclass(frozen=True)
class Part:
    """What one provider has to supply: a group with a suffix, or one class of the group without.

    ``checks`` are its conditions, in the order of the bits of masks.
    """

    parameter: str
    group: RequestGroup
    checks: list[ProviderCondition]

    @property
    def conditions(self) -> list[Condition]:
        """The conditions on a provider."""
        return [check.condition for check in self.checks]

    @property
    def classes(self) -> frozenset[str]:
        """The ids of the conditions on classes."""
        return frozenset(of_class(name, 0, self.group.suffix).id for name in self.group.resources)

    @property
    def asked(self) -> int:
        """The bits of what is asked for, whether it is free or not."""
        return sum((each.kind is Kind.REQUEST) << place for place, each in enumerate(self.conditions))

    def mask(self, anchor: Anchor, now: Provider, free: Provider) -> int:
        """Return which conditions a provider fails in the tree, a bit for each."""
        return sum((not check.holds(anchor, now, free)) << place for place, check in enumerate(self.checks))

    def failed(self, mask: int) -> list[Condition]:
        """Return the conditions of the mask, without those that are part of another one in it."""
        failed = {condition.id: condition for condition in (self.checks[place].condition for place in places(mask))}
        return [condition for condition in failed.values() if condition.part_of not in failed]


class ExplainedRequest:
    """A request by ids, in which unknown names have ids (negative ones) that nothing has.

    ``is_flat``: whether every candidate is one provider, so that one scan of the providers is a complete explanation.
    """

    def __init__(self, session: Session, request: CandidateRequest) -> None:
        connection = selecting(session)
        self.request = request
        self.ids = with_unknown(request, look_up(connection, request))
        self.wanted: ResolvedRequest = by_ids(request, self.ids, VERSION)
        self.is_flat = single_provider.applies(connection, self.wanted)

    def without(self, drop: frozenset[str]) -> ResolvedRequest | None:
        """Return the request by ids without these conditions; None if it asks for nothing then."""
        changed = without(self.request, drop)
        return None if changed is None else by_ids(changed, self.ids, VERSION)

    def question(self, context: MachineContext) -> Question:
        """Return the question which providers can give what the one group of a flat request asks for."""
        (group,) = self.request.groups.values()
        wanted = sorted(self.ids.classes[name] for name in group.resources if self.ids.classes[name] > 0)
        # More inventories than these are looked up one by one.
        stocks: dict[int, Any] = dict(zip(wanted, _ASKED, strict=False))
        source = providers_source(nodes_only=context.project is not None)
        for class_id, stock in stocks.items():
            # At most one row.
            source = source.outerjoin(stock, and_(stock.c.provider_id == _ID, stock.c.resource_class_id == class_id))
        checks = [Check(each.condition, each.in_sql(stocks)) for each in self._conditions(group, named=False)]
        return Question(
            [*checks, lock_check(counts=False), conductor_check(context.membership, counts=False)],
            source,
            context.usable(),
            of_providers=True,
            scope=_scope(group, stocks),
            names=names_of(self.request),
        )

    def parts(self) -> list[Part]:
        """Return the parts of the request, each with its parameter."""
        found = []
        for suffix, group in self.request.groups.items():
            if suffix or len(group.resources) == 1:
                found.append(Part(f"resources{suffix}", group, self._conditions(group)))
                continue
            for name, amount in group.resources.items():
                one = replace(group, resources={name: amount})
                # The traits are those of the providers that serve the classes, all together.
                found.append(Part(f"resources={name}:{amount}", one, self._conditions(one, of_all=True)))
        return found

    def _conditions(self, group: RequestGroup, *, named: bool = True, of_all: bool = False) -> list[ProviderCondition]:
        """Each condition once, those of what is free last."""
        listed: list[ProviderCondition] = []
        for condition, one in _of_group(group, named=named):
            free = [of_free(*amount, group.suffix if named else "") for amount in one.resources.items()]
            of_ids = self._by_ids(one)
            is_of_all = of_all and bool(of_ids.required)
            listed.append(ProviderCondition(condition, of_ids, if_free=bool(one.resources), of_all=is_of_all))
            listed += [ProviderCondition(each, of_ids) for each in free]
        for condition, one in _of_root(self.request.root_required):
            listed.append(ProviderCondition(condition, self._by_ids(one), of_root=True))
        unique = {each.condition.id: each for each in listed}
        return sorted(unique.values(), key=lambda each: each.condition.kind is not Kind.REQUEST)

    def _by_ids(self, group: RequestGroup) -> Group:
        (of_ids,) = by_ids(CandidateRequest({group.suffix: group}), self.ids, VERSION).groups
        return of_ids


def _scope(group: RequestGroup, stocks: Mapping[int, Any]) -> Scope | None:
    """Providers that have the class, if there is one: no change of the request makes it do without."""
    if len(group.resources) != 1 or not stocks:
        return None
    ((name, amount),), ((class_id, stock),) = group.resources.items(), stocks.items()
    failed = (of_class(name, amount).id, of_free(name, amount).id)
    count = select(func.count()).select_from(stock).where(stock.c.resource_class_id == class_id)
    return Scope(failed, stock.c.provider_id.is_not(None), stock.c.provider_id, count)
