"""Microversions of the bare metal API: 1.1 to 1.115, negotiated as Ironic negotiates them."""

import re
from functools import cache, partial

from werkzeug.datastructures import Headers

from baremetal_sched.releases import newest_microversion
from baremetal_sched.settings import Settings
from baremetal_sched.web.microversions import Microversions, parse

SERVICE = "baremetal"
MAJOR = 1
MINIMUM = 1
MAXIMUM = 115
HEADER = "X-OpenStack-Ironic-API-Version"

#: Python refuses to convert thousands of digits, and no microversion has more digits than this.
#: Numbers as Ironic takes them: with a sign, and with zeros in front.
_VERSION = re.compile(r"(-?\d{1,100})\.(-?\d{1,100})", re.ASCII)


class _Microversions(Microversions):
    """Ironic's: answers name the version, and the range, in headers of its own."""

    def describe(self, headers: Headers, minor: int) -> None:
        self.describe_range(headers)
        headers.add(HEADER, self.text(minor))

    def describe_range(self, headers: Headers) -> None:
        """Say which versions there are."""
        headers.add("X-OpenStack-Ironic-API-Minimum-Version", self.oldest)
        headers.add("X-OpenStack-Ironic-API-Maximum-Version", self.newest)


def newest(settings: Settings) -> int:
    """The newest minor version that is offered: that of the release to which the service is pinned, if it is."""
    return newest_microversion(settings.pin_release_version, MAXIMUM)


@cache
def versions_up_to(maximum: int) -> _Microversions:
    """The microversions that are offered, if ``maximum`` is the newest of them."""
    return _Microversions(
        SERVICE, MAJOR, MINIMUM, maximum, legacy_header=HEADER, parse=partial(parse, form=_VERSION), any_case=True
    )
