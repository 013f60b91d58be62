"""The conditions of a request of candidates: one list, read as SQL, in a tree, and for requests without some of
them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.conditions import (
    CLASS,
    NEVER,
    Condition,
    Kind,
    of_class,
    of_conductor,
    of_free,
    of_lock,
    opened,
)
from baremetal_sched.baremetal.matching.masks import Analysis, places
from baremetal_sched.baremetal.matching.question import (
    Question,
    Scope,
    names_of,
    of_group,
    of_root,
    providers_source,
    without,
)
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION as VERSION
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.baremetal.matching.tree_shapes import BASE_CLASSES, Forest
from baremetal_sched.baremetal.provider.availability import PROVIDER
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Domain, DomainMember, Node
from baremetal_sched.db.types import selecting
from baremetal_sched.placement import trait_ids
from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.candidates.request.resolve import by_ids, look_up, with_unknown
from baremetal_sched.placement.candidates.request.resolved_request import Group, ResolvedRequest
from baremetal_sched.placement.candidates.sql import conditions, single_provider
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit
from baremetal_sched.placement.candidates.trees.enumeration import candidates
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider, can_satisfy, is_eligible
from baremetal_sched.placement.names import is_custom
from baremetal_sched.placement.schemas.common import INT32
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS

_ID = PROVIDER.c.id
_ROOT = PROVIDER.c.root_id
_ASKED = [INVENTORIES.alias(f"asked_{place}") for place in range(conditions.FEW)]


@dataclass(frozen=True)
class _Reading:
    """The readings of a condition on a provider, made of a request group by ids that asks for nothing else.

    ``if_free``: the amounts that the provider could give count, not the amounts that are free now. ``of_root``: the
    traits are those of the root of its tree; ``of_all``: those of all providers that may serve the tree. ``by_node``:
    other conditions tell whether a node is closed.
    """

    group: Group
    if_free: bool = False
    of_root: bool = False
    of_all: bool = False
    by_node: bool = False

    def in_sql(self, stocks: Mapping[int, Any]) -> ColumnElement[bool]:
        """Return the condition on a row of ``PROVIDER``, made of the parts that the search uses. ``stocks``: its
        inventories, by class."""
        group, rows = self.group, (_ID,) if self.group.suffix else (_ID, _ROOT)
        clauses = [self._gives(class_id, amount, stocks) for class_id, amount in group.resources.items()]
        clauses += [self._has(traits) for traits in group.required]
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
            *suits, is_open = fits(stocks[class_id], class_id, amount)
            if self.by_node and not self.if_free:
                is_open = or_(is_open, Node.id.is_not(None))
            return and_(*suits, is_open)
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
    """The part of a request that one provider must supply: a request group with a suffix, or one class of that without.

    ``conditions`` are in the order of the bits of masks.
    """

    parameter: str
    group: RequestGroup
    conditions: list[Condition]

    @property
    def classes(self) -> frozenset[str]:
        """The ids of the conditions on classes."""
        return frozenset(of_class(name, 0, self.group.suffix).id for name in self.group.resources)

    @property
    def request_bits(self) -> int:
        """The bits of the requested amounts, free or not."""
        return sum((each.kind is Kind.REQUEST) << place for place, each in enumerate(self.conditions))

    def mask(self, anchor: Anchor, now: Provider, free: Provider) -> int:
        """Return which conditions a provider fails in the tree, a bit for each."""
        return sum((not each.in_tree(anchor, now, free)) << place for place, each in enumerate(self.conditions))

    def failed(self, mask: int) -> list[Condition]:
        """Return the conditions of the mask, except parts of another one in it."""
        failed = {self.conditions[place].id: self.conditions[place] for place in places(mask)}
        return [condition for condition in failed.values() if condition.part_of not in failed]


class ExplainedRequest:
    """A request by ids, in which unknown names have ids (negative ones) that nothing has.

    ``is_flat``: whether every candidate is one provider, so that one scan of the providers is a complete explanation.
    The domains of nodes that may be ``named`` are named.
    """

    def __init__(self, session: Session, request: CandidateRequest, named: Visibility) -> None:
        connection = selecting(session)
        self.request = request
        self.ids = with_unknown(request, look_up(connection, request))
        self.resolved: ResolvedRequest = by_ids(request, self.ids, VERSION)
        self.is_flat = single_provider.applies(connection, self.resolved)
        self._domains = _domains_in(connection, request, named)

    def without(self, drop: frozenset[str]) -> ResolvedRequest | None:
        """Return the request by ids without these conditions; None if it asks for nothing then."""
        changed = without(self.request, drop)
        return None if changed is None else by_ids(changed, self.ids, VERSION)

    def question(self, context: MachineContext) -> Question:
        """Return the question which providers can supply the one request group of a flat request."""
        (group,) = self.request.groups.values()
        by_node = not context.opening.is_plain
        class_ids = sorted(self.ids.classes[name] for name in group.resources if self.ids.classes[name] > 0)
        # More inventories than these are looked up one by one.
        stocks: dict[int, Any] = dict(zip(class_ids, _ASKED, strict=False))
        source = providers_source(nodes_only=context.project is not None)
        for class_id, stock in stocks.items():
            # At most one row.
            source = source.outerjoin(stock, and_(stock.c.provider_id == _ID, stock.c.resource_class_id == class_id))
        return Question(
            [
                *self._conditions(group, stocks, named=False, by_node=by_node),
                *opened(context.opening)[0 if by_node else 2 :],
                of_lock(counts=False),
                of_conductor(context.membership, counts=False),
            ],
            source,
            context.usable(),
            of_providers=True,
            scope=_scope(group, stocks),
            names=names_of(self.request),
        )

    def parts(self) -> list[Part]:
        """Return the parts of the request, each with its parameter."""
        parts = []
        for suffix, group in self.request.groups.items():
            if suffix or len(group.resources) == 1:
                parts.append(Part(f"resources{suffix}", group, self._conditions(group)))
                continue
            for name, amount in group.resources.items():
                one = replace(group, resources={name: amount})
                # The traits are those of the providers that serve the classes, all together.
                parts.append(Part(f"resources={name}:{amount}", one, self._conditions(one, of_all=True)))
        return parts

    def _conditions(
        self,
        group: RequestGroup,
        stocks: Mapping[int, Any] | None = None,
        *,
        named: bool = True,
        of_all: bool = False,
        by_node: bool = False,
    ) -> list[Condition]:
        """Each condition once, those of availability last; with ``stocks`` they can be read in SQL."""
        listed: list[Condition] = []

        def add(condition: Condition, of_ids: Group, **scope: bool) -> None:
            reading = _Reading(of_ids, by_node=by_node, **scope)
            holds = condition.holds if stocks is None else reading.in_sql(stocks)
            text = condition.text
            for uuid, name in self._domains.items():
                text = text.replace(uuid, f"{uuid} ({name})")
            listed.append(replace(condition, text=text, holds=holds, in_tree=reading.holds))

        for condition, one in of_group(group, named=named):
            of_ids = self._by_ids(one)
            add(condition, of_ids, if_free=bool(one.resources), of_all=of_all and bool(of_ids.required))
            for amount in one.resources.items():
                add(of_free(*amount, group.suffix if named else ""), of_ids)
        for condition, one in of_root(self.request.root_required):
            add(condition, self._by_ids(one), of_root=True)
        unique = {each.id: each for each in listed}
        return sorted(unique.values(), key=lambda each: each.kind is not Kind.REQUEST)

    def _by_ids(self, group: RequestGroup) -> Group:
        (of_ids,) = by_ids(CandidateRequest({group.suffix: group}), self.ids, VERSION).groups
        return of_ids


def _domains_in(connection: Connection, request: CandidateRequest, visible: Visibility) -> dict[str, str]:
    """Return the level and the name of each aggregate of the request that is a domain, such as ``rack r1``, by UUID. Of
    callers who do not see everything only those with visible nodes."""
    requested = [group.aggregates for group in request.groups.values()]
    uuids = {uuid for each in requested for some in (*each.member_of, each.forbidden) for uuid in some}
    if not uuids:
        return {}
    query = select(Domain.uuid, Domain.level, Domain.name).where(Domain.uuid.in_(uuids))
    if not visible.everything:
        members = (DomainMember.domain_id == Domain.id, *visible.conditions_behind(DomainMember.node_id))
        query = query.where(exists().where(*members))
    found = connection.execute(query)
    return {uuid: f"{level} {name}" for uuid, level, name in found}


def _scope(group: RequestGroup, stocks: Mapping[int, Any]) -> Scope | None:
    """Providers that have the class, if there is one: no change of the request makes it do without."""
    if len(group.resources) != 1 or not stocks:
        return None
    ((name, amount),), ((class_id, stock),) = group.resources.items(), stocks.items()
    failed = (of_class(name, amount).id, of_free(name, amount).id)
    count = select(func.count()).select_from(stock).where(stock.c.resource_class_id == class_id)
    return Scope(failed, stock.c.provider_id.is_not(None), stock.c.provider_id, count)


# -- nodes whose trees serve a request as a whole: what a scan of nodes cannot tell ------------------------------------

#: Conditions on the tree of a node as a whole.
_OF_TREE = (CLASS, "trait:")


def fits_if_free(context: MachineContext, request: TreeRequest, question: Question, limit: TimeLimit) -> bool:
    """Return whether there would be a candidate if all machines that meet the conditions were free.

    A scan counts the resources of a tree as the node's own, and two groups may need the same provider of it. Raises
    TookTooLong.
    """
    explained = ExplainedRequest(context.session, request.parsed(), context.named)
    roots = tree_roots(question, if_free=True)
    forest = Forest(replace(context, project=request.project), explained.resolved, roots, limit)
    free = (shape.free for shape in forest.shapes)
    return next(candidates(explained.resolved, free, time_limit=limit), None) is not None


def tree_roots(question: Question, *, if_free: bool) -> ColumnElement[bool]:
    """Return the condition on ``PROVIDERS`` that the root is a node which meets all conditions that are not about its
    tree.

    ``if_free``: only the conditions of the request count, not the node's availability.

    p.root_id IN (SELECT m.id FROM <nodes> WHERE <all conditions that are not about the tree>)
    """
    held = [
        condition.holds
        for condition in question.conditions
        if condition.counts
        and not condition.id.startswith(_OF_TREE)
        and (condition.kind is Kind.REQUEST or not if_free)
    ]
    roots: Select[tuple[int]] = select(PROVIDER.c.id).select_from(question.source).where(*question.where, *held)
    return PROVIDERS.c.root_id.in_(roots)


def hint(request: CandidateRequest, analysis: Analysis) -> str:
    """Return the remedy, with a blank before it, if machines fail because they lack the base classes."""
    missing = {condition.id.removeprefix(CLASS) for condition, _ in analysis.decisive}
    if missing.isdisjoint(BASE_CLASSES):
        return ""
    names = {name for group in request.groups.values() for name in group.resources}
    overrides = ", ".join(f"resources:{name}=0" for name in BASE_CLASSES if name in names)
    begin = "" if any(map(is_custom, names)) else " Request machines by a custom resource class."
    return f"{begin} A custom resource class does not switch the base classes off: add {overrides} to the flavor."
