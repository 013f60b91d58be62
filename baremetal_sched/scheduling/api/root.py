"""The root of the scheduling API."""

from flask import Response

from baremetal_sched.web.call import Call
from baremetal_sched.web.responses import JSON, json_response


def show_root(call: Call, session: None) -> Response:
    """GET / and /v1: the one version that there is."""
    here = f"{call.base_url}/v1"
    links = [
        {"rel": "self", "href": here},
        # What RFC 8631 calls a description for programs.
        {"rel": "service-desc", "type": JSON, "href": f"{here}/openapi.json"},
    ]
    return json_response({"versions": [{"id": "v1", "status": "CURRENT", "links": links}]})
