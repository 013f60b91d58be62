"""Chassis: boxes that hold nodes."""

import uuid as uuid_module
from collections.abc import Mapping
from typing import Any

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import patch
from baremetal_sched.baremetal.fields import COMMON, Field, Fields, Kind
from baremetal_sched.baremetal.schemas.chassis import CHASSIS_UPDATE
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Chassis, Node
from baremetal_sched.errors.baremetal import ChassisAlreadyExists, ChassisNotEmpty, ChassisNotFound

FIELDS = Fields(
    Field("uuid", post=True, patch=True),
    Field("description", post=True, patch=True),
    Field("extra", kind=Kind.JSON, post=True, patch=True, default={}),
    Field("nodes", kind=Kind.NESTED_LINKS),
    *COMMON,
)

#: What ``GET /v1/chassis`` shows of each chassis.
LIST_DEFAULT = ("uuid", "description")


def missing(uuid: str) -> ChassisNotFound:
    """The error that says that there is no such chassis."""
    return ChassisNotFound(chassis=uuid)


def id_of(session: Session, uuid: str | None) -> int | None:
    """The id of a chassis, None for None. Raises ChassisNotFound."""
    if uuid is None:
        return None
    chassis_id = session.scalar(select(Chassis.id).where(Chassis.uuid == uuid))
    if chassis_id is None:
        raise missing(uuid)
    return chassis_id


def create(session: Session, values: Mapping[str, Any]) -> Chassis:
    """A new chassis from ``values`` (fields of ``schemas.chassis.CHASSIS_CREATE``). Raises ChassisAlreadyExists."""
    fields = {name: value for name, value in values.items() if value is not None}
    uuid = fields.setdefault("uuid", str(uuid_module.uuid4()))
    _require_free(session, uuid)
    chassis = Chassis(created_at=utcnow(), **fields)
    session.add(chassis)
    return chassis


def update(session: Session, uuid: str, operations: patch.Patch) -> Chassis:
    """Apply a PATCH of fields that may be touched. Raises ChassisNotFound, InvalidValue, ChassisAlreadyExists."""
    chassis = _find_for_change(session, uuid)
    before = FIELDS.values_of(chassis)
    changed = FIELDS.changes(before, FIELDS.patched(before, operations, CHASSIS_UPDATE))
    if "uuid" in changed:
        _require_free(session, changed["uuid"])
    for name, value in changed.items():
        setattr(chassis, name, value)
    if changed:
        chassis.updated_at = utcnow()
    return chassis


def destroy(session: Session, uuid: str) -> None:
    """Remove a chassis. Raises ChassisNotFound, ChassisNotEmpty."""
    chassis = _find_for_change(session, uuid)
    if session.scalar(select(exists().where(Node.chassis_id == chassis.id))):
        raise ChassisNotEmpty(chassis=uuid)
    session.delete(chassis)


def _find_for_change(session: Session, uuid: str) -> Chassis:
    chassis = session.scalars(select(Chassis).where(Chassis.uuid == uuid).with_for_update()).first()
    if chassis is None:
        raise missing(uuid)
    return chassis


def _require_free(session: Session, uuid: str) -> None:
    if session.scalar(select(exists().where(Chassis.uuid == uuid))):
        raise ChassisAlreadyExists(uuid=uuid)
