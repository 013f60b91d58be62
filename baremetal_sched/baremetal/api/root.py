"""The version documents: / and /v1; and requests that name no resource"""

from typing import Any

from flask import Response

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.errors import MethodRefused
from baremetal_sched.baremetal.api.resources.view import links
from baremetal_sched.baremetal.api.versions import MINIMUM, newest
from baremetal_sched.web.responses import json_response

#: Collections that /v1 points to, with the microversion that has each.
COLLECTIONS = {
    "chassis": 1,
    "nodes": 1,
    "ports": 1,
    "drivers": 1,
    "lookup": 22,
    "heartbeat": 22,
    "portgroups": 23,
    "volume": 32,
    "conductors": 49,
    "allocations": 52,
    "events": 54,
    "deploy_templates": 55,
    "shards": 82,
    "continue_inspection": 84,
    "runbooks": 92,
    "inspection_rules": 96,
}


def show_root(call: BaremetalCall, session: None) -> Response:
    """GET /"""
    version = _version(call)
    return json_response(
        {
            "name": "OpenStack Ironic API",
            "description": "Bare metal API of baremetal-sched, as Ironic has it.",
            "default_version": version,
            "versions": [version],
        }
    )


def show_v1(call: BaremetalCall, session: None) -> Response:
    """GET /v1"""
    base = call.base_url
    document: dict[str, Any] = {
        "id": "v1",
        "links": [
            {"href": f"{base}/v1/", "rel": "self"},
            {
                "href": "https://docs.openstack.org/ironic/latest/contributor/webapi.html",
                "rel": "describedby",
                "type": "text/html",
            },
        ],
        "media_types": {"base": "application/json", "type": "application/vnd.openstack.ironic.v1+json"},
        "version": _version(call),
    }
    for name, since in COLLECTIONS.items():
        if call.version >= since:
            document[name] = links(base, name, "")
    return json_response(document)


def refuse_method(call: BaremetalCall, session: None) -> Response:
    """POST, PUT, PATCH and DELETE /v1"""
    raise MethodRefused(message=f"The method {call.http.method} is not allowed for this resource.")


def _version(call: BaremetalCall) -> dict[str, Any]:
    return {
        "id": "v1",
        "links": [{"href": f"{call.base_url}/v1/", "rel": "self"}],
        "status": "CURRENT",
        "min_version": f"1.{MINIMUM}",
        "version": f"1.{newest(call.settings)}",
    }
