"""How a client asks for a microversion, and what it hears."""

import pytest
from werkzeug.datastructures import Headers

from baremetal_sched.web.http_errors import MicroversionMalformed, MicroversionNotServed
from baremetal_sched.web.microversions import Microversions

VERSIONS = Microversions("compute", 2, 1, 100, legacy_header="X-OpenStack-Nova-API-Version")


def negotiated(standard: str = "", own: str = "") -> int:
    return VERSIONS.negotiate(Headers({"OpenStack-API-Version": standard, "X-OpenStack-Nova-API-Version": own}))


@pytest.mark.parametrize(
    ("standard", "own", "expected"),
    [
        ("", "", 1),
        ("compute 2.87", "", 87),
        ("Compute 2.87", "2.3", 87),
        ("compute latest", "", 100),
        ("placement 1.39, compute 2.5", "", 5),
        ("compute 2.4, compute 2.5", "", 5),
        ("placement 1.39", "2.61", 61),
        ("compute", "", 1),
    ],
)
def test_what_is_asked_for(standard: str, own: str, expected: int) -> None:
    assert negotiated(standard, own) == expected


@pytest.mark.parametrize("text", ["2", "2.", ".1", "2.01", "02.1", "2.-1", "+2.1", "2.1.1", "2.1x", "LATEST", "2.٣"])
def test_what_is_not_a_version(text: str) -> None:
    with pytest.raises(MicroversionMalformed):
        negotiated(own=text)


@pytest.mark.parametrize("text", ["2.0", "2.101", "1.1", "3.1"])
def test_what_is_not_served(text: str) -> None:
    with pytest.raises(MicroversionNotServed, match=r"the oldest is 2\.1, the newest 2\.100"):
        negotiated(f"compute {text}")


def test_answers_say_the_version_in_both_headers() -> None:
    headers = Headers()
    VERSIONS.describe(headers, 90)
    assert headers["OpenStack-API-Version"] == "compute 2.90"
    assert headers["X-OpenStack-Nova-API-Version"] == "2.90"
