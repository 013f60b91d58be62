# tier: ci
"""Each command that a page or a message prints: the real clients take it, and the service does it, where it is
proposed. All in one process."""

import ast
import re
import shlex
import string
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import click
import pytest
from click.testing import CliRunner
from cryptography.fernet import Fernet

from baremetal_sched import commands
from baremetal_sched.cli import cli
from baremetal_sched.cli.clients import client_environment
from baremetal_sched.commands import Command
from tests.clients.browser.conftest import in_thread
from tests.clients.in_process import openstack
from tests.clients.openstack import variables_in
from tests.functional.compute.test_servers import add_flavor, add_image
from tests.functional.scheduling.test_several import fill
from tests.service import Service

ROOT = Path(commands.__file__).parent
pytestmark = [pytest.mark.sqlite_only, pytest.mark.filterwarnings("ignore")]


def table() -> dict[str, Command]:
    """The commands by their names in the module."""
    found: dict[str, Command] = {}
    for name, value in vars(commands).items():
        if isinstance(value, Command):
            found[name] = value
        elif isinstance(value, dict) and name.isupper():
            found |= {f"{name} {key}": each for key, each in value.items()}
    return found


@dataclass
class Site:
    """A service, and a folder with the files that commands name."""

    service: Service
    folder: Path

    def node(self, **columns: Any) -> dict[str, str]:
        uuid = self.service.add_node("n1")
        self.service.set_columns(uuid, **columns)
        return {"node": "n1"}

    def held(self) -> dict[str, str]:
        node = self.node()
        answer = self.service.http.post_json("/scheduling/v1/nodes/n1/holds", {"type": "window"}, status=201)
        return {**node, "hold": answer.json["uuid"]}

    def waits(self) -> dict[str, str]:
        body = {"query": "resources=CUSTOM_GOLD:1", "wait": 600, "even_if_impossible": True}
        return {"uuid": self.service.http.post_json("/scheduling/v1/claims", body, status=202).json["uuid"]}

    def several(self) -> dict[str, str]:
        fill(self.service, a=2)
        return {"query": "resources=CUSTOM_GOLD:1", "count": "2", "spread": "rack:2", "pack": "rack"}

    def allocation(self) -> dict[str, str]:
        body = {"resource_class": "gold", "name": "a1"}
        return {"uuid": self.service.baremetal("POST", "/allocations", body, status=201).json["uuid"]}

    def server(self) -> dict[str, str]:
        flavor, image = add_flavor(self.service, "FLAVOR"), add_image(self.service, "IMAGE")
        server = {"name": "s1", "flavorRef": flavor, "imageRef": image, "networks": "none"}
        return {"uuid": self.service.compute("POST", "/servers", {"server": server}).json["server"]["id"]}

    def wanted(self) -> dict[str, str]:
        add_flavor(self.service, "FLAVOR")
        add_image(self.service, "IMAGE")
        return {}

    def wanted_machine(self) -> dict[str, str]:
        self.node()
        add_flavor(self.service, "FLAVOR")
        return {}

    def claimed(self) -> dict[str, str]:
        consumer = str(uuid4())
        self.service.claim(consumer, provider := self.service.add_node("n1"))
        return {"consumer": consumer, "provider": provider, "resource_class": "CUSTOM_GOLD"}

    def provider(self) -> dict[str, str]:
        uuid = self.service.placement("POST", "/resource_providers", {"name": "left-over"}).json["uuid"]
        stock = {"resource_provider_generation": 0, "inventories": {"CUSTOM_GOLD": {"total": 1}}}
        self.service.add_node("n1")  # makes the class known
        self.service.placement("PUT", f"/resource_providers/{uuid}/inventories", stock)
        return {"provider": uuid, "resource_class": "CUSTOM_GOLD", "consumer": str(uuid4())}

    def webhook(self) -> dict[str, str]:
        body = {"url": "https://hooks.example.com/"}
        return {"webhook": self.service.http.post_json("/scheduling/v1/webhooks", body, status=201).json["uuid"]}

    def image(self) -> dict[str, str]:
        return {"image": add_image(self.service, "IMAGE")}

    def nothing(self) -> dict[str, str]:
        return {}


def _in(state: str, **columns: Any) -> Callable[[Site], dict[str, str]]:
    return lambda site: site.node(provision_state=state, **columns)


#: The state of the service in which a command is proposed, which returns the names for it.
STATES: dict[str, Callable[[Site], dict[str, str]]] = {
    "RELEASE_HOLD": Site.held,
    "UNSET_MAINTENANCE": lambda site: site.node(maintenance=True),
    "SET_CLASS": lambda site: site.node(resource_class=None),
    "SAVE_INVENTORY": lambda site: with_inventory(site),
    "POWER power on": lambda site: site.node(power_state="power off"),
    "PROVISION active": _in("available"),
    "PROVISION deleted": _in("active"),
    "PROVISION rebuild": _in("active"),
    "PROVISION manage": _in("available"),
    "PROVISION provide": _in("manageable"),
    "PROVISION inspect": _in("manageable"),
    "PROVISION abort": _in("clean wait"),
    "PROVISION clean": _in("manageable"),
    "PROVISION adopt": _in("manageable"),
    "PROVISION rescue": _in("active"),
    "PROVISION unrescue": _in("rescue"),
    "PROVISION unhold": _in("clean hold"),
    "PROVISION service": _in("active"),
    "DELETE_ALLOCATION": Site.allocation,
    "CREATE_SERVER": Site.wanted,
    "DELETE_SERVER": Site.server,
    "CREATE_FLAVOR": Site.node,
    "CREATE_IMAGE": Site.wanted_machine,
    "CLAIM": lambda site: {**site.node(), "query": "resources=CUSTOM_GOLD:1&required=!CUSTOM_OLD"},
    **{f"CLAIM_SEVERAL {kind}": Site.several for kind in commands.CLAIM_SEVERAL},
    "CANCEL_CLAIM": Site.waits,
    "SET_END": lambda site: {**site.node(), **site.server()},
    "DELETE_IMAGE": Site.image,
    "RESUME_WEBHOOK": Site.webhook,
    "DELETE_ALLOCATIONS": Site.claimed,
    "SET_ALLOCATIONS": Site.provider,
    "DELETE_INVENTORY": Site.provider,
    "DELETE_PROVIDER": Site.provider,
    "MIGRATE_FLAVORS": Site.node,
    "ADD_USER": lambda site: {"user": "ann"},
}
#: What else is typed, and what ends only when it is stopped, or needs another service: the command line is parsed.
OPTIONS = {"EXPLAIN": "--resource CUSTOM_GOLD=1", "CREATE_ALLOCATION": "--name a1", "ADD_USER": "--password-stdin"}
PARSED = ("SERVE", "START_CONDUCTOR", "FINISH_IMPORT")
#: Where a request is explained that nothing fits.
FINDS_NOTHING = ("EXPLAIN",)
#: What the command makes works: this command succeeds afterwards.
AFTERWARDS = {
    "CREATE_FLAVOR": "scheduling explain --flavor gold",
    "CREATE_IMAGE": "scheduling explain --flavor FLAVOR --image NAME",
    "CREATE_NODE": "baremetal node manage n1",
    "CREATE_SERVER": "server show NAME",
    "CLAIM": "scheduling claim list",
}


def with_inventory(site: Site) -> dict[str, str]:
    """A node that has been inspected."""
    node = site.node(provision_state="manageable", power_state="power off")
    site.service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "inspect"}, status=202)
    site.service.work()
    return node


@pytest.fixture
def site(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.chdir(tmp_path)
    step = {"interface": "power", "step": "power_off"}
    (tmp_path / "STEPS.json").write_text(f"[{step}]".replace("'", '"'))
    service.add_conductor("c1")
    # Without a terminal, image create takes what it reads as the data of the image.
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    with in_thread(service) as web:
        for name, value in variables_in(client_environment(web.url)).items():
            monkeypatch.setenv(name, value)
        yield Site(service, tmp_path)


def own(line: str, environment: dict[str, str], *, runs: bool) -> None:
    """Run a command of ours, or parse its command line."""
    words = shlex.split(line)[1:]
    if not runs:
        name, command, arguments = cli.resolve_command(click.Context(cli), words)
        assert command is not None
        command.make_context(name, arguments)
        return
    done = CliRunner().invoke(cli, words, env=environment, input="secret-of-ann\n")
    assert done.exit_code == 0, (done.output, done.exception)


@pytest.mark.parametrize("name", table())
def test_the_command_is_taken_and_done(site: Site, name: str) -> None:
    command = table()[name]
    fields = [field for _, field, _, _ in string.Formatter().parse(command) if field]
    names = STATES.get(name, Site.node if "node" in fields else Site.nothing)(site)
    line = command.of(**{field: names[field] for field in fields})
    assert not line.endswith(".")
    if line.startswith("openstack "):
        done = openstack(f"{line.removeprefix('openstack')} {OPTIONS.get(name, '')}")
        assert done.returncode == (3 if name in FINDS_NOTHING else 0), done.stderr
        if name in AFTERWARDS:
            done = openstack(f" {AFTERWARDS[name]}")
            assert done.returncode == 0, (done.stdout, done.stderr)
        return
    keys = site.folder / "keys"
    keys.touch(0o600)
    keys.write_text(Fernet.generate_key().decode())
    environment = {
        "OS_DATABASE__CONNECTION": site.service.database_url,
        "OS_DATABASE__SECRETS_KEY_FILE": str(keys) if "secrets" in line else "",
        "OS_DEFAULT__HTTP_BASIC_AUTH_USER_FILE": str(site.folder / "users"),
    }
    own(f"{line} {OPTIONS.get(name, '')}", environment, runs=name not in PARSED)


def test_names_are_quoted_where_a_shell_needs_it() -> None:
    assert commands.RELEASE_HOLD.of(node="a b", hold="u") == "openstack baremetal node hold remove 'a b' u"
    assert commands.called("rack1-n1.x", "u") == "rack1-n1.x"
    for name in (None, "-x", "a~b", "a b", "é"):
        assert commands.called(name, "u") == "u"


#: A command in the text of the package: its program, and the words that begin its name.
_COMMAND = re.compile(
    r"openstack (?:baremetal|server|flavor|image|resource|scheduling|allocation)\b"
    r"|baremetal-sched (?:" + "|".join(sorted(set(cli.list_commands(click.Context(cli))) - {"demo"})) + r")\b"
)


def _texts() -> Iterator[tuple[str, str]]:
    for path in sorted(ROOT.rglob("*.py")):
        if path == Path(commands.__file__):
            continue
        tree = ast.parse(path.read_text())
        documented = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
                yield str(path.relative_to(ROOT)), node.value
    for path in sorted((ROOT / "ui").rglob("*.html")):
        yield str(path.relative_to(ROOT)), path.read_text()


def test_no_other_module_has_a_command() -> None:
    assert [(path, found.group()) for path, text in _texts() for found in _COMMAND.finditer(text)] == []
