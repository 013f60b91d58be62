"""/"""

from flask import Response

from baremetal_sched.placement.api.call import PlacementCall
from baremetal_sched.placement.api.versions import MAXIMUM, MINIMUM


def show_root(call: PlacementCall, session: None) -> Response:
    """GET /"""
    version = {
        "id": "v1.0",
        "max_version": f"1.{MAXIMUM}",
        "min_version": f"1.{MINIMUM}",
        "status": "CURRENT",
        # Relative to this URL, however a proxy has changed it.
        "links": [{"rel": "self", "href": ""}],
    }
    return call.answer({"versions": [version]})
