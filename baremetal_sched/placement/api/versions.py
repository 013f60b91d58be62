"""Microversions of the Placement API: 1.0 to 1.39."""

from functools import lru_cache

import microversion_parse
from werkzeug.datastructures import Headers

from baremetal_sched.placement.api.errors import VersionRefused

SERVICE = "placement"
HEADER = "OpenStack-API-Version"
MINIMUM = 0
MAXIMUM = 39


def negotiate(headers: Headers) -> int:
    """The minor version that ``OpenStack-API-Version: placement 1.n`` asks for, else 0. Raises VersionRefused."""
    return _minor(headers.get(HEADER, ""))


@lru_cache(maxsize=200)
def _minor(given: str) -> int:
    wanted = microversion_parse.get_version({HEADER: given}, service_type=SERVICE)
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
