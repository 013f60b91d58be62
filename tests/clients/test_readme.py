# tier: ci
"""The tutorial with the ``openstack`` client, as it is written, and the README's five minutes, a part of it."""

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

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
TUTORIAL = (ROOT / "api-ref" / "tutorial.md").read_text()
#: What is asked for again and again, and how many machines the text around it says that there are.
CANDIDATES = "openstack allocation candidate list"
OFFERED = [1, 0, 0, 1, 0, 1]
#: How the tutorial has what it prints, if not as a table.
_FORMAT = re.compile(r" (-f value|-c ('[^']+'|\S+))(?= |$)")


def blocks(text: str, language: str) -> list[str]:
    """The blocks of code of a page of Markdown."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def tour() -> list[str]:
    """The lines that the tutorial has people type, up to the part that needs more than one shell."""
    return [line[2:] for block in blocks(TUTORIAL, "console") for line in block.splitlines() if line.startswith("$ ")]


def of_section(title: str) -> list[str]:
    """The commands of the client in a section of the README."""
    text = README.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return [line for block in blocks(text, "sh") for line in block.splitlines() if line.startswith("openstack ")]


def test_the_readme_does_the_same() -> None:
    """Each of its commands of the client is in the tutorial, in this order."""
    commands = of_section("Five minutes with the openstack client")
    assert len(commands) >= 10
    followed = iter(_FORMAT.sub("", line) for line in tour())
    for command in commands:
        assert _FORMAT.sub("", command) in followed, command


def follow(openstack: OpenStack) -> Iterator[tuple[str, Any]]:
    """Do what the lines say; yields the commands of the client, and the values that they print."""
    variables = {"consumer": str(uuid4())}
    for line in tour():
        assigned = re.fullmatch(r"(\w+)=\$\((openstack .*)\)", line)
        if assigned:
            variables[assigned[1]] = openstack.run(shlex.split(assigned[2])[1:]).stdout.strip()
        elif line.startswith("openstack "):
            command, _, otherwise = line.partition(" || ")
            words = shlex.split(re.sub(r"\$(\w+)", lambda found: variables[found[1]], command))[1:]
            shows = {"list", "show", "explain"} & set(words)
            words = shlex.split(_FORMAT.sub("", command))[1:] if shows else words
            words = [re.sub(r"^\$(\w+)", lambda found: variables[found[1]], word) for word in words]
            done = openstack.run([*words, *(["-f", "json"] if shows else [])])
            # An explanation of why nothing fits says so with its exit status, too.
            fails = bool(otherwise) or "explain" in words
            assert (done.returncode != 0) == fails, f"{line}\n{done.stdout}{done.stderr}"
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
    assert shown["openstack scheduling explain"]["verdict"] == "impossible"
    node = shown["openstack baremetal node show n1"]
    assert (node["provision_state"], node["power_state"]) == ("available", "power off")
    first, second = shown["openstack server show s1"], shown["openstack server show s2"]
    assert (first["status"], second["status"]) == ("ACTIVE", "ERROR")
    assert first["image"].startswith("debian (")
    assert second["fault"]["message"] == (
        "No valid host was found. No node that matches is free. Of 1 node, 1 is in use by an instance."
    )
    assert "CUSTOM_TPM" in shown["openstack server rebuild s1"]


#: What the README's commands print that say no, by how they begin: their exit status, and words.
_SAY_NO = {
    "scheduling explain --class": (3, "has 1 of gold free: 1 fail"),
    "scheduling explain": (3, ""),
    "scheduling claim --class gold --count": (3, "at most 1 in the same rack"),
}


def test_what_others_do_not_do(tmp_path: Path) -> None:
    """The README's commands after the five minutes: they run in their order, and do what the text says."""
    home = tmp_path / "home"
    home.mkdir()
    printed = {}
    with serve(tmp_path) as (program, _), forked_openstack(home, variables_in(program.output)) as openstack:
        for line in of_section("Five minutes with the openstack client"):
            openstack.run(shlex.split(line)[1:])
        for line in of_section("What Ironic, Placement and Nova do not do"):
            words = shlex.split(line)[1:]
            done = openstack.run(words)
            said = done.stdout + done.stderr
            status, expected = next((no for begin, no in _SAY_NO.items() if " ".join(words).startswith(begin)), (0, ""))
            if words[:3] == ["scheduling", "explain", "node"]:
                expected = "openstack baremetal node hold remove n1 "
            assert (done.returncode, expected in said) == (status, True), f"{line}\n{said}"
            printed[" ".join(words[:3])] = said
    assert " n1 " in printed["scheduling claim list"]
    assert "claimed by consumer" in printed["scheduling explain node"]
    assert "hold.asserted" in printed["scheduling event list"]
