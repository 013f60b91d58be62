"""How a client asks for a microversion, and what it hears."""

import pytest
from werkzeug.datastructures import Headers

from baremetal_sched.web.http_errors import MicroversionMalformed, MicroversionNotServed
from baremetal_sched.web.microversions import Microversions

VERSIONS = Microversions("compute", 2, 1, 100, legacy_header="X-OpenStack-Nova-API-Version")


def negotiated(standard: str = "", own: str = "") -> int:
    return VERSIONS.negotiate(Headers({"OpenStack-API-Version": standard, "X-OpenStack-Nova-API-Version": own}))


def test_what_is_asked_for(subtests: pytest.Subtests) -> None:
    for standard, own, expected in [
        ("", "", 1),
        ("compute 2.87", "", 87),
        ("Compute 2.87", "2.3", 87),
        ("compute latest", "", 100),
        ("placement 1.39, compute 2.5", "", 5),
        ("compute 2.4, compute 2.5", "", 5),
        ("placement 1.39", "2.61", 61),
        ("compute", "", 1),
    ]:
        with subtests.test(standard=standard):
            assert negotiated(standard, own) == expected


def test_what_is_not_a_version(subtests: pytest.Subtests) -> None:
    for text in ["2", "2.", ".1", "2.01", "02.1", "2.-1", "+2.1", "2.1.1", "2.1x", "LATEST", "2.٣"]:
        with subtests.test(text=text), pytest.raises(MicroversionMalformed):
            negotiated(own=text)


def test_what_is_not_served(subtests: pytest.Subtests) -> None:
    for text in ["2.0", "2.101", "1.1", "3.1"]:
        with subtests.test(text=text), pytest.raises(MicroversionNotServed, match=r"oldest is 2\.1, the newest 2\.100"):
            negotiated(f"compute {text}")


def test_answers_say_the_version_in_both_headers() -> None:
    headers = Headers()
    VERSIONS.describe(headers, 90)
    assert headers["OpenStack-API-Version"] == "compute 2.90"
    assert headers["X-OpenStack-Nova-API-Version"] == "2.90"
