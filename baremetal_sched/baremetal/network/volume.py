"""Remote volumes of nodes: connectors, by which storage knows a node, and targets, the volumes that it uses.

Both are kept in the same way; a ``Kind`` has the differences.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from marshmallow import Schema
from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.schemas import network
from baremetal_sched.baremetal.visibility import UNRESTRICTED, Access
from baremetal_sched.db.models import Node, VolumeConnector, VolumeTarget
from baremetal_sched.db.paging import Missing
from baremetal_sched.documents import patch
from baremetal_sched.documents.fields import COMMON, Field, Fields
from baremetal_sched.documents.fields import FieldKind as FieldKind
from baremetal_sched.errors.baremetal import (
    AlreadyExists,
    VolumeConnectorExists,
    VolumeConnectorNotFound,
    VolumeInUse,
    VolumeTargetExists,
    VolumeTargetNotFound,
)
from baremetal_sched.machines import states

SINCE = 32


@dataclass(frozen=True)
class VolumeKind:
    """Connectors, or targets. ``require_free(session, values, id)``: no other row may have the same key."""

    name: str
    model: Any
    fields: Fields
    list_default: tuple[str, ...]
    missing: Missing
    create: Schema
    update: Schema
    require_free: Callable[[Session, Mapping[str, Any], int | None], None]


def create(session: Session, kind: VolumeKind, values: Mapping[str, Any], access: Access = UNRESTRICTED) -> Any:
    """A new connector or target from ``values`` (fields of the schema ``kind.create``); returns the row.

    Raises NotAllowed, InvalidValue, AlreadyExists, VolumeConnectorExists, VolumeTargetExists.
    """
    fields = dict(values)
    node = nodes.find_named_in_body(session, fields.pop("node_uuid"), access)
    fields["node_id"] = node.id
    taken = AlreadyExists(thing=f"A {kind.name}", key="UUID", value=fields.get("uuid"))
    records.require_free(session, kind.model.uuid, fields.get("uuid"), taken)
    kind.require_free(session, fields, None)
    return records.new(session, kind.model, fields)


def update(
    session: Session,
    kind: VolumeKind,
    uuid: str,
    operations: patch.Patch,
    membership: Membership,
    access: Access = UNRESTRICTED,
) -> None:
    """Apply a PATCH of fields that may be touched. ``access`` must cover the node, and the other one in a move.

    Raises NotAllowed, what ``kind.missing`` makes, InvalidValue, VolumeInUse, NodeLocked, NoValidHost, and like
    ``create``.
    """
    row, node = nodes.find_part_to_change(session, kind.model, uuid, kind.missing, membership, access)
    before = kind.fields.values_of(row, node_uuid=node.uuid)
    after = kind.fields.patched(before, operations, kind.update)
    changed = kind.fields.changes(before, after)
    _require_off(node, f"{kind.name} update")
    if "node_uuid" in changed:
        node = nodes.find_named_in_body(session, changed.pop("node_uuid"), access)
        nodes.require_unlocked(node)
        _require_off(node, f"{kind.name} update")
        changed["node_id"] = node.id
    kind.require_free(session, {**after, "node_id": node.id}, row.id)
    records.change(row, changed)


def destroy(session: Session, kind: VolumeKind, uuid: str, membership: Membership) -> None:
    """Remove a connector or target. Raises what ``kind.missing`` makes, VolumeInUse, NodeLocked, NoValidHost."""
    row, node = nodes.find_part_to_change(session, kind.model, uuid, kind.missing, membership)
    _require_idle(node, f"{kind.name} deletion")
    session.delete(row)


def _require_idle(node: Node, action: str) -> None:
    """Raise VolumeInUse if the node's machine may be using its volumes."""
    if node.provision_state not in states.VOLUME_CHANGE_ALLOWED:
        _require_off(node, action)


def _require_off(node: Node, action: str) -> None:
    """Raise VolumeInUse unless the machine is off."""
    if node.power_state != states.POWER_OFF:
        raise VolumeInUse(action=action, node=node.uuid, state=node.power_state)


def _require_connector_free(session: Session, values: Mapping[str, Any], row_id: int | None) -> None:
    """Raise VolumeConnectorExists if another connector has this type and id."""
    same = (VolumeConnector.type == values["type"], VolumeConnector.connector_id == values["connector_id"])
    if session.scalar(select(exists().where(*same, VolumeConnector.id != (row_id or 0)))):
        raise VolumeConnectorExists(type=values["type"], connector=values["connector_id"])


def _require_target_free(session: Session, values: Mapping[str, Any], row_id: int | None) -> None:
    """Raise VolumeTargetExists if another target of the node has this boot index."""
    same = (VolumeTarget.node_id == values["node_id"], VolumeTarget.boot_index == values["boot_index"])
    if session.scalar(select(exists().where(*same, VolumeTarget.id != (row_id or 0)))):
        raise VolumeTargetExists(boot_index=values["boot_index"])


def _fields(*fields: Field) -> Fields:
    return Fields(
        Field("uuid", SINCE, post=True),
        Field("node_uuid", SINCE, FieldKind.COMPUTED, post=True, patch=True),
        *fields,
        Field("extra", SINCE, FieldKind.JSON, post=True, patch=True, default={}),
        *(Field(field.name, SINCE, field.kind) for field in COMMON),
    )


CONNECTORS = VolumeKind(
    name="volume connector",
    model=VolumeConnector,
    fields=_fields(Field("type", SINCE, post=True, patch=True), Field("connector_id", SINCE, post=True, patch=True)),
    list_default=("uuid", "node_uuid", "type", "connector_id"),
    missing=lambda uuid: VolumeConnectorNotFound(connector=uuid),
    create=network.CONNECTOR_CREATE,
    update=network.CONNECTOR_UPDATE,
    require_free=_require_connector_free,
)

TARGETS = VolumeKind(
    name="volume target",
    model=VolumeTarget,
    fields=_fields(
        Field("volume_type", SINCE, post=True, patch=True),
        Field("volume_id", SINCE, post=True, patch=True),
        Field("boot_index", SINCE, post=True, patch=True),
        Field("properties", SINCE, FieldKind.MASKED, post=True, patch=True, default={}),
    ),
    list_default=("uuid", "node_uuid", "volume_type", "boot_index", "volume_id"),
    missing=lambda uuid: VolumeTargetNotFound(target=uuid),
    create=network.TARGET_CREATE,
    update=network.TARGET_UPDATE,
    require_free=_require_target_free,
)
