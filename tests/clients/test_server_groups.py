"""Server groups with the released ``openstack`` command and with python-novaclient, unmodified, by racks."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.environments import python_with
from tests.clients.forked import ForkedOpenStack, forked_openstack
from tests.clients.openstack import variables_in
from tests.clients.test_boot_story import enrol, flavor, image
from tests.processes import serve

_LEVEL = {"compute": {"server_group_level": "rack"}}
_NEW = "--os-compute-api-version 2.64"


class World:
    """A service with three machines in two racks, a flavor and an image; the command."""

    def __init__(self, openstack: ForkedOpenStack, folder: Path, endpoint: str) -> None:
        self.openstack, self.endpoint = openstack, endpoint
        enrol(openstack, folder, n1=(), n2=(), n3=())
        for node, rack in (("n1", "r1"), ("n2", "r1"), ("n3", "r2")):
            openstack(f"baremetal node set {node} --property rack={rack}")
        openstack("scheduling domain create --level rack --from-property rack")
        image(openstack, "i")
        openstack(flavor("bm.gold", resources__CUSTOM_GOLD="1"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, home = tmp_path_factory.mktemp("service"), tmp_path_factory.mktemp("home")
    with serve(folder, settings=_LEVEL) as (program, url):
        program.wait_for("export", lambda: program.output)
        with forked_openstack(home, variables_in(program.output)) as command:
            yield World(command, home, f"{url}/compute/v2.1")


def test_the_openstack_command(world: World) -> None:
    made, _, listed, shown = world.openstack.batch(
        f"{_NEW} server group create control --policy anti-affinity --rule max_server_per_host=1 -f json",
        "server group create together --policy affinity -f json",
        f"{_NEW} server group list --long --all-projects -f json",
        f"{_NEW} server group show control -f json",
    )
    assert (made["policy"], made["rules"], made["members"]) == ("anti-affinity", {"max_server_per_host": 1}, [])
    assert [(row["Name"], row["Policy"]) for row in listed] == [("control", "anti-affinity"), ("together", "affinity")]
    assert shown == made
    create = f"server create --flavor bm.gold --image i --nic none --hint group={made['id']} --wait -f json"
    servers = [world.openstack(f"{create} c{number}") for number in (1, 2)]
    assert [server["status"] for server in servers] == ["ACTIVE", "ACTIVE"]
    assert world.openstack.run(f"{create} c3".split()).returncode != 0
    shown = world.openstack("server show c3 -f json")
    assert "3 are in a rack that has 1 server of the server group" in shown["fault"]["message"]
    first = world.openstack(f"--os-compute-api-version 2.71 server show {servers[0]['id']} -f json")
    assert first["server_groups"] == [made["id"]]
    members = world.openstack(f"{_NEW} server group show control -f json")["members"]
    assert members == [*(server["id"] for server in servers), shown["id"]]
    world.openstack("server group delete control together")
    assert world.openstack("server group list -f json") == []
    assert world.openstack("server show c1 -f json")["status"] == "ACTIVE"


_NOVACLIENT = """
import json, sys
from keystoneauth1 import noauth, session
from novaclient import client

nova = client.Client("2.64", session=session.Session(noauth.NoAuth(sys.argv[1])), endpoint_override=sys.argv[1])
group = nova.server_groups.create("n", "anti-affinity", {"max_server_per_host": 3})
old = client.Client("2.15", session=session.Session(noauth.NoAuth(sys.argv[1])), endpoint_override=sys.argv[1])
soft = old.server_groups.create(name="s", policies=["soft-affinity"])
found = {
    "policy": group.policy,
    "rules": group.rules,
    "soft": soft.policies,
    "listed": [each.name for each in nova.server_groups.list(limit=5, offset=0)],
    "same": nova.server_groups.get(group.id).id == group.id,
}
for each in (group, soft):
    nova.server_groups.delete(each.id)
print(json.dumps({**found, "left": [each.name for each in nova.server_groups.list(all_projects=True)]}))
"""


@pytest.mark.slow
def test_novaclient(world: World, pytestconfig: pytest.Config) -> None:
    python = python_with(pytestconfig, "novaclient", "python-novaclient==18.13.1")
    done = subprocess.run(
        [python, "-c", _NOVACLIENT, world.endpoint], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "policy": "anti-affinity", "rules": {"max_server_per_host": 3}, "soft": ["soft-affinity"],
        "listed": ["n", "s"], "same": True, "left": [],
    }  # fmt: skip
