"""An environment with the ``openstack`` command, and a service with machines and two users. Both are made once."""

import json
import shlex
import subprocess
import sys
import tomllib
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from tests.clients.environments import SECONDS, made_once
from tests.clients.forked import ROOT, ForkedOpenStack, forked_openstack
from tests.processes import Client, serve
from tests.waiting import wait_until

#: What people have; ours is installed beside them.
BESIDE = ("python-openstackclient==10.5.0", "osc-placement", "python-ironicclient")

PASSWORD = "correct-horse"
USERS = {
    "admin": "{roles: [admin], system_scope: all}",
    "carl": "{roles: [admin], system_scope: all}",
    # In placement the system as a whole has no administrators.
    "operator": "{roles: [admin], project_id: operators}",
    "anna": "{roles: [reader], project_id: blue}",
    "ben": "{roles: [member, reader], project_id: blue}",
}

#: Machines by name: class, traits, owner.
MACHINES: dict[str, tuple[str, tuple[str, ...], str | None]] = {
    "gold-1": ("gold", ("CUSTOM_NVME", "HW_CPU_X86_VMX"), None),
    "gold-2": ("gold", ("CUSTOM_NVME", "CUSTOM_OLD"), None),
    "gold-3": ("gold", (), None),
    "silver-1": ("silver.v1", ("CUSTOM_SSD",), None),
    "annas": ("gold", ("CUSTOM_SSD",), "blue"),
}


@pytest.fixture(scope="session")
def python(pytestconfig: pytest.Config) -> Path:
    """A Python that has the ``openstack`` command, the plug-ins of others, and ours with what its extra names.

    What only the service needs is not there: the plug-in works without it.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = [*BESIDE, *project["optional-dependencies"]["client"]]

    def install(folder: Path) -> None:
        pip = (folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-compile")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([*pip, *requirements], check=True, timeout=SECONDS)
        # Editable, so that what is tested is what is here.
        subprocess.run([*pip, "--no-deps", "-e", ROOT], check=True, timeout=SECONDS)

    points = {name: each for name, each in project["entry-points"].items() if name.startswith("openstack.")}
    wanted = f"{sys.version} {ROOT} {requirements} {points}"
    return made_once(pytestconfig, "openstackclient", wanted, install) / "bin/python"


@dataclass
class Site:
    """The service, the command, and requests of two users who may do everything: in placement, and with nodes."""

    url: str
    openstack: ForkedOpenStack
    operator: Client
    admin: Client

    def run(self, command: str, user: str = "admin") -> subprocess.CompletedProcess[str]:
        """Run a command as a user, whatever comes of it; a traceback is never right."""
        done = self.openstack.run(["--os-username", user, *shlex.split(command)])
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def json(self, command: str, user: str = "admin", status: int = 0) -> Any:
        """Return the document that a command prints for programs."""
        done = self.run(f"{command} -f json", user)
        assert done.returncode == status, (done.stdout, done.stderr)
        return json.loads(done.stdout)


@pytest.fixture(scope="session")
def site(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service with machines that are free, whose users have different roles."""
    folder = tmp_path_factory.mktemp("osc")
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    (folder / "htpasswd").write_text("".join(f"{user}:{hashed}\n" for user in USERS))
    (folder / "htpasswd").chmod(0o600)
    (folder / "roles.yaml").write_text("".join(f"{user}: {roles}\n" for user, roles in USERS.items()))
    # Members of a node's owner assert holds, too.
    rule = "role:admin or (role:member and project_id:%(node.owner)s)"
    (folder / "policy.yaml").write_text(f'"baremetal:node:maintenance:add": "{rule}"\n')
    settings = {
        "oslo_policy": {"policy_file": folder / "policy.yaml"},
        "api": {"auth_strategy": "http_basic"},
        "DEFAULT": {
            "http_basic_auth_user_file": folder / "htpasswd",
            "http_basic_auth_roles_file": folder / "roles.yaml",
        },
        "conductor": {"heartbeat_interval": 0.2},
    }
    with (
        serve(folder, settings=settings) as (_, url),
        logged_in(url, "operator") as operator,
        logged_in(url, "admin") as admin,
    ):
        for name, (resource_class, traits, owner) in MACHINES.items():
            add_machine(admin, name, resource_class, traits, owner)
        with forked_openstack(folder, variables(url), python) as openstack:
            yield Site(url, openstack, operator, admin)


def variables(url: str, auth_type: str = "http_basic") -> dict[str, str]:
    """The smallest environment that the command needs."""
    login = {"OS_USERNAME": "admin", "OS_PASSWORD": PASSWORD} if auth_type == "http_basic" else {}
    return {"OS_AUTH_TYPE": auth_type, "OS_ENDPOINT": f"{url}/placement", **login}


def logged_in(url: str, user: str) -> Client:
    """Requests of a user."""
    login = b64encode(f"{user}:{PASSWORD}".encode()).decode()
    return Client(url, {"Authorization": f"Basic {login}"})


def add_machine(client: Client, name: str, resource_class: str, traits: tuple[str, ...], owner: str | None) -> None:
    """Create a machine that placement offers."""
    fields = {"resource_class": resource_class, **({"owner": owner} if owner else {})}
    patch = [{"op": "add", "path": f"/{field}", "value": value} for field, value in fields.items()]
    for method, path, document, version in (
        # Below 1.11 nodes are available at once.
        ("POST", "/nodes", {"driver": "fake-hardware", "name": name}, "1.10"),
        ("PATCH", f"/nodes/{name}", patch, "1.115"),
        ("PUT", f"/nodes/{name}/traits", {"traits": list(traits)}, "1.115"),
        ("PUT", f"/nodes/{name}/states/power", {"target": "power on"}, "1.115"),
    ):
        answer = client.baremetal(method, path, document, version)
        assert answer.ok, answer.text
    wait_until(lambda: _is_on(client, name), f"{name} to be on")


def _is_on(client: Client, name: str) -> bool:
    node = client.baremetal("GET", f"/nodes/{name}").json()
    return node["power_state"] == "power on" and not node["reservation"]
