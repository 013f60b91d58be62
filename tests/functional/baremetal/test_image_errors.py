"""An image that cannot be written: the node names the failed step, the reason, and the state of the disk; its claim
stays."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from baremetal_sched import bounded_http
from baremetal_sched.bounded_http import Answer, CallFailed
from baremetal_sched.conductor import periodic_tasks
from baremetal_sched.conductor.host import ConductorHost
from tests.emulators.stub_agent import StubAgent
from tests.functional.baremetal.test_agent_commands import IMAGE, MAC, ask, beat, token_of, until_done
from tests.restored import Rows
from tests.service import Service

EXCHANGE = bounded_http.exchange

Prepare = Callable[[StubAgent], Any]


def not_there(status: int, reason: str) -> Prepare:
    return lambda agent: setattr(agent, "image", lambda url, **options: Answer(status, reason, None, b""))


def redirected_to(location: str) -> Prepare:
    """The server of the image sends the conductor there, as which it is called in earnest."""

    def image(url: str, **options: Any) -> Answer:
        return Answer(302, "Found", location, b"") if url == IMAGE else EXCHANGE("HEAD", url, **options)

    return lambda agent: setattr(agent, "image", image)


def unreachable(agent: StubAgent) -> None:
    def image(url: str, **options: Any) -> Answer:
        raise CallFailed("Connection refused")

    agent.image = image


def failing(command: str, said: str) -> Prepare:
    return lambda agent: agent.failures.update({command: said})


def in_trouble(command: str, trouble: str | int) -> Prepare:
    return lambda agent: agent.trouble.update({command: trouble})


#: Texts of ironic-python-agent 13.
CHECKSUM = (
    "Error verifying image: Image failed to verify against checksum. location: /tmp/x.raw; image ID: x; image "
    "checksum: 00; verification checksum: 11"
)
TOO_LARGE = "Error writing image to device: Writing image to device /dev/sda failed with exit code 1: No space left"

NOT_BEGUN, PARTLY, WRITTEN = "was not begun", "may be partly written", "is written"
WRITE, BOOT, END = "write_image", "prepare_instance_boot", "tear_down_agent"

CASES: list[tuple[Prepare, str, str, str]] = [
    (not_there(404, "Not Found"), WRITE, "the server of the image answers 404 (Not Found)", NOT_BEGUN),
    (not_there(410, "Gone"), WRITE, "the server of the image answers 410 (Gone)", NOT_BEGUN),
    (redirected_to("http://127.0.0.1:9/x.raw"), WRITE, "127.0.0.1 (127.0.0.1) is this machine itself", NOT_BEGUN),
    (redirected_to("http://[::ffff:7f00:1]/"), WRITE, "is this machine itself", NOT_BEGUN),
    (redirected_to("//169.254.169.254/latest"), WRITE, "is a link-local address", NOT_BEGUN),
    (redirected_to("file:///etc/shadow"), WRITE, "that is not an address of HTTP", NOT_BEGUN),
    (redirected_to(IMAGE), WRITE, "there were more than 5 redirects", NOT_BEGUN),
    (unreachable, WRITE, "the URL of the image cannot be used: Connection refused", NOT_BEGUN),
    (in_trouble("execute_deploy_step", "busy"), WRITE, "refused the request (409): Agent is busy", NOT_BEGUN),
    (in_trouble("execute_deploy_step", 401), WRITE, "refused the request (401)", NOT_BEGUN),
    (in_trouble("execute_deploy_step", "lost"), WRITE, "It is unknown whether", PARTLY),
    (in_trouble("execute_deploy_step", 500), WRITE, "It is unknown whether", PARTLY),
    (failing("execute_deploy_step", CHECKSUM), WRITE, CHECKSUM, PARTLY),
    (failing("execute_deploy_step", TOO_LARGE), WRITE, TOO_LARGE, PARTLY),
    (failing("execute_deploy_step", "x" * 900), WRITE, "x" * 200, PARTLY),
    (failing("get_partition_uuids", "no disk"), BOOT, "no disk", WRITTEN),
    (failing("install_bootloader", "no grub"), BOOT, "no grub", WRITTEN),
    (in_trouble("install_bootloader", "lost"), BOOT, "It is unknown whether", WRITTEN),
    (failing("sync", "Input/output error"), END, "Input/output error", WRITTEN),
]


@pytest.fixture
def token(service: Service, agent: StubAgent) -> str:
    """The token of the agent on n1, whose machine is claimed, and being deployed."""
    info = {"image_source": IMAGE, "image_checksum": "0" * 64}
    uuid = service.add_node("n1", deploy_interface="direct", resource_class="gold")
    service.baremetal("POST", "/ports", {"node_uuid": uuid, "address": MAC})
    service.baremetal("POST", "/allocations", {"name": "a1", "resource_class": "gold"})
    service.work()
    service.patch("n1", ("add", "/instance_info", info))
    ask(service, "active")
    return token_of(service)


def test_what_is_said_and_kept(service: Service, agent: StubAgent, token: str, row: Rows) -> None:
    for prepare, step, cause, image in CASES:
        with row(prepare, step, cause, image):
            prepare(agent)
            node = until_done(service, token)
            assert node["provision_state"] == "deploy failed"
            said = node["last_error"]
            assert f"tep deploy.{step} " in said
            assert cause in said
            assert said.endswith(f" The image {image}.")
            assert said.count("The image ") == 1
            assert token not in said
            events = service.baremetal("GET", "/nodes/n1/history?detail=true").json["history"]
            assert said in [event["event"] for event in events]
            # Whose machine it is has not changed.
            allocation = service.baremetal("GET", "/allocations/a1").json
            assert (allocation["node_uuid"], node["instance_uuid"]) == (node["uuid"], allocation["uuid"])
            assert service.candidates("resources=CUSTOM_GOLD:1") == set()
            # The next attempt begins anew.
            assert not {"image_state", "agent_command"} & node["driver_internal_info"].keys()
            agent.image, agent.trouble, agent.failures = StubAgent().image, {}, {}
            ask(service, "active")
            agent.restart()
            node = until_done(service, token_of(service))
            assert (node["provision_state"], node["last_error"]) == ("active", None)
            assert "image_state" not in node["driver_internal_info"]


def test_an_agent_that_does_not_list_its_commands(service: Service, agent: StubAgent, token: str) -> None:
    """After a restart, for example, with another token."""
    beat(service, token)
    agent.token = "another"
    node = until_done(service, token)
    assert node["provision_state"] == "deploy failed"
    assert node["last_error"].endswith(
        "Step deploy.write_image failed: the agent on the machine refused the request (401): Token invalid. The image "
        "may be partly written."
    )
    assert node["power_state"] == "power off"


def test_an_agent_that_falls_silent(service: Service, agent: StubAgent, token: str, row: Rows) -> None:
    for heartbeats, image in [(0, NOT_BEGUN), (1, PARTLY)]:
        with row(heartbeats, image):
            agent.renew()
            for _ in range(heartbeats):
                beat(service, token)
            agent.is_silent = True
            service.set_columns(service.node("n1")["uuid"], provision_updated_at=datetime(2026, 1, 1))
            host = ConductorHost("c1", service.database, service.app.settings)
            periodic_tasks.fail_late(host)
            node = service.node("n1")
            assert node["provision_state"] == "deploy failed"
            assert node["last_error"].endswith(f" The image {image}.")
