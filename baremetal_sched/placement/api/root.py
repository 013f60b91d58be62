"""/, and the versions of the API."""

import microversion_parse
from flask import Response
from werkzeug.datastructures import Headers

from baremetal_sched.placement.api.call import PlacementCall
from baremetal_sched.web.microversions import Microversions

MINIMUM = 0
MAXIMUM = 39


class _Microversions(Microversions):
    """Placement's microversions: answers have the header's name in lower case."""

    def describe(self, headers: Headers, minor: int) -> None:
        super().describe(headers, minor)
        headers["Vary"] = "openstack-api-version"


VERSIONS = _Microversions("placement", 1, MINIMUM, MAXIMUM, parse=microversion_parse.parse_version_string)


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
