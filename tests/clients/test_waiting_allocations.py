"""Released clients that wait for an allocation while all machines are busy, until one is undeployed."""

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openstack as sdk
import pytest

from tests.clients.openstack import OpenStack, variables_in
from tests.processes import Client, Program, serve
from tests.waiting import START, wait_until

# What openstacksdk deprecates is of no interest here.
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")

SETTINGS = {"conductor": {"allocation_wait": 600}}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Program, str, Client]]:
    """``serve`` with one machine of class gold, which is deployed for an allocation."""
    folder = tmp_path / "service"
    folder.mkdir()
    with serve(folder, settings=SETTINGS) as (program, url), Client(url) as client:
        body = {"driver": "fake-hardware", "name": "n1", "resource_class": "gold"}
        assert client.baremetal("POST", "/nodes", body).status_code == 201
        move(client, "manage", "manageable")
        client.baremetal("PUT", "/nodes/n1/states/power", {"target": "power off"})
        wait_until(lambda: client.baremetal("GET", "/nodes/n1").json()["power_state"] == "power off", "power off")
        move(client, "provide", "available")
        client.baremetal("POST", "/allocations", {"resource_class": "gold", "name": "first"})
        move(client, "active", "active")
        yield program, url, client


def order(client: Client, target: str) -> None:
    """Ask for a verb until it is accepted."""

    def accepted() -> bool:
        return client.baremetal("PUT", "/nodes/n1/states/provision", {"target": target}).status_code == 202

    wait_until(accepted, f"{target} to be accepted")


def move(client: Client, target: str, state: str) -> None:
    """Ask for a verb until it is accepted, and wait for the state that it leads to."""
    order(client, target)
    wait_until(lambda: client.baremetal("GET", "/nodes/n1").json()["provision_state"] == state, state)


def state_of(client: Client, name: str) -> str | None:
    """The state of an allocation, None if there is none of this name."""
    state: str | None = client.baremetal("GET", f"/allocations/{name}").json().get("state")
    return state


def undeploy(client: Client, waiting: str) -> str:
    """Free the machine, when the allocation has begun to wait for it; return its UUID.

    When it is clean, the allocation has it: one transaction writes both, so it is never seen without the other.
    """

    def clean() -> dict[str, Any] | None:
        node: dict[str, Any] = client.baremetal("GET", "/nodes/n1").json()
        return node if node["provision_state"] == "available" else None

    wait_until(lambda: state_of(client, waiting) == "allocating", "the allocation to wait")
    order(client, "deleted")
    node = wait_until(clean, "the machine to be clean")
    assert node is not None
    allocation = client.baremetal("GET", f"/allocations/{waiting}").json()
    assert (node["instance_uuid"], allocation["state"]) == (allocation["uuid"], "active")
    uuid: str = node["uuid"]
    return uuid


def test_the_command_gets_the_machine_that_is_undeployed(site: tuple[Program, str, Client], tmp_path: Path) -> None:
    program, _, client = site
    openstack = OpenStack(tmp_path, variables_in(program.output))
    create = "baremetal allocation create --name second --resource-class gold --wait 60 -f json"

    with ThreadPoolExecutor() as threads:
        running = threads.submit(openstack, create)
        node = undeploy(client, "second")
        made = running.result(START)
    assert (made["state"], made["node_uuid"], made["last_error"]) == ("active", node, None)


def test_one_that_waits_is_shown_and_cancelled_by_the_command(
    site: tuple[Program, str, Client], tmp_path: Path
) -> None:
    program, _, client = site
    openstack = OpenStack(tmp_path, variables_in(program.output))
    shown, listed = openstack.batch(
        "baremetal allocation create --name second --resource-class gold",
        "baremetal allocation show second -f json",
        "baremetal allocation list --state allocating -f json",
        "baremetal allocation set second --extra a=b",
        "baremetal allocation delete second",
    )
    assert (shown["state"], shown["node_uuid"], shown["last_error"]) == ("allocating", None, None)
    assert [each["uuid"] for each in listed] == [shown["uuid"]]
    assert state_of(client, "second") is None


def test_the_library_gets_the_machine_that_is_undeployed(site: tuple[Program, str, Client]) -> None:
    _, url, client = site
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the library's own dependencies deprecate
        connection = sdk.connect(auth_type="none", endpoint=url, baremetal_endpoint_override=f"{url}/baremetal")
    with connection, ThreadPoolExecutor() as threads:
        made = connection.baremetal.create_allocation(name="second", resource_class="gold")
        waiting = threads.submit(connection.baremetal.wait_for_allocation, made, timeout=60)
        node = undeploy(client, "second")
        found = waiting.result(START)
    assert (found.state, found.node_id) == ("active", node)
