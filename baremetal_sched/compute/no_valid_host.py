"""Why no machine fits a server: the conditions on nodes that the search checks, and what its owner is told."""

from sqlalchemy import ColumnElement, and_, exists, false, or_
from sqlalchemy.orm import Session, aliased

from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.matching import sentences, wording
from baremetal_sched.baremetal.matching.masks import Analysis, Condition
from baremetal_sched.baremetal.matching.question import (
    CLASS,
    Check,
    Question,
    availability_checks,
    claim_check,
    conductor_check,
    lock_check,
    names_of,
    nodes_source,
)
from baremetal_sched.baremetal.matching.scan import why_none
from baremetal_sched.compute.host_choice import HostRequest
from baremetal_sched.db.models import Inventory, Node, ProviderTrait, ResourceClass, ResourceProvider, Trait
from baremetal_sched.errors import SchedulerError
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.names import is_custom
from baremetal_sched.placement.schemas.common import INT32
from baremetal_sched.placement.traits import SHARING_TRAIT
from baremetal_sched.settings import Settings

#: Classes that a flavor asks for unless it says otherwise, and that machines do not have.
_BASE_CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")

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


def explain(session: Session, wanted: HostRequest, membership: Membership, settings: Settings) -> str:
    """Return why no node fits ``wanted``, for the user. Nodes of other projects are not counted."""
    try:
        request = wanted.parsed(None)
    except SchedulerError as error:
        return because(error)
    found = why_none(session, settings, question(wanted, request, membership))
    if found is None:
        return f"{_BEGIN} {sentences.FALLBACK}"
    # The search found no candidate: it looks for all resources in one tree.
    fitting = found.analysis.fitting
    said = sentences.together(fitting) if fitting else found.sentence()
    return f"{_BEGIN} {said}{_hint(request, found.analysis)}"


def because(error: SchedulerError) -> str:
    """Return what the user is told of a search that could not be made."""
    return f"{_BEGIN} {str(error).rstrip('.')}."


def _hint(request: CandidateRequest, found: Analysis) -> str:
    """What to do where the base classes are why."""
    missing = {condition.id.removeprefix(CLASS) for condition, _ in found.decisive}
    if missing.isdisjoint(_BASE_CLASSES):
        return ""
    asked = {name for group in request.groups.values() for name in group.resources}
    overrides = ", ".join(f"resources:{name}=0" for name in _BASE_CLASSES if name in asked)
    begin = "" if any(map(is_custom, asked)) else " Request machines by a custom resource class."
    return f"{begin} A custom resource class does not switch the base classes off: add {overrides} to the flavor."


def _asked(request: CandidateRequest) -> list[Check]:
    """What the groups ask for, each of the tree as a whole: custom classes first, then others, then traits."""
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
        *(Check(wording.of_traits(frozenset([name])), _has_trait(name)) for name in sorted(required)),
        *(Check(wording.of_forbidden(name), ~_has_trait(name, root=True)) for name in sorted(forbidden)),
    ]


def _class(name: str, amount: int) -> Condition:
    return Condition(f"{CLASS}{name}", f"offers {name}") if amount == 1 else wording.of_class(name, amount)


def _place(resource_class: str) -> int:
    """Where a base class stands among them."""
    return _BASE_CLASSES.index(resource_class) if resource_class in _BASE_CLASSES else 0


def _offers(name: str, amount: int) -> ColumnElement[bool]:
    """Return the condition that the node's tree has the amount of the class, in use or not; shared resources count for
    every node.

    EXISTS (SELECT … FROM resource_providers m WHERE m.root_id = <that of the node> AND EXISTS ( SELECT … FROM
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
