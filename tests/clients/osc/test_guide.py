# tier: ci
"""The guide for requests that find nothing: its commands do what it says, on machines of the demo."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

from baremetal_sched.cli.demo.client import load
from tests.clients.forked import ROOT, ForkedOpenStack, forked_openstack
from tests.clients.osc.conftest import add_machine, variables
from tests.processes import Client, serve

GUIDE = (ROOT / "api-ref" / "guides" / "nothing_found.rst").read_text()
#: The last one has placeholders: what it does is in ``test_waiting_servers.py``.
COMMANDS = re.findall(r"^    (openstack .*)$", GUIDE, re.MULTILINE)[:-1]
#: Exit statuses of the commands, in the order of the guide: the second says that nothing fits.
STATUSES = [0, 3, 0, 0]
_CLASS = "baremetal-storage"


def answers(openstack: ForkedOpenStack) -> list[Any]:
    """Run the commands of the guide; returns the documents that they print."""
    documents = []
    for command, status in zip(COMMANDS, STATUSES, strict=True):
        done = openstack.run([*shlex.split(command)[1:], "-f", "json"])
        assert done.returncode == status, (command, done.stdout, done.stderr)
        documents.append(json.loads(done.stdout))
    return documents


def test_from_the_empty_list_to_a_machine(python: Path, tmp_path: Path) -> None:
    settings = {"conductor": {"heartbeat_interval": 0.2}}
    with serve(tmp_path, settings=settings) as (_, url), Client(url) as client:
        free = {machine.name for machine in load() if machine.resource_class == _CLASS and not machine.maintenance}
        for machine in load():
            if machine.name in free or "CUSTOM_LIQUID_COOLED" in machine.traits:
                add_machine(client, machine.name, machine.resource_class, tuple(sorted(machine.traits)), None)
        environment = {**variables(url, "none"), "OS_PLACEMENT_API_VERSION": "1.39"}
        with forked_openstack(tmp_path, environment, python) as openstack:
            nothing, explained, found, claimed = answers(openstack)
    assert nothing == []
    assert explained["verdict"] == "impossible"
    assert [(each["drop"], each["would_fit"]) for each in explained["relaxations"]] == [
        (["trait:CUSTOM_LIQUID_COOLED"], 4)
    ]
    assert {node["Name"] for node in found} == free
    assert len(free) == 4
    assert len(claimed) == 1


def test_pictures() -> None:
    """They are there, and small."""
    pictures = re.findall(r"^\.\. image:: (\S+)$", GUIDE, re.MULTILINE)
    assert len(pictures) == 3
    for name in pictures:
        assert (ROOT / "api-ref" / "guides" / name).stat().st_size <= 150 * 1024
