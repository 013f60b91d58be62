"""The guide for tenants, followed with a new Keystone: its commands, and what each tenant can do with
what is the other's."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.clients.keystone.cloud import Keystone, keystone_in
from tests.clients.keystone.installation import ADMIN_PASSWORD, REGION
from tests.clients.openstack import OpenStack
from tests.functional.tenants.test_guide import LISTS, OTHERS, tries
from tests.processes import Values, serve

GUIDES = Path(__file__).parents[3] / "api-ref/guides"
TENANTS, KEYSTONE = ((GUIDES / f"{name}.rst").read_text() for name in ("tenants", "keystone"))
#: The sections of the guide to Keystone: the service's user, and the catalogue.
USER, CATALOGUE = (KEYSTONE.split(f"\n{number}. ")[1].split("\n===")[1] for number in (1, 3))
PROJECTS = {"anna": "blue", "bert": "green"}


def commands(text: str, *, about: str = "") -> list[str]:
    """The commands for ``openstack`` in a text, which begin with ``about``; passwords are not asked for."""
    found = re.findall(rf"^    openstack ({about}.*)$", text, re.MULTILINE)
    assert found
    return [re.sub(r"--password-prompt (\S+)", r"--password password-of-\1 \1", command) for command in found]


def do(openstack: OpenStack, command: str) -> None:
    """Run a command, whatever it prints."""
    done = openstack.run(command.split())
    assert done.returncode == 0, f"{command}: {done.stderr}"


class Cloud:
    """Keystone and the service, and people who use both."""

    def __init__(self, keystone: Keystone, home: Path) -> None:
        self.keystone = keystone
        self.url = ""
        self.nodes: dict[str, str] = {}
        self.servers: dict[str, str] = {}
        self._home = home
        self._tokens: dict[str, str] = {}

    def openstack(self, name: str, project: str | None) -> OpenStack:
        """The command of a person in a project, or for the system."""
        scope = {"OS_PROJECT_NAME": project, "OS_PROJECT_DOMAIN_ID": "default"} if project else {}
        variables = {
            "OS_AUTH_URL": f"{self.keystone.url}/v3",
            "OS_USERNAME": name,
            "OS_PASSWORD": ADMIN_PASSWORD if name == "admin" else f"password-of-{name}",
            "OS_USER_DOMAIN_ID": "default",
            "OS_REGION_NAME": REGION,
            "OS_IDENTITY_API_VERSION": "3",
            **(scope or {"OS_SYSTEM_SCOPE": "all"}),
        }
        return OpenStack(self._home, variables)

    def tenant(self, name: str) -> OpenStack:
        """The command of a tenant, who has one project."""
        return self.openstack(name, PROJECTS[name])

    def ask(self, name: str, method: str, path: str, body: Any = None) -> requests.Response:
        """A request of a tenant."""
        if name not in self._tokens:
            self._tokens[name] = self.tenant(name)("token issue -f json")["id"]
        versions = {"placement": "placement 1.39", "compute": "compute 2.100"}
        headers = {
            "X-Auth-Token": self._tokens[name],
            "X-OpenStack-Ironic-API-Version": "1.115",
            "OpenStack-API-Version": versions.get(path.split("/")[1], ""),
        }
        return requests.request(method, f"{self.url}{path}", json=body, headers=headers, timeout=60)


def settings_of(keystone: Keystone) -> Values:
    """The settings of the guide, for this Keystone."""
    (block,) = re.findall(r"code-block:: ini\n\n((?:   .*\n|\n)+)", KEYSTONE.split("\n2. ")[1].split("\n3. ")[0])
    settings: Values = {}
    for line in filter(None, map(str.strip, block.splitlines())):
        if line.startswith("["):
            group = settings.setdefault(line[1:-1], {})
        else:
            option, _, value = line.partition(" = ")
            group[option] = re.sub(r"https://identity\.(internal\.)?example\.com", keystone.url, value)
    assert settings["keystone_authtoken"]["password"] == "secret"
    settings["keystone_authtoken"].update(password="password-of-baremetal-sched", http_connect_timeout=60)
    settings["api"]["authentication_timeout"] = 120
    return settings


@pytest.fixture(scope="module")
def cloud(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    folder = tmp_path_factory.mktemp("guide")
    with keystone_in(pytestconfig, folder / "keystone", people=False) as keystone:
        made = Cloud(keystone, folder)
        admin = made.openstack("admin", "admin")
        for command in commands(USER):
            do(admin, command.replace("https://identity.internal.example.com", keystone.url))
        with serve(folder, settings=settings_of(keystone)) as (_, url):
            made.url = url
            for command in commands(CATALOGUE):
                do(admin, command.replace("https://cloud.example.com", url))
            for about in ("project", "user", "role"):
                for command in commands(TENANTS, about=f"{about} "):
                    do(admin, command)
            _furnish(made)
            yield made


def _furnish(cloud: Cloud) -> None:
    """The resources that the operator makes for both tenants, and a server of each of them."""
    system, operator = cloud.openstack("operator", None), cloud.openstack("operator", "service")
    zeros = " ".join(f"--property resources:{name}=0" for name in ("VCPU", "MEMORY_MB", "DISK_GB"))
    do(operator, f"flavor create --vcpus 1 --ram 1 --disk 1 --property resources:CUSTOM_GOLD=1 {zeros} f")
    do(operator, "image create --public --property image_source=https://images.example.com/i i")
    (owner, _) = commands(TENANTS, about=r"baremetal node set .*\$\(")
    for name, project in PROJECTS.items():
        node = f"of-{project}"
        create = f"baremetal node create --driver fake-hardware --name {node} --resource-class gold -f json"
        cloud.nodes[project] = system(create)["uuid"]
        project_id = system(f"project show -f json {project}")["id"]
        match = re.fullmatch(r"(.* --owner )\$\(openstack project show -f value -c id blue\) n1", owner)
        assert match
        do(system, f"{match[1]}{project_id} {node}")
        for command in ("manage {} --wait", "power off {}", "provide {} --wait"):
            do(system, f"baremetal node {command.format(node)}")
        do(cloud.tenant(name), f"server create --flavor f --image i --nic none --wait of-{name}")
        server = cloud.tenant(name)(f"server show of-{name} -f json")
        assert server["status"] == "ACTIVE"
        cloud.servers[project] = server["id"]


@pytest.mark.parametrize(("name", "other"), OTHERS)
def test_a_tenant_sees_and_changes_nothing_of_the_other(cloud: Cloud, name: str, other: str) -> None:
    server, node = cloud.servers[other], cloud.nodes[other]
    project = cloud.keystone.ask.ids("projects")[other]
    for method, path, body, expected in tries(server, node, project):
        answer = cloud.ask(name, method, path, body)
        assert answer.status_code in expected, f"{name}: {method} {path}: {answer.status_code} {answer.text}"
    for path in LISTS:
        text = cloud.ask(name, "GET", path).text
        assert node not in text
        assert server not in text
        assert f"of-{other}" not in text
    held = cloud.openstack("operator", "service")(f"resource provider allocation show {server} -f json")
    assert [row["resource_provider"] for row in held] == [node]


@pytest.mark.parametrize(("name", "other"), OTHERS)
def test_the_commands_of_a_tenant(cloud: Cloud, name: str, other: str) -> None:
    tenant = cloud.tenant(name)
    own = PROJECTS[name]
    assert [row["ID"] for row in tenant("server list -f json")] == [cloud.servers[own]]
    assert [row["uuid"] for row in tenant("baremetal node list -f json")] == [cloud.nodes[own]]
    for command in ("server show", "server stop", "server delete"):
        assert "No Server found" in tenant.refused(f"{command} {cloud.servers[other]}")
    for command in ("show", "power off", "maintenance set", "delete"):
        said = tenant.refused(f"baremetal node {command} {cloud.nodes[other]}")
        assert "could not be found" in said or "403" in said, said
    tenant.refused("flavor create --vcpus 1 --ram 1 --disk 1 x")
    assert "403" in tenant.refused("resource provider list")


def test_the_operator_has_everything(cloud: Cloud) -> None:
    nodes = cloud.openstack("operator", None)("baremetal node list -f json")
    assert {row["uuid"] for row in nodes} == set(cloud.nodes.values())
    operator = cloud.openstack("operator", "service")
    assert {row["ID"] for row in operator("server list --all-projects -f json")} == set(cloud.servers.values())
    assert {row["uuid"] for row in operator("resource provider list -f json")} == set(cloud.nodes.values())
