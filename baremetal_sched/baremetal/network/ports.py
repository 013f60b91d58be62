"""Ports: the network interfaces of nodes."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.holds import guards
from baremetal_sched.baremetal.network import portgroups
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.schemas.network import PORT_UPDATE, link_complaint
from baremetal_sched.baremetal.visibility import UNRESTRICTED, Access, Visibility
from baremetal_sched.db.models import Node, Port, Portgroup
from baremetal_sched.documents import patch
from baremetal_sched.documents.fields import COMMON, Field, FieldKind, Fields
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import (
    InvalidNodeState,
    PortgroupNotFound,
    PortgroupRefused,
    PortNotFound,
)
from baremetal_sched.machines import states

FIELDS = Fields(
    Field("uuid", post=True),
    Field("address", post=True, patch=True),
    Field("node_uuid", kind=FieldKind.COMPUTED, post=True, patch=True),
    Field("extra", kind=FieldKind.JSON, post=True, patch=True, default={}),
    Field("internal_info", 18, FieldKind.JSON),
    Field("pxe_enabled", 19, post=True, patch=True, default=True),
    Field("local_link_connection", 19, FieldKind.COMPUTED, post=True, patch=True, default={}),
    Field("portgroup_uuid", 24, FieldKind.COMPUTED, post=True, patch=True),
    Field("physical_network", 34, post=True, patch=True),
    Field("is_smartnic", 53, post=True, patch=True, default=False),
    Field("name", 88, post=True, patch=True),
    Field("description", 97, post=True, patch=True),
    Field("vendor", 100, post=True, patch=True),
    Field("category", 101, post=True, patch=True),
    Field("available_for_dynamic_portgroup", 111, post=True, patch=True, default=True),
    *COMMON,
)

#: What ``GET /v1/ports`` shows of each port.
LIST_DEFAULT = ("uuid", "address")

_CONNECTIVITY = ("node_uuid", "portgroup_uuid", "pxe_enabled", "local_link_connection", "physical_network")

_KEYS = (Port.address, Port.name, Port.uuid)


def missing(ident: str) -> PortNotFound:
    """The error of a port that does not exist."""
    return PortNotFound(port=ident)


def create(session: Session, values: Mapping[str, Any], membership: Membership, access: Access = UNRESTRICTED) -> Port:
    """A new port from ``values`` (fields of ``schemas.ports.PORT_CREATE``). A locked node gets it all the same.

    Raises NotAllowed, InvalidValue, NoValidHost, NoConductors, AlreadyExists, PortgroupRefused.
    """
    fields = dict(values)
    node = nodes.find_named_in_body(session, fields.pop("node_ident", None) or fields.pop("node_uuid"), access)
    fields.pop("node_uuid", None)
    membership.require(node.conductor_group, node.driver)
    group = _portgroup(session, fields.pop("portgroup_uuid", None), node, access.visible)
    _check(fields)
    if group is not None:
        if fields.get("pxe_enabled") and not group.standalone_ports_supported:
            raise PortgroupRefused(
                message=f"Port group {group.uuid} doesn't support standalone ports. This port cannot be created as a "
                "member of that portgroup as the port's 'pxe_enabled' field was set to True."
            )
        portgroups.admit(session, group, fields.get("physical_network"))
    records.require_keys_free(session, fields, "A port", *_KEYS)
    return records.new(session, Port, {**fields, "node_id": node.id, "portgroup_id": group.id if group else None})


def update(
    session: Session,
    ident: str,
    operations: patch.Patch,
    membership: Membership,
    *,
    hides_inspect_wait: bool,
    group_has_network: bool,
    access: Access = UNRESTRICTED,
) -> Port:
    """Apply a PATCH of fields that may be touched.

    ``hides_inspect_wait``: the client is older than that state, so to it an inspected node may be changed.
    ``group_has_network``: the client knows that the physical network is the portgroup's. ``access`` must cover the
    node, and the other one if the port moves.
    Raises Unanswered, PortNotFound, NotAllowed, NodeLocked, InvalidValue, InvalidNodeState, AlreadyExists,
    PortgroupRefused, NoValidHost.
    """
    port, node = nodes.find_part_to_change(session, Port, ident, missing, membership, access)
    old_group = session.get(Portgroup, port.portgroup_id) if port.portgroup_id else None
    before = document_of(port, node, old_group)
    after = FIELDS.patched(before, operations, PORT_UPDATE)
    changed = FIELDS.changes(before, after)
    if complaint := link_complaint(changed.get("local_link_connection") or {}):
        raise InvalidValue(message=f"Schema error for patch: 'local_link_connection': {complaint}")
    _check(after)
    target = None
    if "node_uuid" in changed:
        target = nodes.find_named_in_body(session, changed["node_uuid"], access)
    _check_state(session, port, node, changed, hides_inspect_wait)
    if target is not None:
        node = target
        del changed["node_uuid"]
        nodes.require_unlocked(node)
        _check_state(session, port, node, {"node_uuid": node.uuid}, hides_inspect_wait)
        changed["node_id"] = node.id
    group = _portgroup(session, after["portgroup_uuid"], node, access.visible)
    if group is not None:
        _check_network(group, changed, group_has_network)
        if {"portgroup_uuid", "physical_network"} & set(changed):
            portgroups.admit(session, group, after["physical_network"], besides=port.id)
    if "portgroup_uuid" in changed:
        del changed["portgroup_uuid"]
        changed["portgroup_id"] = group.id if group else None
    records.require_keys_free(session, changed, "A port", *_KEYS)
    if changed:
        portgroups.follow_change(session, node, membership, "port", port.uuid, before, after)
    records.change(port, changed)
    return port


def set_fields(session: Session, port: Port, node: Node, values: Mapping[str, Any]) -> None:
    """Set fields, null to their default, on a port of ``node``, which is reserved for the caller. The fields that say
    which node and portgroup the port belongs to are excluded.

    Raises InvalidValue, AlreadyExists, PortgroupRefused.
    """
    before = document_of(port, node)
    after = FIELDS.loaded({**before, **FIELDS.defaulted(values)}, PORT_UPDATE, "port")
    changed = FIELDS.changes(before, after)
    _check(after)
    group = session.get(Portgroup, port.portgroup_id, with_for_update=True) if port.portgroup_id else None
    if group is not None and "physical_network" in changed:
        portgroups.admit(session, group, after["physical_network"], besides=port.id)
    records.require_keys_free(session, changed, "A port", *_KEYS)
    records.change(port, changed)
    # Another port may be about to get the same name.
    session.flush()


def claim(session: Session, node: Node, uuid: str, address: str) -> Port | None:
    """A new port of ``node`` with this UUID and MAC address; None, and no port, if there is one with the address."""
    if session.scalar(select(exists().where(Port.address == address))):
        return None
    port = records.new(session, Port, {"uuid": uuid, "address": address, "node_id": node.id})
    # The database's default values are read back.
    session.flush()
    session.refresh(port)
    return port


def document_of(port: Port, node: Node, group: Portgroup | None = None) -> dict[str, Any]:
    """Return the current values of the fields that a PATCH may touch."""
    return FIELDS.values_of(port, node_uuid=node.uuid, portgroup_uuid=group.uuid if group else None)


def destroy(session: Session, uuid: str, membership: Membership) -> None:
    """Remove a port. Raises PortNotFound, NodeLocked, NoValidHost, NoConductors."""
    port, _ = nodes.find_part_to_change(session, Port, uuid, missing, membership)
    session.delete(port)


def _portgroup(session: Session, uuid: str | None, node: Node, visible: Visibility) -> Portgroup | None:
    """Return the group that a body names, locked. Raises InvalidValue if it does not exist on a visible node, or
    belongs to another node."""
    if uuid is None:
        return None
    found = select(Portgroup).where(Portgroup.uuid == uuid, *visible.conditions_behind(Portgroup.node_id))
    group = session.scalars(found.with_for_update()).first()
    if group is None:
        raise InvalidValue(message=str(PortgroupNotFound(portgroup=uuid)))
    if group.node_id != node.id:
        raise InvalidValue(message="Port can not be added to a portgroup belonging to a different node.")
    return group


def _check(fields: Mapping[str, Any]) -> None:
    """Raise InvalidValue for fields that do not go together."""
    link = fields.get("local_link_connection")
    if fields.get("is_smartnic") and link and not {"port_id", "hostname"} <= set(link):
        raise InvalidValue(message="Smart NIC port must have port_id and hostname in local_link_connection")
    if fields.get("physical_network") == "":
        raise InvalidValue(message="A non-empty value is required when setting physical_network")


def _check_state(
    session: Session, port: Port, node: Node, changed: Mapping[str, Any], hides_inspect_wait: bool
) -> None:
    """Raise InvalidNodeState for changes that the state of the node does not allow."""
    if node.provision_state == states.INSPECTING and not hides_inspect_wait:
        raise InvalidNodeState(
            message=f'Cannot update port "{port.uuid}" on "{node.uuid}" while it is in state "{states.INSPECTING}".'
        )
    if guards.loosens_guards(session, node):
        return
    if "address" in changed and (node.provision_state == states.ACTIVE or node.instance_uuid is not None):
        raise InvalidNodeState(
            message=f"Cannot update hardware address for port {port.uuid} as node {node.uuid} is active or has "
            "instance UUID assigned"
        )
    refused = [name for name in _CONNECTIVITY if name in changed]
    if refused and node.provision_state not in states.CONNECTIVITY_ALLOWED:
        raise InvalidNodeState(
            message=f"Port {port.uuid} can not have any connectivity attributes ({', '.join(refused)}) updated unless "
            f"node {node.uuid} is in a {', '.join(states.CONNECTIVITY_ALLOWED)} state or in maintenance mode. The "
            f"current state is {node.provision_state}."
        )


def _check_network(group: Portgroup, changed: Mapping[str, Any], group_has_network: bool) -> None:
    """Raise InvalidValue for a change of a network that is the portgroup's."""
    if group_has_network and "physical_network" in changed and "portgroup_uuid" not in changed:
        raise InvalidValue(message="physical_network cannot be changed while the port belongs to a portgroup.")
