"""/v1/chassis, /v1/shards"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.errors import ResourceNotFound
from baremetal_sched.baremetal.api.resources import collection
from baremetal_sched.baremetal.api.resources.view import View, resource
from baremetal_sched.baremetal.nodes import chassis
from baremetal_sched.baremetal.schemas.nodes import CHASSIS_CREATE
from baremetal_sched.db.models import Chassis
from baremetal_sched.web import listing
from baremetal_sched.web.responses import empty_response, json_response

CHASSIS = resource(
    path="chassis",
    plural="chassis",
    model=Chassis,
    fields=chassis.FIELDS,
    list_default=chassis.LIST_DEFAULT,
    missing=chassis.missing,
    view=View,
)


def list_chassis(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/chassis"""
    return collection.list_all(call, session, CHASSIS)


def list_chassis_in_detail(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/chassis/detail"""
    return collection.list_all(call, session, CHASSIS, detailed=True, path="chassis/detail")


def show_chassis(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """GET /v1/chassis/{uuid}"""
    return listing.show(call, session, CHASSIS, call.uuid(uuid, "chassis_uuid"))


def create_chassis(call: BaremetalCall, session: Session) -> Response:
    """POST /v1/chassis"""
    values = collection.load_creation(call, CHASSIS, CHASSIS_CREATE, "chassis")
    return collection.created(call, session, CHASSIS, chassis.create(session, values).uuid)


def update_chassis(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """PATCH /v1/chassis/{uuid}"""
    canonical = call.uuid(uuid, "chassis_uuid")
    operations = collection.load_patch(
        call, chassis.FIELDS, lambda: records.uuid_of(session, Chassis, canonical, chassis.missing)
    )
    changed = chassis.update(session, canonical, operations)
    return collection.updated(call, session, CHASSIS, changed.uuid)


def delete_chassis(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """DELETE /v1/chassis/{uuid}"""
    call.refuse_query()
    call.refuse_body()
    chassis.destroy(session, call.uuid(uuid, "chassis_uuid"))
    return empty_response(204)


def list_shards(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/shards; the nodes that are in no shard are in one called "None"."""
    call.refuse_query()
    found = chassis.count(session, call.visible)
    return json_response({"shards": [{"name": str(name), "count": count} for name, count in found]})


def refuse_one(call: BaremetalCall, session: None, name: str) -> Response:
    """GET /v1/shards/{name}: a shard only has a name."""
    raise ResourceNotFound
