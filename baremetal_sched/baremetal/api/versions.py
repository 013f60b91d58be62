"""Microversions of the bare metal API: 1.1 to 1.115, negotiated as Ironic negotiates them."""

import re
from functools import lru_cache

from werkzeug.datastructures import Headers

from baremetal_sched.releases import newest_microversion
from baremetal_sched.settings import Settings
from baremetal_sched.web.problems import Problem

SERVICE = "baremetal"
MINIMUM = 1
MAXIMUM = 115
HEADER = "X-OpenStack-Ironic-API-Version"
_GENERIC = "OpenStack-API-Version"

_VERSION = re.compile(r"(-?\d+)\.(-?\d+)", re.ASCII)


class VersionRefused(Problem):
    """The client asks for a version that is not served, or that is none."""

    status = 406


class VersionOutOfRange(VersionRefused):
    """It is one, but not served."""


def newest(settings: Settings) -> int:
    """The newest minor version that is offered: that of the release to which the service is pinned, if it is."""
    return newest_microversion(settings.pin_release_version, MAXIMUM)


def negotiate(headers: Headers, maximum: int = MAXIMUM) -> int:
    """The minor version that the request headers ask for; 1 if they ask for none. ``maximum`` is the newest on offer.

    The generic ``OpenStack-API-Version: baremetal 1.n`` wins over Ironic's own header. Raises VersionRefused.
    """
    return _minor(headers.get(_GENERIC, ""), headers.get(HEADER, ""), maximum)


@lru_cache(maxsize=200)
def _minor(generic: str, own: str, maximum: int) -> int:
    wanted = _of_service(generic) or own.strip()
    if not wanted:
        return MINIMUM
    if wanted.lower() == "latest":
        return maximum
    match = _VERSION.fullmatch(wanted)
    if match is None:
        raise VersionRefused(message=f"Invalid value for {HEADER} header")
    major, minor = int(match[1]), int(match[2])
    supported = f"The supported version range is: [1.{MINIMUM}, 1.{maximum}]."
    if major != 1:
        raise VersionOutOfRange(
            message=f"Mutually exclusive versions requested. Version {major}.{minor} requested but not supported by "
            f"this service. {supported}"
        )
    if not MINIMUM <= minor <= maximum:
        raise VersionOutOfRange(
            message=f"Version 1.{minor} was requested but the minor version is not supported by this service. "
            f"{supported}"
        )
    return minor


def _of_service(generic: str) -> str:
    """The version for us in the generic header, which several services may share; empty if there is none."""
    for entry in generic.split(","):
        words = entry.split()
        if len(words) == 2 and words[0].lower() == SERVICE:
            return words[1]
    return ""
