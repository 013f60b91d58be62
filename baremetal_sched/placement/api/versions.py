"""Microversions of the Placement API: 1.0 to 1.39."""

import microversion_parse
from werkzeug.datastructures import Headers

from baremetal_sched.web.microversions import Microversions

MINIMUM = 0
MAXIMUM = 39


class _Microversions(Microversions):
    """Placement's microversions: answers have the header's name in lower case."""

    def describe(self, headers: Headers, minor: int) -> None:
        super().describe(headers, minor)
        headers["Vary"] = "openstack-api-version"


VERSIONS = _Microversions("placement", 1, MINIMUM, MAXIMUM, parse=microversion_parse.parse_version_string)
