"""The root of the scheduling API."""

from flask import Response

from baremetal_sched.web.call import Call
from baremetal_sched.web.responses import json_response


def show_root(call: Call, session: None) -> Response:
    """GET / and /v1: the one version that there is."""
    link = {"rel": "self", "href": f"{call.base_url}/v1"}
    return json_response({"versions": [{"id": "v1", "status": "CURRENT", "links": [link]}]})
