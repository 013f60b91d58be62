"""/v1/chassis, /v1/shards"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.errors import ResourceNotFound
from baremetal_sched.baremetal.api.resources.standard_views import StandardViews
from baremetal_sched.baremetal.api.resources.view import BaremetalView, resource
from baremetal_sched.baremetal.nodes import chassis
from baremetal_sched.baremetal.schemas.nodes import CHASSIS_CREATE
from baremetal_sched.db.models import Chassis
from baremetal_sched.web.responses import json_response

CHASSIS = StandardViews(
    resource=resource(
        path="chassis",
        plural="chassis",
        model=Chassis,
        fields=chassis.FIELDS,
        list_default=chassis.LIST_DEFAULT,
        missing=chassis.missing,
        view=BaremetalView,
    ),
    parameter="chassis_uuid",
    schema=CHASSIS_CREATE,
    body_name="chassis",
    do_create=lambda call, session, values: chassis.create(session, values),
    do_update=lambda call, session, uuid, operations: chassis.update(session, uuid, operations),
    do_delete=lambda call, session, uuid: chassis.destroy(session, uuid),
)


def list_shards(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/shards; the nodes that are in no shard are in one called "None"."""
    call.refuse_query()
    found = chassis.count(session, call.visible)
    return json_response({"shards": [{"name": str(name), "count": count} for name, count in found]})


def refuse_one(call: BaremetalCall, session: None, name: str) -> Response:
    """GET /v1/shards/{name}: a shard only has a name."""
    raise ResourceNotFound
