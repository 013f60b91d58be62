"""Portgroups: several ports of a node that are used as one."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import exists, select
from sqlalchemy import update as update_rows
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.conductors import driver_calls
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.holds import guards
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.schemas.network import PORTGROUP_UPDATE
from baremetal_sched.baremetal.visibility import UNRESTRICTED, Access
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, Port, Portgroup
from baremetal_sched.documents import patch
from baremetal_sched.documents.fields import COMMON, Field, FieldKind, Fields
from baremetal_sched.errors.baremetal import (
    InvalidNodeState,
    PortgroupNotEmpty,
    PortgroupNotFound,
    PortgroupRefused,
)
from baremetal_sched.machines import states

FIELDS = Fields(
    Field("uuid", 23, post=True),
    Field("name", 23, post=True, patch=True),
    Field("address", 23, post=True, patch=True),
    Field("node_uuid", 23, FieldKind.COMPUTED, post=True, patch=True),
    Field("extra", 23, FieldKind.JSON, post=True, patch=True, default={}),
    Field("internal_info", 23, FieldKind.JSON),
    Field("standalone_ports_supported", 23, post=True, patch=True, default=True),
    Field("ports", 23, FieldKind.LINKS),
    Field("mode", 26, post=True, patch=True),
    Field("properties", 26, FieldKind.JSON, post=True, patch=True, default={}),
    Field("physical_network", 102, post=True, patch=True),
    Field("category", 103, post=True, patch=True),
    Field("dynamic_portgroup", 111),
    *(Field(field.name, 23, field.kind) for field in COMMON),
)

#: What ``GET /v1/portgroups`` shows of each portgroup.
LIST_DEFAULT = ("uuid", "address", "name")

_KEYS = (Portgroup.address, Portgroup.name, Portgroup.uuid)

#: The network interface that ignores virtual interfaces.
_NOOP = "noop"


def missing(ident: str) -> PortgroupNotFound:
    """The error of a portgroup that does not exist."""
    return PortgroupNotFound(portgroup=ident)


def create(session: Session, values: Mapping[str, Any], default_mode: str, access: Access = UNRESTRICTED) -> Portgroup:
    """A new portgroup from ``values`` (fields of ``schemas.portgroups.PORTGROUP_CREATE``).

    Raises NotAllowed, InvalidValue, AlreadyExists.
    """
    fields = dict(values)
    node = nodes.find_named_in_body(session, fields.pop("node_uuid"), access)
    fields["mode"] = fields.get("mode") or default_mode
    records.require_keys_free(session, fields, "A portgroup", *_KEYS)
    return records.new(session, Portgroup, {**fields, "node_id": node.id})


def update(
    session: Session,
    ident: str,
    operations: patch.Patch,
    membership: Membership,
    *,
    hides_inspect_wait: bool,
    access: Access = UNRESTRICTED,
) -> Portgroup:
    """Apply a PATCH of fields that may be touched. The ports of the group follow its physical network.

    ``hides_inspect_wait``: the client is older than that state, so to it an inspected node may be changed. ``access``
    must cover the node, and the other one if the group moves.
    Raises Unanswered, PortgroupNotFound, NotAllowed, NodeLocked, InvalidValue, InvalidNodeState,
    AlreadyExists, PortgroupNotEmpty, NoValidHost.
    """
    group, node = nodes.find_part_to_change(session, Portgroup, ident, missing, membership, access)
    before = FIELDS.values_of(group, node_uuid=node.uuid)
    after = FIELDS.patched(before, operations, PORTGROUP_UPDATE)
    changed = FIELDS.changes(before, after)
    _check_settled(group, node, hides_inspect_wait)
    if "node_uuid" in changed:
        node = nodes.find_named_in_body(session, changed.pop("node_uuid"), access)
        _check_move(session, group, node)
        changed["node_id"] = node.id
    records.require_keys_free(session, changed, "A portgroup", *_KEYS)
    if changed:
        follow_change(session, node, membership, "portgroup", group.uuid, before, after)
    if "physical_network" in changed:
        session.execute(
            update_rows(Port)
            .where(Port.portgroup_id == group.id)
            .values(physical_network=changed["physical_network"], updated_at=utcnow())
        )
    records.change(group, changed)
    return group


def follow_change(
    session: Session,
    node: Node,
    membership: Membership,
    kind: str,
    uuid: str,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> None:
    """Have the network interface of the node follow a change of a "port" or "portgroup" before it is written.

    Raises Unanswered until it has, and what the driver raises.
    """
    if node.network_interface != _NOOP:
        arguments = {kind: uuid, "before": dict(before), "after": dict(after)}
        driver_calls.answer(session, node, membership, f"network.{kind}_changed", arguments, reserves=True)


def destroy(session: Session, ident: str, membership: Membership) -> None:
    """Remove a portgroup. Raises PortgroupNotFound, PortgroupNotEmpty, NodeLocked, NoValidHost, NoConductors."""
    group, _ = nodes.find_part_to_change(session, Portgroup, ident, missing, membership)
    if _has_ports(session, group):
        raise PortgroupNotEmpty(portgroup=group.uuid)
    session.delete(group)


def admit(session: Session, group: Portgroup, network: str | None, *, besides: int | None = None) -> None:
    """Check that a port on this physical network may join the group, which is locked: its ports share one network.

    The first port gives its network to a group that has none. ``besides``: the port, if it exists already. Raises
    PortgroupRefused.
    """
    others = select(Port.physical_network).where(Port.portgroup_id == group.id, Port.id != (besides or 0))
    networks = set(session.scalars(others.distinct()))
    if not networks:
        if group.physical_network is None:
            group.physical_network = network
            return
        networks = {group.physical_network}
    if network not in networks:
        raise PortgroupRefused(
            message=f"Port with physical network {network} cannot become a member of port group {group.uuid} which has "
            f"ports in physical network {', '.join(str(name) for name in networks)}."
        )


def _has_ports(session: Session, group: Portgroup) -> bool:
    return bool(session.scalar(select(exists().where(Port.portgroup_id == group.id))))


def _check_settled(group: Portgroup, node: Node, hides_inspect_wait: bool) -> None:
    """Raise InvalidNodeState while the node is inspected, unless the client is too old to know that state."""
    if node.provision_state == states.INSPECTING and not hides_inspect_wait:
        raise InvalidNodeState(
            message=f'Cannot update portgroup "{group.uuid}" on node "{node.uuid}" while it is in state '
            f'"{states.INSPECTING}".'
        )


def _check_move(session: Session, group: Portgroup, node: Node) -> None:
    """Raise InvalidNodeState or PortgroupNotEmpty if the group cannot be given to another node."""
    nodes.require_unlocked(node)
    if node.provision_state not in states.CONNECTIVITY_ALLOWED and not guards.loosens_guards(session, node):
        raise InvalidNodeState(
            message=f"Portgroup {group.uuid} can not be associated to node {node.uuid} unless the node is in a "
            f"{', '.join(states.CONNECTIVITY_ALLOWED)} state or in maintenance mode. Current state is "
            f"'{node.provision_state}'."
        )
    if _has_ports(session, group):
        raise PortgroupNotEmpty(portgroup=group.uuid)
