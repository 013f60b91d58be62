"""The version documents: / and /v2.1"""

from typing import Any

from flask import Response

from baremetal_sched.compute.api.call import PREFIX, ComputeCall
from baremetal_sched.compute.api.versions import MAXIMUM, MINIMUM, VERSIONS
from baremetal_sched.web.responses import json_response


def list_versions(call: ComputeCall, session: None) -> Response:
    """GET /"""
    return json_response({"versions": [_version(call)]})


def show_version(call: ComputeCall, session: None) -> Response:
    """GET /v2.1"""
    version = _version(call)
    version["links"].append({"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"})
    version["media-types"] = [
        {"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1"}
    ]
    return json_response({"version": version})


def _version(call: ComputeCall) -> dict[str, Any]:
    return {
        "id": "v2.1",
        "status": "CURRENT",
        "version": VERSIONS.text(MAXIMUM),
        "min_version": VERSIONS.text(MINIMUM),
        # The date of Nova's 2.1, which does not change.
        "updated": "2013-07-23T11:33:21Z",
        "links": [{"rel": "self", "href": f"{call.base_url}{PREFIX}/"}],
    }
