"""A driver that comes in a package of its own, made as the page for contributors says, word for word."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.processes import Client, run, serve
from tests.recipes.recipe import blocks
from tests.waiting import wait_until

BLOCKS = {block.path or block.language: block.text for block in blocks("driver")}
SHORT = {"conductor": {"heartbeat_interval": 0.5, "sync_power_state_interval": 0.5}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, installed there instead of beside the service, and without asking any index."""
    source = tmp_path_factory.mktemp("source") / "rack-drivers"
    source.mkdir()
    for name in ("pyproject.toml", "rack_drivers.py"):
        (source / name).write_text(BLOCKS[name])
    python, *install, package = BLOCKS["sh"].split()
    assert (python, package) == ("python", f"./{source.name}")
    site = tmp_path_factory.mktemp("site")
    here = ("--target", str(site), "--no-deps", "--no-index", "--no-build-isolation", "--quiet")
    subprocess.run([sys.executable, *install, *here, package], cwd=source.parent, check=True, timeout=120)
    return site


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is found by what is started."""
    path = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{path}" if path else str(site))


@pytest.fixture
def enabled(tmp_path: Path) -> tuple[str, ...]:
    """The settings that enable the hardware type."""
    file = tmp_path / "strip.ini"
    file.write_text(BLOCKS["ini"])
    return ("--config-file", str(file))


@pytest.mark.usefixtures("installed")
def test_a_package_is_enabled_used_and_disabled(tmp_path: Path, enabled: tuple[str, ...]) -> None:
    socket = tmp_path / "socket-7"
    socket.write_text("off")
    with serve(tmp_path, *enabled, settings=SHORT) as (_, url), Client(url) as client:
        driver = client.baremetal("GET", "/drivers/strip").json()
        assert driver["enabled_power_interfaces"] == ["strip"]
        assert driver["default_boot_interface"] == "ipxe"
        assert list(client.baremetal("GET", "/drivers/strip/properties").json()) == ["strip_socket"]
        node = client.baremetal("POST", "/nodes", {"driver": "strip", "name": "s1"}).json()
        assert (node["power_interface"], node["deploy_interface"]) == ("strip", "direct")
        refused = client.baremetal("PUT", "/nodes/s1/states/power", {"target": "power on"})
        assert refused.status_code == 400
        assert "driver_info/strip_socket must name the socket." in refused.text

        patch = [{"op": "add", "path": "/driver_info/strip_socket", "value": str(socket)}]
        assert client.baremetal("PATCH", "/nodes/s1", patch).status_code == 200
        assert client.baremetal("PUT", "/nodes/s1/states/power", {"target": "power on"}).status_code == 202
        wait_until(lambda: socket.read_text() == "on", "the socket to be switched on")
        wait_until(lambda: states(client)["power_state"] == "power on", "that to be known")
        assert client.baremetal("PUT", "/nodes/s1/states/provision", {"target": "manage"}).status_code == 202
        wait_until(lambda: states(client)["provision_state"] == "manageable", "the node to be manageable")
        socket.write_text("off")
        wait_until(lambda: socket.read_text() == "on", "a change behind the node's back to be undone")

    with serve(tmp_path, settings=SHORT) as (_, url), Client(url) as client:
        names = [driver["name"] for driver in client.baremetal("GET", "/drivers").json()["drivers"]]
        assert names == ["fake-hardware", "manual-management"]
        assert client.baremetal("GET", "/drivers/strip").status_code == 404
        assert states(client)["power_state"] == "power on"
        refused = client.baremetal("PUT", "/nodes/s1/states/power", {"target": "power off"})
        assert refused.status_code == 404
        assert "No conductor service registered which supports driver strip" in refused.text
        assert socket.read_text() == "on"


def test_a_package_that_is_enabled_and_not_installed(tmp_path: Path, enabled: tuple[str, ...]) -> None:
    ended = run(tmp_path, "serve", "--port", "0", *enabled)
    assert ended.returncode != 0
    installed = "fake-hardware, ipmi, manual-management, redfish"
    assert f"Unknown hardware types: strip. Installed are: {installed}." in ended.stderr


def states(client: Client) -> dict[str, Any]:
    """The states of the node and its machine."""
    found: dict[str, Any] = client.baremetal("GET", "/nodes/s1/states").json()
    return found
