"""The snippets of the guide do what they say, as they are."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.openstack import variables_in
from tests.clients.osc.conftest import add_machine
from tests.processes import Client, serve

SAMPLES = Path(__file__).parents[2] / "api-ref" / "guides" / "samples"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A service with one machine that fits; yields the variables that clients need."""
    with serve(tmp_path) as (program, url), Client(url) as client:
        add_machine(client, "n1", "gold", ("CUSTOM_NVME",), None)
        yield {**variables_in(program.output), "URL": url}


def run(command: list[str], variables: dict[str, str], home: Path) -> str:
    """Run a snippet; returns what it prints."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["openstacksdk", "ironicclient"])
def test_in_python(name: str, site: dict[str, str], tmp_path: Path) -> None:
    printed = run([sys.executable, str(SAMPLES / f"snippet_{name}.py")], site, tmp_path)
    assert "n1 is yours" in printed
    with Client(site["URL"]) as client:
        assert client.baremetal("GET", "/allocations").json()["allocations"] == []


def test_with_ansible(site: dict[str, str], tmp_path: Path) -> None:
    """Ansible is installed for this test: nothing else here needs it."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "ansible"], check=True, timeout=120)
    programs = tmp_path / "ansible" / "bin"
    subprocess.run([programs / "pip", "install", "-q", "ansible-core"], check=True, timeout=300)
    variables = {**site, "ANSIBLE_LOCALHOST_WARNING": "False", "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8"}
    where = ["-e", f"scheduling={site['URL']}/scheduling"]
    printed = run(
        [str(programs / "ansible-playbook"), *where, str(SAMPLES / "snippet_ansible.yaml")], variables, tmp_path
    )
    assert re.search(r"failed=0\b", printed)
    with Client(site["URL"]) as client:
        node = client.baremetal("GET", "/nodes").json()["nodes"][0]["uuid"]
        assert node in printed
        claimed = client.placement("GET", f"/resource_providers/{node}/allocations").json()["allocations"]
    assert claimed == {}
