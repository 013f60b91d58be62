"""Why no machine fits a server: the conditions on nodes that the search checks, and what its owner is told."""

from functools import partial

from sqlalchemy import ColumnElement, Select, and_, exists, false, or_, select
from sqlalchemy.orm import Session, aliased

from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.matching import sentences
from baremetal_sched.baremetal.matching.conditions import CLASS, Condition, Kind, of_class, of_forbidden, of_traits
from baremetal_sched.baremetal.matching.explanation import why_none, within_time
from baremetal_sched.baremetal.matching.masks import Analysis, Verdict
from baremetal_sched.baremetal.matching.question import (
    Asker,
    Check,
    Question,
    availability_checks,
    claim_check,
    conductor_check,
    lock_check,
    names_of,
    nodes_source,
)
from baremetal_sched.baremetal.matching.tree_shapes import Forest
from baremetal_sched.baremetal.provider.availability import PROVIDER
from baremetal_sched.compute.hosts.host_choice import VERSION, HostRequest
from baremetal_sched.compute.server_history import Reason
from baremetal_sched.db.models import Inventory, Node, ProviderTrait, ResourceClass, ResourceProvider, Trait
from baremetal_sched.db.transaction import selecting
from baremetal_sched.errors import SchedulerError
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.candidates.request.resolve import by_ids, look_up, with_unknown
from baremetal_sched.placement.candidates.sql import single_provider
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit
from baremetal_sched.placement.candidates.trees.enumeration import candidates
from baremetal_sched.placement.names import is_custom
from baremetal_sched.placement.schemas.common import INT32
from baremetal_sched.placement.tables import PROVIDERS
from baremetal_sched.placement.traits import SHARING_TRAIT
from baremetal_sched.settings import Settings

#: Classes that a flavor asks for unless it says otherwise, and that machines do not have.
_BASE_CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")

#: What is asked of the tree of a node as a whole.
_OF_TREE = (CLASS, "trait:")

#: Verdicts on machines that have what is asked for, and cannot be had now.
HELD_BACK = (Verdict.BUSY, Verdict.UNSERVED)

_BEGIN = "No valid host was found."

_provider = aliased(ResourceProvider)
_member = aliased(ResourceProvider)


def question(wanted: HostRequest, request: CandidateRequest, membership: Membership) -> Question:
    """Return the question which nodes can be the host of ``wanted``, whose query is ``request``.

    Amounts and traits are those of the node's whole tree. Nodes that the project may not use are excluded.
    """
    return Question(
        [
            *wanted.places(),
            *_asked(request),
            *availability_checks(),
            claim_check(),
            lock_check(counts=True),
            conductor_check(membership, counts=True),
        ],
        nodes_source(),
        wanted.usable(),
        names_of(request),
        capabilities=wanted.extra_specs,
    )


def explain(
    session: Session, wanted: HostRequest, membership: Membership, settings: Settings, *, waits: bool = False
) -> Reason:
    """Return why no node fits ``wanted``, for the user. Nodes of other projects are not counted.

    ``waits``: whether a node may fit later is wanted to be known for certain, as far as the time allows.
    """
    try:
        request = wanted.parsed(None)
    except SchedulerError as error:
        return Reason(because(error))
    asked = question(wanted, request, membership)
    found = why_none(session, settings, asked)
    if found is None:
        return Reason(f"{_BEGIN} {sentences.FALLBACK}", passes=True)
    # The search found no candidate: it looks for all resources in one tree.
    analysis = found.analysis
    said = sentences.together(analysis.fitting) if analysis.fitting else found.summary
    passes = analysis.verdict in HELD_BACK
    # A node may have become free since the search.
    if passes or (waits and analysis.verdict is Verdict.FITS):
        look = partial(_fits_if_free, session, wanted, request, asked, settings)
        fits = within_time(session, settings, look)
        said = sentences.together(analysis.among, if_free=True) if passes and fits is False else said
        passes = fits is not False
    return Reason(f"{_BEGIN} {said}{hint(request, analysis)}", passes=passes)


def _fits_if_free(
    session: Session,
    wanted: HostRequest,
    request: CandidateRequest,
    question: Question,
    settings: Settings,
    limit: TimeLimit,
) -> bool:
    """Return whether there would be a candidate if all machines that meet the conditions were free.

    A scan takes what a node has for what its tree has as a whole, and two groups may need the same provider of it.
    """
    connection = selecting(session)
    resolved = by_ids(request, with_unknown(request, look_up(connection, request)), VERSION)
    if single_provider.applies(connection, resolved):
        return True
    roots, most = tree_roots(question, if_free=True), settings.scheduling.explain_max_nodes
    forest = Forest(session, resolved, Asker(wanted.project), roots, most, limit)
    free = (shape.free for shape in forest.shapes)
    return next(candidates(resolved, free, time_limit=limit), None) is not None


def tree_roots(question: Question, *, if_free: bool) -> ColumnElement[bool]:
    """Return the condition on ``PROVIDERS`` that the root is a node which meets all that is not asked of its tree.

    ``if_free``: only what is asked for counts, not what holds the node back.

    p.root_id IN (SELECT m.id FROM <nodes> WHERE <all that is not asked of the tree>)
    """
    held = [
        check.holds
        for check in question.checks
        if check.condition.counts
        and not check.condition.id.startswith(_OF_TREE)
        and (check.condition.kind is Kind.REQUEST or not if_free)
    ]
    roots: Select[tuple[int]] = select(PROVIDER.c.id).select_from(question.source).where(*question.where, *held)
    return PROVIDERS.c.root_id.in_(roots)


def because(error: SchedulerError) -> str:
    """Return what the user is told of a search that could not be made."""
    return f"{_BEGIN} {str(error).rstrip('.')}."


def hint(request: CandidateRequest, found: Analysis) -> str:
    """Return what to do if machines fail because they lack the base classes, with a blank before it."""
    missing = {condition.id.removeprefix(CLASS) for condition, _ in found.decisive}
    if missing.isdisjoint(_BASE_CLASSES):
        return ""
    asked = {name for group in request.groups.values() for name in group.resources}
    overrides = ", ".join(f"resources:{name}=0" for name in _BASE_CLASSES if name in asked)
    begin = "" if any(map(is_custom, asked)) else " Request machines by a custom resource class."
    return f"{begin} A custom resource class does not switch the base classes off: add {overrides} to the flavor."


def _asked(request: CandidateRequest) -> list[Check]:
    """Return the checks of the groups, each on the tree as a whole: custom classes first, then others, then traits."""
    groups = request.groups.values()
    amounts: dict[str, int] = {}
    for group in groups:
        for name, amount in group.resources.items():
            amounts[name] = max(amount, amounts.get(name, 0))
    ordered = sorted(amounts, key=lambda name: (not is_custom(name), name not in _BASE_CLASSES, _place(name), name))
    required = {name for group in groups for names in group.traits.required if len(names) == 1 for name in names}
    forbidden = {name for group in groups if not group.suffix for name in group.traits.forbidden}
    return [
        *(Check(_class(name, amounts[name]), _offers(name, amounts[name])) for name in ordered),
        *(Check(of_traits(frozenset([name])), _has_trait(name)) for name in sorted(required)),
        *(Check(of_forbidden(name), ~_has_trait(name, root=True)) for name in sorted(forbidden)),
    ]


def _class(name: str, amount: int) -> Condition:
    return Condition(f"{CLASS}{name}", f"offers {name}") if amount == 1 else of_class(name, amount)


def _place(resource_class: str) -> int:
    """Return the position of a base class among the base classes; 0 for other classes."""
    return _BASE_CLASSES.index(resource_class) if resource_class in _BASE_CLASSES else 0


def _offers(name: str, amount: int) -> ColumnElement[bool]:
    """Return the condition that the node's tree has the amount of the class, in use or not; shared resources count for
    every node.

    EXISTS (SELECT … FROM resource_providers m WHERE m.root_id = <the node's root> AND EXISTS ( SELECT … FROM
    inventories i JOIN resource_classes c … WHERE i.provider_id = m.id AND c.name = :name AND i.total - i.reserved >=
    :amount)) OR EXISTS (the same of an m that shares)

    Nested, so that a database looks at the tree of each node, and not at all providers of the class.
    """
    if amount > INT32:
        return false()  # more than any column holds: databases refuse to compare it
    shares = exists().where(
        ProviderTrait.provider_id == _member.id, Trait.id == ProviderTrait.trait_id, Trait.name == SHARING_TRAIT
    )
    total = Inventory.total - Inventory.reserved
    of_class = (
        ResourceClass.name == name,
        Inventory.resource_class_id == ResourceClass.id,
        Inventory.provider_id == _member.id,
    )
    own = or_(total >= amount, and_(_member.uuid == Node.uuid, Inventory.total >= amount))
    stock = exists().where(*of_class, own).correlate_except(Inventory, ResourceClass)
    local = exists().where(_in_tree(), stock).correlate_except(_member, _provider)
    shared = exists().where(*of_class, total >= amount, shares)
    return or_(local, shared)


def _has_trait(name: str, *, root: bool = False) -> ColumnElement[bool]:
    """Return the condition that a provider of the node's tree, or its root, has the trait."""
    of_tree = _member.uuid == Node.uuid if root else _in_tree()
    has = exists().where(
        Trait.name == name, ProviderTrait.trait_id == Trait.id, ProviderTrait.provider_id == _member.id
    )
    found: ColumnElement[bool] = (
        exists().where(of_tree, has.correlate_except(Trait, ProviderTrait)).correlate_except(_member, _provider)
    )
    return found


def _in_tree() -> ColumnElement[bool]:
    """A member of the node's tree. (PostgreSQL takes ten times as long if the root is a subquery.)"""
    return and_(_provider.uuid == Node.uuid, _member.root_id == _provider.root_id)
