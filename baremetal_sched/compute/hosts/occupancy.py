"""Nodes in use: the instance on each, also an adopted one, its request, and the consumers that hold the node."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session, aliased

from baremetal_sched.db.models import Allocation, Consumer, Node, ResourceClass, ResourceProvider, Server
from baremetal_sched.errors.placement import NoAllocations
from baremetal_sched.machines import states
from baremetal_sched.placement import allocations as claims
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.settings import Settings

#: The type of their consumers in placement. Claims of other services, for example Nova, have other types and are kept.
CONSUMER_TYPE = "ADOPTED_INSTANCE"

_LONGEST_NAME = 255

#: States in which the instance is on the machine, and no deployment is under way.
_IN_USE = (
    *(states.ACTIVE, states.ERROR),
    *(states.RESCUE, states.RESCUING, states.RESCUEWAIT, states.RESCUEFAIL, states.UNRESCUING, states.UNRESCUEFAIL),
    *(states.SERVICING, states.SERVICEWAIT, states.SERVICEHOLD, states.SERVICEFAIL),
)

#: SQL condition on a node with an instance that is not a server: it may have been adopted. (Allocations have their
#: claim.)
IS_ADOPTED: ColumnElement[bool] = and_(Node.provision_state.in_(_IN_USE), Node.allocation_uuid.is_(None))


def owner_of(node: Node, settings: Settings) -> tuple[str, str]:
    """Return project and user of the instance on a node, if the node has them."""
    info, placement = node.instance_info or {}, settings.placement
    return (
        _name(info.get("project_id")) or placement.incomplete_consumer_project_id,
        _name(info.get("user_id")) or placement.incomplete_consumer_user_id,
    )


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= _LONGEST_NAME else None


def release_adopted(session: Session, uuid: str) -> None:
    """Give back the claim of the instance with this UUID, if it was made for an adopted node."""
    query = select(Consumer.id).where(Consumer.uuid == uuid, Consumer.consumer_type == CONSUMER_TYPE)
    if session.scalar(query) is not None:
        with suppress(NoAllocations):
            claims.release(session, uuid)


_Root = aliased(ResourceProvider)


@dataclass
class Occupancy:
    """A node and the instance on it (UUIDs).

    ``resource_class`` is the node's in placement, None if it has none. ``extra_specs`` are those of the server's own
    flavor, None if the instance is not a server. ``held`` are the instance's allocations of the node itself, ``others``
    the UUIDs of other consumers with allocations of the node or below it.
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
        """The values on which the conductor of the node depends."""
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
    by_node = {row.uuid: _occupancy(row) for row in rows}
    _add_holders(session, by_node)
    return list(by_node.values())


def _occupancy(row: Any) -> Occupancy:
    return Occupancy(
        node_id=row.id,
        node=row.uuid,
        instance=row.instance_uuid,
        resource_class=resource_class_of(row.resource_class) if row.resource_class else None,
        extra_specs=None if row.server_id is None else row.flavor["extra_specs"],
        conductor_group=row.conductor_group,
        driver=row.driver,
    )


def _add_holders(session: Session, by_node: Mapping[str, Occupancy]) -> None:
    """SELECT root.uuid, p.uuid, consumers.uuid, class, used FROM allocations … JOIN resource_providers p …
    JOIN resource_providers root ON root.id = p.root_id WHERE root.uuid IN (the nodes)"""
    rows = session.execute(
        select(_Root.uuid, ResourceProvider.uuid, Consumer.uuid, ResourceClass.name, Allocation.used)
        .select_from(Allocation)
        .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
        .join(_Root, _Root.id == ResourceProvider.root_id)
        .join(Consumer, Consumer.id == Allocation.consumer_id)
        .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
        .where(_Root.uuid.in_(list(by_node)))
        .order_by(Consumer.id)
    )
    for root, provider, consumer, name, used in rows:
        occupied = by_node[root]
        if consumer != occupied.instance:
            if consumer not in occupied.others:
                occupied.others.append(consumer)
        elif provider == root:
            occupied.held[name] = used
