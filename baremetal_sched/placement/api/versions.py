"""Microversions of the Placement API: 1.0 to 1.39."""

import microversion_parse
from werkzeug.datastructures import Headers

from baremetal_sched.placement.api.errors import VersionRefused

SERVICE = "placement"
MINIMUM = 0
MAXIMUM = 39


def negotiate(headers: Headers) -> int:
    """The minor version that ``OpenStack-API-Version: placement 1.n`` asks for, else 0. Raises VersionRefused."""
    wanted = microversion_parse.get_version(dict(headers), service_type=SERVICE)
    if wanted is None:
        return MINIMUM
    if wanted == "latest":
        return MAXIMUM
    try:
        version = microversion_parse.parse_version_string(wanted)
    except TypeError:
        raise VersionRefused(400, f"Invalid microversion: invalid version string: {wanted}") from None
    minor: int = version.minor
    if version.major != 1 or not MINIMUM <= minor <= MAXIMUM:
        raise VersionRefused(406, f"Invalid microversion: Unacceptable version header: {wanted}")
    return minor
