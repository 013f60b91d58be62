"""A cloud as the suites expect one: ``serve`` with machines, the flavors and the image that DevStack makes, and users.

The service reads who is calling from the token (``noauth2``), so that users see what is theirs and no more.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests
import yaml

from baremetal_sched.compute.api import policies as compute_policies
from baremetal_sched.image.api import policies as image_policies
from tests.clients.suites.identity import cloud, identity
from tests.processes import Client, serve
from tests.service import ADMINISTRATOR
from tests.waiting import wait_until

MACHINES = 8
#: Name, vCPUs, MiB of memory, GiB of disk.
FLAVORS = (
    ("m1.tiny", 1, 512, 1),
    ("m1.small", 1, 2048, 20),
    ("m1.medium", 2, 4096, 40),
    ("m1.large", 4, 8192, 80),
    ("m1.xlarge", 8, 16384, 160),
)
EXTRA_SPECS = {
    "resources:CUSTOM_BAREMETAL": "1",
    "resources:VCPU": "0",
    "resources:MEMORY_MB": "0",
    "resources:DISK_GB": "0",
}
IMAGE = {"name": "cirros-0.6.3-x86_64-disk", "disk_format": "qcow2", "container_format": "bare", "visibility": "public"}
_ADMIN = {"X-Auth-Token": "admin:admin", "OpenStack-API-Version": "compute 2.100"}


@dataclass(frozen=True)
class SmallCloud:
    """``folder`` has the clouds.yaml with the users that the suites name."""

    folder: Path
    url: str


@contextmanager
def small_cloud(folder: Path) -> Iterator[SmallCloud]:
    """Start the service and Identity, and fill the former."""
    policy_file = folder / "policy.yaml"
    policy_file.write_text(yaml.safe_dump(_policies()))
    settings = {"oslo_policy": {"policy_file": policy_file}}
    with serve(folder, "--auth-strategy", "noauth2", settings=settings) as (_, url):
        _fill(url)
        services = {"baremetal": f"{url}/baremetal", "compute": f"{url}/compute/v2.1", "image": f"{url}/image"}
        with identity(services) as login:
            write_clouds(folder, login)
            yield SmallCloud(folder, url)


def write_clouds(folder: Path, login: str) -> None:
    """Write the clouds that the tests of openstacksdk and of the ``openstack`` command ask for."""
    clouds = {
        "devstack-admin": cloud(login, "admin", project_name="admin"),
        "devstack": cloud(login, "demo", project_name="demo"),
        "devstack-alt": cloud(login, "alt_demo", project_name="alt_demo"),
        "devstack-system-admin": cloud(login, "admin", system_scope="all"),
    }
    for made in clouds.values():
        made["floating_ip_source"] = "none"  # there is no network service that has any
    (folder / "clouds.yaml").write_text(yaml.safe_dump({"clouds": clouds}))


def _policies() -> dict[str, str]:
    """The policies that name a role: tokens of ``noauth2`` do not say the roles of users."""
    checks = {rule.name: rule.check_str for rule in (*compute_policies.RULES, *image_policies.RULES)}
    freed = {
        name: check.replace("role:reader and ", "").replace("role:member and ", "") for name, check in checks.items()
    }
    return {name: check for name, check in freed.items() if check != checks[name]}


def _fill(url: str) -> None:
    with Client(url, ADMINISTRATOR) as client:
        for number in range(MACHINES):
            _add_machine(client, number)
        wait_until(lambda: _are_on(client), "the machines to be on")
    for name, vcpus, ram, disk in FLAVORS:
        flavor = {"name": name, "vcpus": vcpus, "ram": ram, "disk": disk}
        made = _post(f"{url}/compute/v2.1/flavors", {"flavor": flavor})["flavor"]
        _post(f"{url}/compute/v2.1/flavors/{made['id']}/os-extra_specs", {"extra_specs": EXTRA_SPECS})
    made = _post(f"{url}/image/v2/images", IMAGE)
    _post(f"{url}/image/v2/images/{made['id']}/import", _WEB_DOWNLOAD)


_WEB_DOWNLOAD = {"method": {"name": "web-download", "uri": "http://images.example.com/cirros.img"}}


def _add_machine(client: Client, number: int) -> None:
    """A machine that is available (as clients below 1.11 get them), and has an address that is known beforehand."""
    links = [{"id": "eth0", "type": "phy", "ethernet_mac_address": f"52:54:00:00:00:{number:02x}"}]
    address = {"ip_address": f"192.0.2.{number + 10}", "netmask": "255.255.255.0"}
    networks = [{"id": "net0", "type": "ipv4", "link": "eth0", "network_id": "private", **address}]
    made = client.baremetal("POST", "/nodes", {"driver": "fake-hardware"}, "1.10").json()
    patch = [
        {"op": "add", "path": "/resource_class", "value": "baremetal"},
        {"op": "add", "path": "/network_data", "value": {"links": links, "networks": networks, "services": []}},
    ]
    assert client.baremetal("PATCH", f"/nodes/{made['uuid']}", patch).ok
    assert client.baremetal("PUT", f"/nodes/{made['uuid']}/states/power", {"target": "power on"}).ok


def _are_on(client: Client) -> bool:
    nodes = client.baremetal("GET", "/nodes?fields=power_state").json()["nodes"]
    return {node["power_state"] for node in nodes} == {"power on"}


def _post(url: str, body: object) -> dict[str, dict[str, str]]:
    response = requests.post(url, json=body, headers=_ADMIN, timeout=30)
    assert response.ok, response.text
    document: dict[str, dict[str, str]] = response.json() if response.content else {}
    return document
