"""/v1/groups"""

from typing import Any

from flask import Response
from sqlalchemy import Connection

from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.scheduling import groups
from baremetal_sched.scheduling.api.policies import ALL_GROUPS
from baremetal_sched.scheduling.groups import ConductorGroup, Ring
from baremetal_sched.scheduling.schemas.answers import TEXT, said
from baremetal_sched.web.call import Call
from baremetal_sched.web.query import Query
from baremetal_sched.web.responses import json_response

PARAMETERS = {"conductor_group": said("Only this conductor group; letter case is ignored.", TEXT)}


def list_groups(call: Call, connection: Connection) -> Response:
    """GET /v1/groups"""
    name = Query(call, PARAMETERS).text("conductor_group")
    visible = visible_to(call)
    found = groups.list_groups(connection, call.settings, visible, group=name, with_owners=visible.everything)
    return json_response({"groups": [document_of(each, with_hosts=visible.everything) for each in found]})


def visible_to(call: Call) -> Visibility:
    """Return the nodes that are counted for the caller. Only callers who see everything see conductors."""
    return EVERYTHING if call.allows(ALL_GROUPS) else Visibility(call.caller.project_id)


def document_of(group: ConductorGroup, *, with_hosts: bool) -> dict[str, Any]:
    """Return the conductor group as JSON; ``with_hosts``: with its conductors and rings."""
    document: dict[str, Any] = {
        "conductor_group": group.name,
        "nodes": group.nodes,
        "unserved": group.unserved,
        "conductors_alive": group.alive,
    }
    if with_hosts:
        document["conductors"] = [
            {
                "hostname": each.hostname,
                "alive": each.is_alive,
                "drivers": each.drivers,
                "nodes": each.nodes,
                "share": _fraction(each.nodes / group.nodes) if group.nodes else 0.0,
            }
            for each in group.conductors
        ]
        document["rings"] = [_ring(each) for each in group.rings]
    return document


def _ring(ring: Ring) -> dict[str, Any]:
    shares = ring.shares()
    return {
        "driver": ring.driver,
        "nodes": ring.nodes,
        "conductors": [
            {
                "hostname": hostname,
                "alive": hostname in ring.alive,
                "nodes": ring.owned.get(hostname, 0),
                "ring_share": _fraction(share),
            }
            for hostname, share in shares.items()
        ],
    }


def _fraction(number: float) -> float:
    return round(number, 6)
