"""Servers that wait until a machine is free, with the released ``openstack`` command and its library."""

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openstack as sdk
import pytest
from openstack.connection import Connection

from tests.clients.forked import ForkedOpenStack, forked_openstack
from tests.clients.openstack import variables_in
from tests.clients.test_boot_story import NODE, enrol, flavor, image
from tests.processes import serve
from tests.waiting import wait_until

# What openstacksdk deprecates is of no interest here.
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")

_SECONDS = 120
_CREATE = "server create web --flavor bm.gold --image i --hint wait=600 --wait -f value -c id"
#: The library takes no server for complete that has no address.
_NETWORK = {
    "links": [{"id": "l", "type": "phy", "ethernet_mac_address": "52:54:00:12:34:56"}],
    "networks": [{"id": "n", "link": "l", "network_id": "net", "type": "ipv4", "ip_address": "10.0.0.4"}],
    "services": [],
}


class World:
    """A service with two machines, both of which have servers; the command, and a connection of the library."""

    def __init__(self, folder: Path, variables: dict[str, str], openstack: ForkedOpenStack, cloud: Connection) -> None:
        self.folder, self.variables, self.openstack, self.cloud = folder, variables, openstack, cloud
        self.nodes = enrol(openstack, folder, n1=(), n2=())
        (folder / "network.json").write_text(json.dumps(_NETWORK))
        openstack(f"baremetal node set n2 --network-data {folder / 'network.json'}")
        self.image = image(openstack, "i")["id"]
        self.flavor = openstack(flavor("bm.gold", resources__CUSTOM_GOLD="1"))["id"]
        for name in ("s1", "s2"):
            openstack(f"server create {name} --flavor bm.gold --image i --wait -f json")

    def server(self, name: str) -> dict[str, Any] | None:
        servers = self.cloud.compute.get("/servers/detail", params={"name": name}).json()["servers"]
        return servers[0] if servers else None

    def undeploy(self, node: str) -> None:
        self.openstack(f"baremetal node undeploy {node}")

    def seconds_from_clean_to_active(self, node: str, name: str) -> float:
        """Undeploy the node, and return how long after the end of its cleaning the server was active."""
        self.undeploy(node)

        def is_clean() -> bool:
            return (self.server(name) or {})["OS-EXT-STS:task_state"] != "scheduling"

        def is_active() -> bool:
            return (self.server(name) or {}).get("status") == "ACTIVE"

        wait_until(is_clean, "the end of the cleaning")
        began = time.monotonic()
        wait_until(is_active, "the server to be active")
        return time.monotonic() - began


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    folder, home = tmp_path / "service", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    with serve(folder) as (program, url), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the library's own dependencies deprecate
        variables = variables_in(program.output) | {"HOME": str(home)}
        paths = {"compute_endpoint_override": f"{url}/compute/v2.1", "image_endpoint_override": f"{url}/image"}
        cloud = sdk.connect(auth_type="none", endpoint=url, has_network=False, load_envvars=False, **paths)
        with forked_openstack(home, variables) as openstack, cloud:
            yield World(tmp_path, variables, openstack, cloud)


def test_a_server_is_active_within_a_second_of_the_end_of_the_cleaning(world: World) -> None:
    command = [sys.executable, "-m", "openstackclient.shell", *_CREATE.split()]
    environment = {**world.variables, "PYTHONWARNINGS": "ignore"}
    creating = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        waiting = wait_until(lambda: world.server("web"), "the server")
        assert (waiting["status"], waiting["OS-EXT-STS:task_state"]) == ("BUILD", "scheduling")
        assert world.seconds_from_clean_to_active(world.nodes["n1"], "web") < 1
        printed, _ = creating.communicate(timeout=_SECONDS)
    finally:
        creating.kill()
        creating.wait()
    assert (creating.returncode, printed.strip()) == (0, waiting["id"])
    assert world.openstack("server show web -f json")[NODE] == world.nodes["n1"]


def test_the_library_waits_and_gives_up(world: World) -> None:
    asked = {"image": world.image, "flavor": world.flavor, "scheduler_hints": {"wait": 600}}
    in_vain = world.cloud.create_server("in-vain", **asked)
    assert world.cloud.delete_server(in_vain.id, wait=True, timeout=_SECONDS)
    world.undeploy(world.nodes["n2"])
    found = world.cloud.create_server("web", wait=True, auto_ip=False, timeout=_SECONDS, **asked)
    assert (found.status, found.hypervisor_hostname) == ("ACTIVE", world.nodes["n2"])
