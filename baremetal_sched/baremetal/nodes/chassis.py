"""Chassis: boxes that hold nodes. Shards: the parts into which an operator divides the fleet."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.schemas.nodes import CHASSIS_UPDATE
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.models import Chassis, Node
from baremetal_sched.documents import patch
from baremetal_sched.documents.fields import COMMON, Field, FieldKind, Fields
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import AlreadyExists, ChassisNotEmpty, ChassisNotFound

FIELDS = Fields(
    Field("uuid", post=True, patch=True),
    Field("description", post=True, patch=True),
    Field("extra", kind=FieldKind.JSON, post=True, patch=True, default={}),
    Field("nodes", kind=FieldKind.NESTED_LINKS),
    *COMMON,
)

#: What ``GET /v1/chassis`` shows of each chassis.
LIST_DEFAULT = ("uuid", "description")


def missing(uuid: str) -> ChassisNotFound:
    """The error of a chassis that does not exist."""
    return ChassisNotFound(chassis=uuid)


def id_of(session: Session, uuid: str | None) -> int | None:
    """The id of a chassis, None for None. Raises ChassisNotFound."""
    return None if uuid is None else records.id_of(session, Chassis, uuid, missing)


def create(session: Session, values: Mapping[str, Any]) -> Chassis:
    """A new chassis from ``values`` (fields of ``schemas.chassis.CHASSIS_CREATE``). Raises AlreadyExists."""
    records.require_free(
        session,
        Chassis.uuid,
        values.get("uuid"),
        AlreadyExists(thing="A chassis", key="UUID", value=values.get("uuid")),
    )
    return records.new(session, Chassis, values)


def update(session: Session, uuid: str, operations: patch.Patch) -> Chassis:
    """Apply a PATCH of fields that may be touched. Raises ChassisNotFound, InvalidValue."""
    chassis = records.find_for_change(session, Chassis, uuid, missing)
    before = FIELDS.values_of(chassis)
    changed = FIELDS.changes(before, FIELDS.patched(before, operations, CHASSIS_UPDATE))
    if "uuid" in changed:
        raise InvalidValue(message="Cannot overwrite UUID for an existing Chassis.")
    records.change(chassis, changed)
    return chassis


def destroy(session: Session, uuid: str) -> None:
    """Remove a chassis. Raises ChassisNotFound, ChassisNotEmpty."""
    chassis = records.find_for_change(session, Chassis, uuid, missing)
    if session.scalar(select(exists().where(Node.chassis_id == chassis.id))):
        raise ChassisNotEmpty(chassis=uuid)
    session.delete(chassis)


def count(session: Session, visible: Visibility = EVERYTHING) -> list[tuple[str | None, int]]:
    """Return every shard with the number of its visible nodes, the largest first; None stands for nodes in no shard.

    SELECT shard, count(*) FROM nodes GROUP BY shard
    """
    found = session.execute(select(Node.shard, func.count()).where(*visible.conditions()).group_by(Node.shard))
    return sorted(((shard, nodes) for shard, nodes in found), key=lambda each: (-each[1], each[0] or ""))
