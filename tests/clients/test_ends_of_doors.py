"""Ends that the released ``openstack`` command and its library give to servers and to bare metal allocations."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import openstack as sdk
import pytest
from openstack.connection import Connection

from tests.clients.forked import ForkedOpenStack, forked_openstack
from tests.clients.openstack import variables_in
from tests.clients.test_boot_story import enrol, flavor, image
from tests.processes import serve

# What openstacksdk deprecates is of no interest here.
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")

UNTIL = "2099-12-01T18:00:00+01:00"
OVER = "2020-12-01T18:00:00+01:00"


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[tuple[ForkedOpenStack, Connection]]:
    """The command and the library, for a service with three machines, a flavor and an image."""
    folder, home = tmp_path / "service", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    with serve(folder) as (program, url), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the library's own dependencies deprecate
        variables = variables_in(program.output) | {"HOME": str(home), "OS_COMPUTE_API_VERSION": "2.100"}
        paths = {f"{api}_endpoint_override": f"{url}/{path}" for api, path in (
            ("compute", "compute/v2.1"), ("image", "image"), ("baremetal", "baremetal"),
        )}  # fmt: skip
        cloud = sdk.connect(auth_type="none", endpoint=url, has_network=False, load_envvars=False, **paths)
        with forked_openstack(home, variables) as openstack, cloud:
            enrol(openstack, tmp_path, n1=(), n2=(), n3=())
            image(openstack, "i")
            openstack(flavor("bm.gold", resources__CUSTOM_GOLD="1"))
            yield openstack, cloud


def test_the_command_gives_a_server_an_end(clients: tuple[ForkedOpenStack, Connection]) -> None:
    openstack, _ = clients
    create = "server create web --flavor bm.gold --image i --nic none"
    refused = openstack.refused(f"{create} --hint until={OVER}")
    assert "The end must be later than now: 2020-12-01T17:00:00Z is over." in refused
    assert "must have one value, and not 2" in openstack.refused(f"{create} --hint for=60 --hint for=90")
    openstack(f"{create} --hint until={UNTIL}")
    assert openstack("server show web -f json")["scheduler_hints"] == {"until": UNTIL}


def test_the_library_gives_ends_to_servers_and_allocations(clients: tuple[ForkedOpenStack, Connection]) -> None:
    _, cloud = clients
    asked = {"image": "i", "flavor": "bm.gold", "scheduler_hints": {"for": 7200}}
    server = cloud.create_server("web", auto_ip=False, **asked)
    found = cloud.compute.get_server(server.id)
    assert found.scheduler_hints == {"for": 7200}
    cloud.baremetal.additional_headers["Prefer"] = f'allocation-until="{UNTIL}"'
    made = cloud.baremetal.create_allocation(name="a", resource_class="gold")
    assert cloud.baremetal.wait_for_allocation(made).state == "active"
    body = {"name": "b", "resource_class": "gold"}
    answer = cloud.baremetal.post("/allocations", json=body, microversion="1.58")
    assert answer.headers["Preference-Applied"] == f'allocation-until="{UNTIL}"'
    cloud.baremetal.additional_headers["Prefer"] = f'allocation-until="{OVER}"'
    with pytest.raises(sdk.exceptions.BadRequestException, match="2020-12-01T17:00:00Z is over"):
        cloud.baremetal.create_allocation(name="c", resource_class="gold")
