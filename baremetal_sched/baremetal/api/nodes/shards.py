"""/v1/shards"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.errors import ResourceNotFound
from baremetal_sched.baremetal.nodes import chassis
from baremetal_sched.web.responses import json_response


def list_shards(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/shards; the nodes that are in no shard are in one called "None"."""
    call.refuse_query()
    found = chassis.count(session, call.visible)
    return json_response({"shards": [{"name": str(name), "count": count} for name, count in found]})


def refuse_one(call: BaremetalCall, session: None, name: str) -> Response:
    """GET /v1/shards/{name}: a shard only has a name."""
    raise ResourceNotFound
