"""User data of servers, in base64 as programs write it: with and without line breaks."""

import base64

import pytest

from baremetal_sched.baremetal.nodes import nodes
from tests.functional.compute.test_server_actions import act
from tests.functional.compute.test_servers import add_flavor, add_image, boot, message, show
from tests.service import Service

SCRIPT = "#!/bin/sh\n" + "echo long\n" * 20


def _given(service: Service, node: str) -> str:
    """Return the user data in the node's config drive."""
    drive = service.database.read(lambda session: nodes.find(session, node).instance_info["configdrive"])
    text: str = drive["user_data"]
    return text


def test_line_breaks_and_blanks_are_left_out(service: Service, subtests: pytest.Subtests) -> None:
    """Also at a rebuild. The server shows what was sent."""
    flavor, image = add_flavor(service), add_image(service)
    plain = base64.b64encode(SCRIPT.encode()).decode()
    wrapped = base64.encodebytes(SCRIPT.encode()).decode()  # as ``base64 FILE``, and Ruby's pack("m")
    for number, data in enumerate((plain, wrapped, wrapped.replace("\n", "\r\n"), f" {plain[:8]} \t{plain[8:]}\n")):
        with subtests.test(data=data[:80]):
            node = service.add_node(f"n{number}")
            server = boot(service, flavor, image, user_data=data).json["server"]["id"]
            service.work()
            assert _given(service, node) == SCRIPT
            assert show(service, server)["OS-EXT-SRV-ATTR:user_data"] == data
            act(
                service, server, "rebuild", {"imageRef": image, "user_data": base64.encodebytes(b"new\n" * 30).decode()}
            )
            assert _given(service, node) == "new\n" * 30
            service.work()


def test_other_characters_are_refused_with_the_reason(service: Service, subtests: pytest.Subtests) -> None:
    flavor, image = add_flavor(service), add_image(service)
    service.add_node("n1")
    for data, words in {
        "aGk=\n%%": "is not base64",
        "aGk": "is not base64",
        "aGk=\u00e9": "is not base64",
        base64.encodebytes(b"\xff\xfe" * 60).decode(): "UTF-8",
    }.items():
        with subtests.test(data=data):
            assert words in message(boot(service, flavor, image, user_data=data, status=400))
            assert service.compute("GET", "/servers").json["servers"] == []
