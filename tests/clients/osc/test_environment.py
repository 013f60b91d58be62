"""Beside other plug-ins: names, imports, and services that have no scheduling API."""

import json
import subprocess
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.clients.forked import ROOT, forked_openstack
from tests.clients.openstack import variables_in
from tests.clients.osc.conftest import add_machine, variables
from tests.processes import Client, serve

OURS = {
    name.replace("_", " ")
    for name in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][
        "openstack.scheduling.v1"
    ]
}
#: The modules of ours beside the plug-in's own that need nothing of the service.
SHARED = {"baremetal_sched.commands", "baremetal_sched.lean_imports", "baremetal_sched.members"}

#: Prints the names of all commands with the package that has each, and the version of the client.
_COMMANDS = """
import json
from importlib.metadata import entry_points, version

found = [
    (point.dist.name, point.name.replace("_", " "))
    for group in entry_points().groups
    if group.startswith("openstack.") and group != "openstack.cli.extension"
    for point in entry_points(group=group)
]
print(json.dumps({"commands": found, "version": version("python-openstackclient")}))
"""

#: Prints the modules that are there when all of the plug-in is imported.
_MODULES = """
import importlib, json, pkgutil, sys
import baremetal_sched.osc

for module in pkgutil.iter_modules(baremetal_sched.osc.__path__):
    importlib.import_module(f"baremetal_sched.osc.{module.name}")
print(json.dumps(sorted(sys.modules)))
"""


def printed(python: Path, program: str) -> object:
    """The document that a program prints."""
    done = subprocess.run([python, "-W", "ignore", "-c", program], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_no_command_of_others_is_replaced(python: Path) -> None:
    found = printed(python, _COMMANDS)
    assert isinstance(found, dict)
    packages = {package for package, _ in found["commands"]}
    assert {"python-openstackclient", "osc-placement", "python-ironicclient"} <= packages
    ours = {name for package, name in found["commands"] if package == "baremetal-sched"}
    others = {name for package, name in found["commands"] if package != "baremetal-sched"}
    assert ours == OURS
    assert not ours & others
    assert len(others) > 500
    assert found["version"] == "10.5.0"


def test_nothing_of_the_service_is_imported(python: Path) -> None:
    modules = printed(python, _MODULES)
    assert isinstance(modules, list)
    of_the_service = {name for name in modules if name.startswith("baremetal_sched.")}
    assert "baremetal_sched.osc.claim" in of_the_service
    assert {name for name in of_the_service if not name.startswith("baremetal_sched.osc")} == SHARED
    assert not {"sqlalchemy", "flask", "werkzeug", "alembic", "oslo_policy"} & set(modules)


def test_what_serve_prints_is_enough(python: Path, tmp_path: Path) -> None:
    """Without authentication, which no other test has; the claim says the name of the node."""
    with serve(tmp_path) as (running, url), Client(url) as client:
        add_machine(client, "n1", "gold", ("CUSTOM_NVME",), None)
        told = variables_in(running.output)
        with forked_openstack(tmp_path, told, python) as openstack:
            (claimed,) = openstack("scheduling claim --class gold --trait CUSTOM_NVME -f json")
            assert openstack.run(["scheduling", "claim", "--class", "gold"]).returncode == 3
            why = openstack.run(["scheduling", "explain", "node", "n1"])
            assert (why.returncode, claimed["Consumer"] in why.stdout) == (3, True)
    assert (claimed["Name"], claimed["Resources"]) == ("n1", {"CUSTOM_GOLD": 1})


class Stranger(BaseHTTPRequestHandler):
    """A service that answers as a real Placement, or a real Ironic, does to what it does not know."""

    def do_GET(self) -> None:
        """Every path of ours is none of its own; a list of nodes has no filters by traits."""
        if self.path.startswith("/baremetal/v1/nodes"):
            self._answer(400, {"error_message": json.dumps({"faultstring": 'Unknown Argument: "traits"'})})
        else:
            self._answer(404, {"errors": [{"status": 404, "title": "Not Found", "detail": "No such resource."}]})

    do_POST = do_GET  # noqa: N815 - the name is that of the base class

    def _answer(self, status: int, document: object) -> None:
        self.send_response(status)
        body = json.dumps(document).encode()
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def stranger() -> Iterator[str]:
    """Its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_service_without_the_api(python: Path, stranger: str, tmp_path: Path) -> None:
    with forked_openstack(tmp_path, variables(stranger, "none"), python) as openstack:
        for command in ("capacity", "group list", "explain --resource CUSTOM_GOLD=1", "explain node n1"):
            done = openstack.run(["scheduling", *command.split()])
            assert done.returncode == 1
            said = "This service has no scheduling API; Ironic and Placement do not have one."
            assert said in done.stderr
            assert f"{stranger}/scheduling/v1" in done.stderr
        done = openstack.run(["baremetal", "node", "find", "--trait", "CUSTOM_NVME"])
        assert (done.returncode, "Ironic does not" in done.stderr) == (1, True)
