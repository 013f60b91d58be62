"""Microversions: the range of an API, negotiation, and response headers.

Only the minor part is negotiated: an API has one fixed major version.
"""

import re
from collections.abc import Callable
from functools import lru_cache

import microversion_parse
from werkzeug.datastructures import Headers

from baremetal_sched.web.http_errors import MicroversionMalformed, MicroversionNotServed

STANDARD_HEADER = "OpenStack-API-Version"

#: Longer numbers are not versions; Python is slow at converting thousands of digits.
_VERSION = re.compile(r"([1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")

#: Parses a text into (major, minor). Raises ValueError or TypeError if it is not a version.
Parse = Callable[[str], tuple[int, int]]


def parse(text: str, form: re.Pattern[str] = _VERSION) -> tuple[int, int]:
    """``"2.90"`` as numbers; by default without blanks, signs or zeros in front. Raises ValueError."""
    match = form.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return int(match[1]), int(match[2])


class Microversions:
    """The versions ``major.minimum`` to ``major.maximum`` of the service of this type.

    A client asks with ``OpenStack-API-Version: <service type> 2.90``, or with the API's own ``legacy_header``, which
    has the number alone; the word ``latest`` is the newest, and a client that does not ask gets the oldest.
    """

    def __init__(
        self,
        service_type: str,
        major: int,
        minimum: int,
        maximum: int,
        *,
        legacy_header: str | None = None,
        parse: Parse = parse,
        any_case: bool = False,
    ) -> None:
        self.service_type = service_type
        self.major = major
        self.minimum = minimum
        self.maximum = maximum
        self.oldest = self.text(minimum)
        self.newest = self.text(maximum)
        self.legacy_header = legacy_header
        self._parse = parse
        self._any_case = any_case
        self._minor = lru_cache(maxsize=200)(self._negotiated)

    def text(self, minor: int) -> str:
        """Return the version in text form."""
        return f"{self.major}.{minor}"

    def negotiate(self, headers: Headers) -> int:
        """Return the minor version that the request asks for.

        Raises MicroversionMalformed, and MicroversionNotServed for one that is not offered.
        """
        own = headers.get(self.legacy_header, "") if self.legacy_header else ""
        return self._minor(headers.get(STANDARD_HEADER, ""), own)

    def _negotiated(self, standard: str, own: str) -> int:
        headers = {STANDARD_HEADER: standard}
        legacy = [self.legacy_header] if self.legacy_header else []
        if own and self.legacy_header:
            headers[self.legacy_header] = own
        wanted = microversion_parse.get_version(headers, service_type=self.service_type, legacy_headers=legacy)
        if not wanted:
            return self.minimum
        if (wanted.lower() if self._any_case else wanted) == "latest":
            return self.maximum
        try:
            major, minor = self._parse(wanted)
        except (TypeError, ValueError):
            raise MicroversionMalformed(given=wanted) from None
        if major != self.major or not self.minimum <= minor <= self.maximum:
            raise MicroversionNotServed(
                given=wanted,
                major=major,
                minor=minor,
                minimum=self.oldest,
                maximum=self.newest,
            )
        return minor

    def describe(self, headers: Headers, minor: int) -> None:
        """Add headers with the version of an answer, and Vary."""
        # Werkzeug looks for an earlier value only where it replaces one.
        headers.add(STANDARD_HEADER, f"{self.service_type} {self.text(minor)}")
        headers.add("Vary", STANDARD_HEADER)
        if self.legacy_header:
            headers.add(self.legacy_header, self.text(minor))
            headers.add("Vary", self.legacy_header)
