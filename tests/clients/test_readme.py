"""The README's five minutes with the ``openstack`` client, as they are written there."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.clients.forked import forked_openstack
from tests.clients.openstack import OpenStack, variables_in
from tests.processes import serve

README = (Path(__file__).parents[2] / "README.md").read_text()
#: What the README asks for again and again, and how many machines the text around it says that there are.
CANDIDATES = "openstack allocation candidate list"
OFFERED = [1, 0, 0, 1, 0, 1]


def tour() -> Iterator[str]:
    """The lines of code up to the part that needs a Nova, or more than one shell."""
    text = README.split("## Five minutes with the openstack client")[1].split("### Under Nova")[0]
    for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield from block.splitlines()


def follow(openstack: OpenStack) -> Iterator[tuple[str, Any]]:
    """Do what the lines say; yields those that are commands of the client, and the values that they print."""
    variables = {"consumer": str(uuid4())}
    for line in tour():
        assigned = re.fullmatch(r"(\w+)=\$\((openstack .*)\)", line)
        if assigned:
            variables[assigned[1]] = openstack.run(shlex.split(assigned[2])[1:]).stdout.strip()
        elif line.startswith("openstack "):
            command, _, otherwise = line.partition(" || ")
            words = shlex.split(re.sub(r"\$(\w+)", lambda found: variables[found[1]], command))[1:]
            shows = {"list", "show"} & set(words)
            done = openstack.run([*words, *(["-f", "json"] if shows else [])])
            assert (done.returncode != 0) == bool(otherwise), f"{line}\n{done.stdout}{done.stderr}"
            yield line, json.loads(done.stdout) if shows else done.stderr


def test_the_tour(tmp_path: Path) -> None:
    """Every command does what the text around it says."""
    home = tmp_path / "home"
    home.mkdir()
    with serve(tmp_path) as (program, url):
        printed = variables_in(program.output)
        exports = variables_in("\n".join(tour()))
        assert exports == {name: value.replace(url, "http://127.0.0.1:6385") for name, value in printed.items()}
        with forked_openstack(home, printed) as openstack:
            results = list(follow(openstack))
    assert [len(value) for line, value in results if line.startswith(CANDIDATES)] == OFFERED
    shown = {line.split(" -")[0]: value for line, value in results}
    node = shown["openstack baremetal node show n1"]
    assert (node["provision_state"], node["power_state"]) == ("available", "power off")
    first, second = shown["openstack server show s1"], shown["openstack server show s2"]
    assert (first["status"], second["status"]) == ("ACTIVE", "ERROR")
    assert first["image"].startswith("debian (")
    assert second["fault"]["message"] == (
        "No valid host was found. No node that matches is free. Of 1 node, 1 is in use by an instance."
    )
    assert "CUSTOM_TPM" in shown["openstack server rebuild s1"]
