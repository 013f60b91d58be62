"""The API in processes that can import no driver, with a conductor beside it."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.processes import OPEN, Client, conductor, program, run
from tests.waiting import wait_until

#: gunicorn, in which the import of a driver or of anything of a conductor fails.
GUNICORN_WITHOUT_DRIVERS = """
import sys

class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("baremetal_sched.drivers", "baremetal_sched.conductor")):
            raise ImportError(f"{name} is for conductors")

sys.meta_path.insert(0, Refusal())
from gunicorn.app.wsgiapp import run
run()
"""
_LISTENING = "Listening at: "
SHORT = {"conductor": {"heartbeat_interval": 0.5, "work_interval": 0.1}}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("without-drivers")
    settings = {**OPEN, **SHORT, "database": {"connection": f"sqlite:///{folder / 'shared.sqlite'}"}}
    assert run(folder, "db", "upgrade", settings=settings).returncode == 0
    command = (sys.executable, "-c", GUNICORN_WITHOUT_DRIVERS, "-c", "python:baremetal_sched.gunicorn_config")
    bound = (*command, "--bind", "127.0.0.1:0", "baremetal_sched.wsgi:app")
    with conductor(folder, "c1", settings=settings), program(bound, folder, "gunicorn", settings) as running:
        running.wait_for(_LISTENING, lambda: running.log)
        url = running.log.split(_LISTENING)[1].split()[0]
        with Client(url) as client:
            wait_until(lambda: is_ready(client), "the API to serve")
            yield client


def is_ready(client: Client) -> bool:
    try:
        return client.healthcheck().status_code == 200
    except requests.ConnectionError:
        return False


def node(client: Client, name: str) -> dict[str, Any]:
    found: dict[str, Any] = client.baremetal("GET", f"/nodes/{name}").json()
    return found


def test_a_life_of_a_node(client: Client) -> None:
    """From its enrolment by way of cleaning and deployment to its deletion."""
    assert client.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"}).status_code == 201
    patch = [{"op": "add", "path": "/vendor_interface", "value": "no-vendor"}]
    assert client.baremetal("PATCH", "/nodes/n1", patch).json()["vendor_interface"] == "no-vendor"
    refused = client.baremetal("PATCH", "/nodes/n1", [{**patch[0], "value": "nosuch"}])
    assert (refused.status_code, "Valid interfaces are ['fake', 'no-vendor']" in refused.text) == (400, True)
    for target, state in (
        ("manage", "manageable"),
        ("inspect", "manageable"),
        ("provide", "available"),
        ("active", "active"),
        ("deleted", "available"),
    ):
        answer = client.baremetal("PUT", "/nodes/n1/states/provision", {"target": target})
        assert answer.status_code == 202, answer.text
        wait_until(lambda state=state: settled(client, state), f"the node to be {state}")  # type: ignore[misc]
    assert client.baremetal("PUT", "/nodes/n1/states/power", {"target": "power off"}).status_code == 202
    wait_until(lambda: node(client, "n1")["power_state"] == "power off", "the power to be off")
    assert client.baremetal("GET", "/nodes/n1/validate").json()["power"] == {"result": True}
    assert client.baremetal("PUT", "/nodes/n1/maintenance", {}).status_code == 202
    assert client.baremetal("DELETE", "/nodes/n1").status_code == 204


def settled(client: Client, state: str) -> bool:
    found = node(client, "n1")
    return (found["provision_state"], found["target_provision_state"], found["reservation"]) == (state, None, None)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("GET", "/drivers?detail=true", None, 200, '"default_deploy_interface": "fake"'),
        ("GET", "/drivers/fake-hardware/properties", None, 200, "B1 description"),
        ("GET", "/drivers/fake-hardware/raid/logical_disk_properties", None, 200, "RAID level of the logical disk"),
        ("GET", "/drivers/manual-management/raid/logical_disk_properties", None, 200, "RAID level"),
        ("GET", "/drivers/fake-hardware/vendor_passthru/methods", None, 200, "{}"),
        ("PUT", "/nodes/n2/states/raid", {"logical_disks": [{"raid_level": "9", "size_gb": 1}]}, 400, "'9' is not one"),
        ("PUT", "/nodes/n2/states/raid", {"logical_disks": [{"raid_level": "1", "size_gb": 1}]}, 204, ""),
        ("GET", "/nodes/n2/management/boot_device", None, 200, "pxe"),
        ("GET", "/nodes/n2/management/boot_device/supported", None, 200, "pxe"),
        ("PUT", "/nodes/n2/management/boot_device", {"boot_device": "disk"}, 400, "Invalid boot device disk"),
        ("GET", "/nodes/n2/management/indicators", None, 200, "chassis"),
        ("PUT", "/nodes/n2/management/inject_nmi", {}, 400, "does not support inject_nmi"),
        ("GET", "/nodes/n2/states/console", None, 200, "console_enabled"),
        ("GET", "/nodes/n2/vifs", None, 200, "vifs"),
        ("POST", "/nodes/n2/vifs", {"id": "v1"}, 204, ""),
        ("GET", "/nodes/n2/vmedia", None, 400, "does not support"),
        ("GET", "/nodes/n2/vendor_passthru/methods", None, 200, "third_method_sync"),
        ("POST", "/nodes/n2/vendor_passthru/third_method_sync", {"bar": "meow"}, 200, "true"),
        ("POST", "/nodes/n2/vendor_passthru/second_method", {"bar": "kazoo"}, 202, ""),
    ],
)
def test_what_a_driver_has_to_say(client: Client, method: str, path: str, body: Any, status: int, words: str) -> None:
    if client.baremetal("GET", "/nodes/n2").status_code == 404:
        created = client.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n2"})
        assert created.status_code == 201
    answer = client.baremetal(method, path, body)
    assert answer.status_code == status, answer.text
    assert words.replace(" ", "") in answer.text.replace(" ", "")
