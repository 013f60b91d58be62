"""Why no machine fits a server: how many nodes each condition removes of those that the ones before it left."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, and_, case, exists, false, func, or_, select, true
from sqlalchemy.orm import Session, aliased

from baremetal_sched.baremetal.ownership import Membership
from baremetal_sched.compute import capabilities
from baremetal_sched.compute.host_choice import FOREIGN, HostRequest
from baremetal_sched.db.models import Inventory, Node, ProviderTrait, ResourceClass, ResourceProvider, Trait
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.placement import TraitNotFound, UnknownClassInQuery
from baremetal_sched.placement.candidates.query import CandidateRequest
from baremetal_sched.placement.names import is_custom
from baremetal_sched.placement.schemas.common import INT32
from baremetal_sched.placement.traits import SHARING_TRAIT

#: Classes that a flavor asks for unless it says otherwise, and that machines do not have.
_BASE_CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")

#: What is said of one node, and of several, by condition.
_WORDS: Mapping[str, tuple[str, str]] = {
    "parent node": ("is a part of another node", "are parts of other nodes"),
    "provision state": ("is not in provision state 'available'", "are not in provision state 'available'"),
    "maintenance": ("is in maintenance", "are in maintenance"),
    "instance": ("is in use by an instance", "are in use by instances"),
    "power state": ("has an unknown power state", "have an unknown power state"),
    "conductor": ("has no live conductor", "have no live conductor"),
    "zone": ("is in another availability zone", "are in other availability zones"),
    "node": ("is not the one that was asked for", "are not the one that was asked for"),
    "tried": ("failed to deploy this server", "failed to deploy this server"),
    "claim": ("is claimed through placement", "are claimed through placement"),
    "lock": ("is being worked on by a conductor", "are being worked on by conductors"),
}

_provider = aliased(ResourceProvider)
_member = aliased(ResourceProvider)


def conditions(
    wanted: HostRequest, request: CandidateRequest, membership: Membership
) -> dict[str, ColumnElement[bool]]:
    """Return what a node has to meet to be the host of ``wanted``, whose query is ``request``, by what it is about.

    Amounts and traits are those of its tree as a whole. Capabilities are no condition in SQL.
    """
    return {**_of_node(wanted.conditions(membership)), **_asked(request), "lock": Node.reservation.is_(None)}


def explain(session: Session, wanted: HostRequest, membership: Membership, cause: SchedulerError | None = None) -> str:
    """Return why no node fits ``wanted``, for the user. ``cause`` is what the search raised, if it did.

    Nodes of other projects are not counted.
    """
    begin = "No valid host was found." if cause is None else f"No valid host was found. {_said(cause)}"
    try:
        request = wanted.parsed(None)
    except SchedulerError:
        return begin
    others = conditions(wanted, request, membership)
    among = others.pop(FOREIGN, true())
    counts, left = _count(session, others, among)
    total = sum(counts.values()) + left
    if left:
        incapable = _incapable(session, {**others, FOREIGN: among}, wanted.extra_specs)
        counts |= incapable
        left -= sum(incapable.values())
    if not total:
        return f"{begin} There are no nodes{'' if wanted.project is None else ' that the project may use'}."
    said = [f"{count} {_words(label)[count > 1]}" for label, count in counts.items() if count]
    if left:
        said.append(f"{left} {'meet' if left > 1 else 'meets'} each of the conditions, but not all of them together")
    nodes = "1 node" if total == 1 else f"{total} nodes"
    return f"{begin} Of {nodes}, {_joined(said)}.{_hint(request, counts)}"


def _said(cause: SchedulerError) -> str:
    match cause:
        case UnknownClassInQuery():
            return f"There is no resource class {cause.details['resource_class']}."
        case TraitNotFound():
            return f"There is no such trait: {cause.details['traits']}."
    return f"{str(cause).rstrip('.')}."


def _hint(request: CandidateRequest, counts: Mapping[str, int]) -> str:
    """What to do where the base classes are why."""
    if not any(counts.get(f"class {name}") for name in _BASE_CLASSES):
        return ""
    asked = {name for group in request.groups.values() for name in group.resources}
    overrides = ", ".join(f"resources:{name}=0" for name in _BASE_CLASSES if name in asked)
    begin = "" if any(map(is_custom, asked)) else " Machines are asked for by a custom resource class."
    return f"{begin} A custom resource class does not switch the base classes off: add {overrides} to the flavor."


def _words(label: str) -> tuple[str, str]:
    kind, _, name = label.partition(" ")
    if kind == "class":
        return f"does not offer {name}", f"do not offer {name}"
    if kind == "trait":
        return f"lacks the trait {name}", f"lack the trait {name}"
    if kind == "capability":
        return f"lacks the capability {name}", f"lack the capability {name}"
    if kind == "forbidden":
        return f"has the forbidden trait {name}", f"have the forbidden trait {name}"
    return _WORDS[label]


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _asked(request: CandidateRequest) -> dict[str, ColumnElement[bool]]:
    """What the groups ask for, each of the tree as a whole: custom classes first, then others, then traits."""
    groups = request.groups.values()
    amounts: dict[str, int] = {}
    for group in groups:
        for name, amount in group.resources.items():
            amounts[name] = max(amount, amounts.get(name, 0))
    ordered = sorted(amounts, key=lambda name: (not is_custom(name), name not in _BASE_CLASSES, _place(name), name))
    asked = {f"class {name}": _offers(name, amounts[name]) for name in ordered}
    asked["claim"] = exists().where(
        _provider.uuid == Node.uuid,
        Inventory.provider_id == _provider.id,
        Inventory.resource_class_id == _provider.mirrored_class_id,
        Inventory.free == 1,
    )
    required = {name for group in groups for names in group.traits.required if len(names) == 1 for name in names}
    asked |= {f"trait {name}": _has_trait(name) for name in sorted(required)}
    forbidden = {name for group in groups if not group.suffix for name in group.traits.forbidden}
    return asked | {f"forbidden {name}": ~_has_trait(name, root=True) for name in sorted(forbidden)}


def _place(resource_class: str) -> int:
    """Where a base class stands among them."""
    return _BASE_CLASSES.index(resource_class) if resource_class in _BASE_CLASSES else 0


def _of_node(given: Mapping[str, ColumnElement[bool]]) -> dict[str, ColumnElement[bool]]:
    """The conditions on the node itself; first whether it is in use, which says more than its provision state."""
    return {"instance": given["instance"], **given}


def _offers(name: str, amount: int) -> ColumnElement[bool]:
    """Whether there is so much of the class in the node's tree, in use or not; what is shared counts for every node.

    EXISTS (SELECT … FROM resource_providers m WHERE m.root_id = <that of the node> AND EXISTS (
              SELECT … FROM inventories i JOIN resource_classes c … WHERE i.provider_id = m.id AND c.name = :name
              AND i.total - i.reserved >= :amount))
    OR EXISTS (the same of an m that shares)

    One in the other: so a database looks at the tree of each node, and not at all who have the class.
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
    local = exists().where(_member.root_id == _root(), stock).correlate_except(_member)
    shared = exists().where(*of_class, total >= amount, shares)
    return or_(local, shared)


def _has_trait(name: str, *, root: bool = False) -> ColumnElement[bool]:
    """Whether a provider of the node's tree, or its root, has the trait."""
    of_tree = _member.uuid == Node.uuid if root else _member.root_id == _root()
    has = exists().where(
        Trait.name == name, ProviderTrait.trait_id == Trait.id, ProviderTrait.provider_id == _member.id
    )
    found: ColumnElement[bool] = (
        exists().where(of_tree, has.correlate_except(Trait, ProviderTrait)).correlate_except(_member)
    )
    return found


def _root() -> Any:
    return select(_provider.root_id).where(_provider.uuid == Node.uuid).correlate(Node).scalar_subquery()


def _incapable(
    session: Session, given: Mapping[str, ColumnElement[bool]], extra_specs: Mapping[str, str]
) -> dict[str, int]:
    """How many of the nodes that meet all given lack a capability, each node counted for the first that it lacks.

    Capabilities are text within a JSON column, so that databases cannot compare them.
    """
    asked = capabilities.wanted(extra_specs)
    if not asked:
        return {}
    lacking: Counter[str] = Counter()
    for properties in session.scalars(select(Node.properties).where(*given.values())):
        lacking.update(
            f"capability {name}={asked[name]}" for name in capabilities.unmet(extra_specs, properties or {})[:1]
        )
    return dict(lacking)


def _count(
    session: Session, given: Mapping[str, ColumnElement[bool]], among: ColumnElement[bool]
) -> tuple[dict[str, int], int]:
    """How many nodes each condition removes of those that the ones before it left, and how many remain.

    ``among``: the nodes that are counted at all.

    SELECT CASE WHEN <first> IS NOT true THEN 0 WHEN <second> IS NOT true THEN 1 … END, count(*) FROM nodes GROUP BY 1
    """
    remaining = len(given)
    failed = [(condition.is_not(true()), number) for number, condition in enumerate(given.values())]
    place: Any = case(*failed, else_=remaining)
    inner = select(place.label("place")).select_from(Node).where(among).subquery()
    found = {
        number: count for number, count in session.execute(select(inner.c.place, func.count()).group_by(inner.c.place))
    }
    return {label: found.get(number, 0) for number, label in enumerate(given)}, found.get(remaining, 0)
