"""A node as a resource provider: the only place where a node's change reaches placement.

It happens in the node's own transaction, whenever a session flushes a new or changed node, so no change can be
forgotten, and node and provider cannot differ. The events of the change are noted by the same listener.
"""

from collections.abc import Collection, Set
from types import SimpleNamespace
from typing import Any

import structlog
from sqlalchemy import Connection, event, exists, inspect, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.base import LoaderCallableStatus

from baremetal_sched.baremetal import events
from baremetal_sched.baremetal.provider import availability
from baremetal_sched.db.json_text import arrays
from baremetal_sched.db.models import Domain, DomainMember, Node, NodeTrait, table_of
from baremetal_sched.db.notes import note_booked
from baremetal_sched.db.results import history_of
from baremetal_sched.db.sql_functions import concat
from baremetal_sched.errors.baremetal import NodeAllocated
from baremetal_sched.errors.placement import InventoryInUse
from baremetal_sched.placement import aggregates, gate, names, projected, trait_ids
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.placement.tables import AGGREGATES, PROVIDERS

log = structlog.get_logger(__name__)

_NODES, _NODE_TRAITS = table_of(Node), table_of(NodeTrait)

#: The columns of a node that its provider depends on, besides the UUID.
PROJECTED = (Node.resource_class, Node.conductor_group, Node.closes_at, *availability.COLUMNS)
_PROJECTED = frozenset(column.key for column in PROJECTED)

#: The columns of a node that ``change_traits`` and the checks before a change look at.
COLUMNS = (Node.id, Node.uuid, Node.revision, Node.driver, Node.reservation, *PROJECTED)

#: What else decides whether a claim that waits may get the node.
_FITTING = _PROJECTED | {"reservation", "owner", "lessee", "properties", "driver"}
#: What decides whether a booking may keep the node.
_KEPT = (_FITTING | {"retired"}) - {"reservation", "closes_at"}


# One object for all executions: (SELECT (trait of all) FROM nodes JOIN node_traits … WHERE nodes.uuid = p.uuid)
_TRAITS = select(arrays(concat('"', _NODE_TRAITS.c.trait, '"'))).join_from(
    _NODES, _NODE_TRAITS, _NODE_TRAITS.c.node_id == _NODES.c.id
)
_READING = projected.reading_with(_TRAITS.where(_NODES.c.uuid == PROVIDERS.c.uuid).scalar_subquery())


def inventory_of(node: Any) -> projected.SingleUnit | None:
    """Return the inventory of the node's provider: one of its resource class, or none if placement does not have the
    class."""
    if not node.resource_class:
        return None
    copies = projected.Copies(node.resource_class, node.conductor_group or "", availability.why_not(node))
    return projected.SingleUnit(
        resource_class_of(node.resource_class),
        reserved=not availability.is_available(node),
        copies=copies,
        closes_at=node.closes_at,
    )


def change_traits(connection: Connection, node: Any, added: Collection[str], removed: Collection[str]) -> None:
    """Make the provider follow a change of the traits of ``node``, a row of its ``COLUMNS`` with ``provider_id``,
    ``generation`` and ``trait_ids`` of its provider. The node's own row is locked."""
    if node.provider_id is not None:  # otherwise the reconciliation creates it, with the node's traits
        ids = names.traits_to_give(connection, [*added, *removed])
        kept = {*trait_ids.ids_in(node.trait_ids)} - {ids[n] for n in removed}
        trait_ids.replace(connection, node.provider_id, node.generation, node.trait_ids, kept | {ids[n] for n in added})
    _note_free(connection, node)
    note_booked(connection, node)


def project(session: Session, node: Node) -> list[str]:
    """Make the node's provider match the node; return the changes, in words.

    Raises NodeAllocated if the node changed its resource class while a consumer has a claim on the old one.
    """
    try:
        return projected.sync_provider(session, node.uuid, inventory_of(node), _READING)
    except InventoryInUse:
        consumers = projected.consumers_of(session, node.uuid)
        raise NodeAllocated(node=node.uuid, consumer=", ".join(consumers)) from None


#: SQL condition on an aggregate: it is a domain, which says which nodes are in it.
IS_DOMAIN = exists().where(Domain.uuid == AGGREGATES.c.uuid)


def project_domains(session: Session, node_ids: Collection[int]) -> dict[str, list[str]]:
    """Put the providers of these nodes (their rows locked) into the aggregates of their domains, and out of those of
    others; return the changes in words, by UUID of the node. Providers that are no nodes may be in them.

    SELECT n.uuid, d.uuid, n.closes_at FROM nodes n LEFT JOIN domain_members m ON … LEFT JOIN domains d ON …
    WHERE n.id IN (…)
    """
    if not node_ids:
        return {}
    wanted: dict[str, set[str]] = {}
    for node in session.execute(
        select(Node.uuid, Domain.uuid.label("domain"), Node.closes_at)
        .outerjoin(DomainMember, DomainMember.node_id == Node.id)
        .outerjoin(Domain, Domain.id == DomainMember.domain_id)
        .where(Node.id.in_(node_ids))
    ):
        wanted.setdefault(node.uuid, set()).update([] if node.domain is None else [node.domain])
        note_booked(session, node)
    return aggregates.follow(session, wanted, IS_DOMAIN)


@event.listens_for(Session, "before_flush")
def _follow_changes(session: Session, *_: Any) -> None:
    """Note the events of what the flush writes, and project each node that is new, or whose change affects its
    provider."""
    events.note_flush(session)
    nodes = [entity for entity in (*session.new, *session.dirty) if isinstance(entity, Node)]
    # In the same order everywhere, so that there are few deadlocks.
    for node in sorted(nodes, key=lambda node: node.uuid):
        is_to_project = _is_to_project(node)
        if is_to_project:
            project(session, node)
        if is_to_project or _changed(node, _FITTING):
            _note_free(session.connection(), node)
        if node not in session.new and _changed(node, _KEPT):
            note_booked(session, node)


def _note_free(connection: Connection, node: Any) -> None:
    """Note a node that can be given out, so that claims which wait are looked at before the transaction commits."""
    if node.resource_class and node.reservation is None and availability.is_available(node):
        gate.freed(connection, nodes=[node.uuid])


def _is_to_project(node: Node) -> bool:
    """Return whether the node's change affects its provider."""
    state: Any = inspect(node)
    before = state.committed_state
    if state.pending or before.keys().isdisjoint(_PROJECTED):
        return bool(state.pending)
    former = {name: before.get(name, getattr(node, name)) for name in _PROJECTED}
    is_unknown = any(isinstance(value, LoaderCallableStatus) for value in former.values())
    return is_unknown or inventory_of(SimpleNamespace(**former)) != inventory_of(node)


def _changed(node: Node, names: Set[str]) -> bool:
    changed = inspect(node).committed_state.keys() & names
    return any(history_of(node, name).has_changes() for name in changed)


def withdraw(session: Session, node: Node, *, force: bool) -> None:
    """Remove the node's provider. Raises NodeAllocated if a consumer has a claim on it, unless ``force``."""
    # Claims lock the provider before they take anything, so every consumer is visible once the lock is held.
    projected.lock(session, node.uuid)
    note_booked(session, node)
    consumers = projected.consumers_of(session, node.uuid)
    if consumers and not force:
        raise NodeAllocated(node=node.uuid, consumer=", ".join(consumers))
    projected.remove(session, node.uuid, force=force)


_PREFIX = "CUSTOM_"


def class_warning(resource_class: str | None) -> str | None:
    """Return a warning about a node's resource class, None if there is none. Plain ASCII, without quotes."""
    if resource_class is None or not resource_class.upper().startswith(_PREFIX):
        return None
    name = resource_class_of(resource_class)
    return (
        f"In placement the resource class of this node is {name}, as every class of a node gets the prefix CUSTOM_. "
        f"Set it without its own CUSTOM_ if {name.removeprefix(_PREFIX)} is meant."
    )


def log_class_warning(node_uuid: str, resource_class: str | None) -> None:
    """Log ``warning`` for a class that a node was given."""
    if text := class_warning(resource_class):
        log.warning(text, node=node_uuid, resource_class=resource_class)
