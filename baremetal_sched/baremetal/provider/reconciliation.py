"""Undoing direct changes of the resource providers of nodes: the node is the source of truth."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, case, exists, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.provider import availability, projection
from baremetal_sched.db.models import (
    Aggregate,
    Conductor,
    Domain,
    DomainMember,
    Inventory,
    Node,
    NodeTrait,
    ProviderAggregate,
    ProviderTrait,
    ResourceClass,
    ResourceProvider,
    Trait,
)
from baremetal_sched.placement import names
from baremetal_sched.placement.names import resource_class_of, scheduler_clause

#: The type of the events about undone changes.
EVENT_TYPE = "reconciliation"


def drifted(session: Session, node: Node | None = None) -> ColumnElement[bool]:
    """SQL condition: the node's provider differs from the result of ``projection.project``.

    ``node``: the only one to look at; None for any.

    NOT EXISTS (the provider, a root with the marks of the node) OR its class is wanted AND NOT EXISTS (an inventory of
    it, as it should be) OR EXISTS (an inventory of another, unless it is claimed and withheld) OR EXISTS (a trait of
    the node that the provider lacks) OR EXISTS (a trait of the provider that the node lacks) OR EXISTS (a domain of the
    node in whose aggregate the provider is not) OR EXISTS (an aggregate of the provider that is a domain, but none of
    the node). Traits of the scheduler are ignored
    """
    all_used = select(Node.resource_class).distinct()
    class_id = _class_id(session, session.scalars(all_used).all() if node is None else [node.resource_class])
    reserved = case((availability.IS_AVAILABLE, 0), else_=1)
    marked = and_(
        ResourceProvider.uuid == Node.uuid,
        ResourceProvider.root_id == ResourceProvider.id,
        ResourceProvider.mirrored_class_id == class_id,
        ResourceProvider.withheld == or_(class_id == 0, ~availability.IS_AVAILABLE),
        or_(class_id == 0, ResourceProvider.closes_at.is_not_distinct_from(Node.closes_at)),
    )
    inventory = and_(ResourceProvider.uuid == Node.uuid, Inventory.provider_id == ResourceProvider.id)
    sound = and_(
        inventory,
        Inventory.resource_class_id == class_id,
        Inventory.total == 1,
        Inventory.reserved == reserved,
        Inventory.min_unit == 1,
        Inventory.max_unit == 1,
        Inventory.step_size == 1,
        Inventory.allocation_ratio == 1.0,
        Inventory.closes_at.is_not_distinct_from(Node.closes_at),
    )
    surplus = and_(
        inventory, Inventory.resource_class_id != class_id, or_(Inventory.used == 0, Inventory.withheld == 0)
    )
    provided = and_(
        ResourceProvider.uuid == Node.uuid,
        ProviderTrait.provider_id == ResourceProvider.id,
        Trait.id == ProviderTrait.trait_id,
    )
    is_provided = exists().where(provided, Trait.name == NodeTrait.trait)
    is_own = exists().where(NodeTrait.node_id == Node.id, NodeTrait.trait == Trait.name)
    lacking = and_(NodeTrait.node_id == Node.id, ~scheduler_clause(NodeTrait.trait))
    return or_(
        ~exists().where(marked),
        and_(class_id != 0, ~exists().where(sound)),
        exists().where(surplus),
        exists().where(lacking, ~is_provided.correlate(Node, NodeTrait)),
        exists().where(provided, ~scheduler_clause(Trait.name), ~is_own.correlate(Node, Trait)),
        *misplaced(node),
    )


def misplaced(node: Node | None = None) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """SQL conditions: the node's provider is missing in the aggregate of a domain of the node; it is in that of a
    domain that the node is not in. ``node``: the only one to look at.

    id IN (SELECT n.id FROM nodes n JOIN domain_members m … JOIN domains d … JOIN resource_providers p … LEFT JOIN
    aggregates a ON a.uuid = d.uuid LEFT JOIN provider_aggregates pa ON … WHERE pa.provider_id IS NULL), and the other
    way round. A database makes these sets once; an EXISTS for each node took eight times as long with 100,000 nodes.
    """
    own, place, member = aliased(Node), ProviderAggregate, DomainMember
    nodes = select(own.id).join(ResourceProvider, ResourceProvider.uuid == own.uuid)
    nodes = nodes if node is None else nodes.where(own.id == node.id)
    lacking = (
        nodes.join(member, member.node_id == own.id)
        .join(Domain, Domain.id == member.domain_id)
        .outerjoin(Aggregate, Aggregate.uuid == Domain.uuid)
        .outerjoin(place, and_(place.provider_id == ResourceProvider.id, place.aggregate_id == Aggregate.id))
    )
    foreign = (
        nodes.join(place, place.provider_id == ResourceProvider.id)
        .join(Aggregate, Aggregate.id == place.aggregate_id)
        .join(Domain, Domain.uuid == Aggregate.uuid)
        .outerjoin(member, and_(member.node_id == own.id, member.domain_id == Domain.id))
    )
    return Node.id.in_(lacking.where(place.provider_id.is_(None))), Node.id.in_(foreign.where(member.node_id.is_(None)))


def _class_id(session: Session, used: Sequence[str | None]) -> ColumnElement[int]:
    """The id of the resource class that the provider of a node with one of these classes should have: 0 for none, -1 if
    it does not exist."""
    standard_names = {name: resource_class_of(name) for name in used if name}
    ids = names.ids_of(session, ResourceClass, sorted(set(standard_names.values())))
    whens = {name: ids.get(standard, -1) for name, standard in standard_names.items()}
    return case(whens, value=Node.resource_class, else_=0) if whens else func.abs(0)


def reconcile(session: Session, node_id: int, conductor: str) -> tuple[str, list[str]] | None:
    """Make the node's provider match the node; return the node's UUID and the changes that were undone, in words.

    It is recorded in the node's history, and counted with ``conductor`` (a host name). Returns None if there is nothing
    to undo. Raises NodeAllocated if a consumer has a claim on something that would be removed.
    """
    node = session.scalars(select(Node).where(Node.id == node_id).with_for_update()).first()
    if node is None:
        return None
    changes = projection.project(session, node)
    changes += projection.project_domains(session, [node.id]).get(node.uuid, [])
    if not changes:
        return None
    event = f"The node's resource provider was changed directly. This was undone: {', '.join(changes)}"
    history.record(session, node, event, event_type=EVENT_TYPE, severity="ERROR", conductor=conductor)
    session.execute(
        update(Conductor)
        .where(Conductor.hostname == conductor)
        .values(undone_changes=Conductor.undone_changes + len(changes))
    )
    return node.uuid, changes
