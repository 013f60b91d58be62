"""Nodes in use: which instance is on each, what its own flavor asks for, and the consumers of the node in placement."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session, aliased

from baremetal_sched.baremetal.provider import projection
from baremetal_sched.compute.adopted_instances import IS_ADOPTED
from baremetal_sched.db.models import Allocation, Consumer, Node, ResourceClass, ResourceProvider, Server

_Root = aliased(ResourceProvider)


@dataclass
class Occupancy:
    """A node and the instance on it (UUIDs).

    ``resource_class`` is the node's in placement, None if it has none. ``extra_specs`` are those of the server's own
    flavor, None if the instance is not a server. ``held`` is what the instance holds of the node itself, ``others`` are
    UUIDs of other consumers that hold something of the node or below it.
    """

    node_id: int
    node: str
    instance: str
    resource_class: str | None
    extra_specs: Mapping[str, str] | None
    conductor_group: str
    driver: str
    held: dict[str, int] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)

    @property
    def place(self) -> tuple[str, str, str]:
        """What the conductor of the node depends on."""
        return self.node, self.conductor_group, self.driver

    @property
    def is_held(self) -> bool:
        """Return whether the instance holds the machine: 1 of its class, and nothing else of the node itself."""
        return self.resource_class is not None and self.held == {self.resource_class: 1}


def find(session: Session, *conditions: ColumnElement[bool], limit: int) -> list[Occupancy]:
    """Return occupied nodes that meet the conditions, at most ``limit``, in the order of their ids.

    SELECT n.…, s.flavor FROM nodes n LEFT JOIN servers s ON s.uuid = n.instance_uuid
    WHERE n.instance_uuid IS NOT NULL AND (s.id IS NOT NULL OR the node is adopted) AND … ORDER BY n.id LIMIT …
    """
    columns = (
        *(Node.id, Node.uuid, Node.instance_uuid, Node.resource_class, Node.conductor_group, Node.driver),
        *(Server.id.label("server_id"), Server.flavor),
    )
    rows = session.execute(
        select(*columns)
        .outerjoin(Server, Server.uuid == Node.instance_uuid)
        .where(Node.instance_uuid.is_not(None), or_(Server.id.is_not(None), IS_ADOPTED), *conditions)
        .order_by(Node.id)
        .limit(limit)
    ).all()
    found = {row.uuid: _occupancy(row) for row in rows}
    _add_holders(session, found)
    return list(found.values())


def _occupancy(row: Any) -> Occupancy:
    return Occupancy(
        node_id=row.id,
        node=row.uuid,
        instance=row.instance_uuid,
        resource_class=projection.resource_class_of(row.resource_class) if row.resource_class else None,
        extra_specs=None if row.server_id is None else row.flavor["extra_specs"],
        conductor_group=row.conductor_group,
        driver=row.driver,
    )


def _add_holders(session: Session, found: Mapping[str, Occupancy]) -> None:
    """SELECT root.uuid, p.uuid, consumers.uuid, class, used FROM allocations … JOIN resource_providers p …
    JOIN resource_providers root ON root.id = p.root_id WHERE root.uuid IN (the nodes)"""
    rows = session.execute(
        select(_Root.uuid, ResourceProvider.uuid, Consumer.uuid, ResourceClass.name, Allocation.used)
        .select_from(Allocation)
        .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
        .join(_Root, _Root.id == ResourceProvider.root_id)
        .join(Consumer, Consumer.id == Allocation.consumer_id)
        .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
        .where(_Root.uuid.in_(list(found)))
        .order_by(Consumer.id)
    )
    for root, provider, consumer, name, used in rows:
        occupied = found[root]
        if consumer != occupied.instance:
            if consumer not in occupied.others:
                occupied.others.append(consumer)
        elif provider == root:
            occupied.held[name] = used
