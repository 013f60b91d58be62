# tier: ci
"""The guide for domains: its commands do what it says."""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.clients.forked import ROOT, ForkedOpenStack, forked_openstack
from tests.clients.osc.conftest import add_machine, variables
from tests.processes import Client, serve

GUIDE = (ROOT / "api-ref" / "guides" / "domains.rst").read_text()
COMMANDS = re.findall(r"^    openstack (.*)$", GUIDE, re.MULTILINE)
MACHINES = ("rack1-07", "rack1-08", "rack2-01")


class Reader:
    """Types the commands of the guide, one after the other."""

    def __init__(self, openstack: ForkedOpenStack, commands: Sequence[str] = COMMANDS) -> None:
        self._openstack = openstack
        self._left = list(commands)

    def next(self) -> str:
        return self._left.pop(0)

    def follow(self, beginning: str, **values: str) -> Any:
        """Run the next command, which begins so; return what it prints for programs."""
        command = self.next()
        assert command.startswith(beginning)
        for name, value in values.items():
            command = command.replace(name, value)
        return self.run(command)

    def run(self, command: str, status: int = 0) -> Any:
        """Return the document that a command prints, or its message."""
        prints = re.match(r".* (add|remove|delete|cancel) ", command) is None
        done = self._openstack.run([*shlex.split(command), *(("-f", "json") if prints else ())])
        assert done.returncode == status, (command, done.stdout, done.stderr)
        return done.stderr if status else json.loads(done.stdout) if prints else None

    def is_through(self) -> bool:
        return not self._left


def test_the_guide(python: Path, tmp_path: Path) -> None:
    with serve(tmp_path, settings={"conductor": {"heartbeat_interval": 0.2}}) as (_, url), Client(url) as client:
        for name in MACHINES:
            add_machine(client, name, "gold", (), None)
        environment = {**variables(url, "none"), "OS_PLACEMENT_API_VERSION": "1.39"}
        with forked_openstack(tmp_path, environment, python) as openstack:
            reader = Reader(openstack)
            from_a_property(reader, client)
            work_with_a_rack(reader)
            by_hand(reader)
            mistakes(reader)
            whats_free(reader, {name: client.baremetal("GET", f"/nodes/{name}").json()["uuid"] for name in MACHINES})


def from_a_property(reader: Reader, client: Client) -> None:
    for name in MACHINES:
        command = reader.next()  # without a catalogue, Ironic's client finds another API than placement's does
        assert command.startswith(f"baremetal node set {name} ")
        pairs = (each.split("=") for each in shlex.split(command) if "=" in each)
        patch = [{"op": "add", "path": f"/properties/{key}", "value": value} for key, value in pairs]
        assert client.baremetal("PATCH", f"/nodes/{name}", patch).ok
    racks = reader.follow("scheduling domain create")
    names = ("created", "nodes", "added", "moved", "kept", "without")
    assert [racks[name] for name in names] == [["rack-1", "rack-2"], 3, 3, 0, 0, 0]
    assert reader.follow("scheduling domain create")["created"] == ["row-a"]
    again = reader.run("scheduling domain create --level rack --from-property rack")
    assert [again[name] for name in ("created", "added", "moved", "without")] == [[], 0, 0, 0]


def work_with_a_rack(reader: Reader) -> None:
    assert {each["Name"] for each in reader.follow("baremetal node find")} == {"rack1-07", "rack1-08"}
    reader.follow("scheduling hold add")
    assert {each["Node"] for each in reader.follow("scheduling hold list")} == {"rack1-07", "rack1-08"}
    reader.follow("scheduling hold remove")
    assert reader.run("scheduling hold list --domain rack:") == []
    assert [each["Total"] for each in reader.follow("scheduling capacity")] == [3]
    for command in ("baremetal node find", "scheduling hold list", "scheduling capacity"):
        assert "There is no level rak. Levels: rack, row." in reader.run(f"{command} --domain rak:r1", status=2)


def by_hand(reader: Reader) -> None:
    assert reader.follow("scheduling domain create nv-1")["level"] == "nvlink"
    reader.follow("scheduling domain add node nv-1")
    assert reader.follow("scheduling domain set rack-1")["nodes"] == 2
    listed = reader.follow("scheduling domain list")
    assert [(each["Name"], each["Nodes"], each["From Property"]) for each in listed] == [
        ("rack-1", 2, "rack"),
        ("rack-2", 1, "rack"),
    ]
    assert reader.follow("scheduling domain show nv-1")["members"] == ["rack1-07"]
    assert reader.run("scheduling domain show rack-1")["children"] == ["nv-1"]
    table = reader._openstack.run(["scheduling", "domain", "list", "--level", "nvlink"]).stdout
    assert " rack-1 " in table  # the domain above it, by its name
    assert max(map(len, table.split("\n"))) <= 100
    reader.follow("scheduling domain add node rack-2")
    assert reader.run("scheduling domain show nv-1")["members"] == []
    assert reader.run("scheduling domain show rack-2")["members"] == ["rack1-07", "rack2-01"]
    reader.follow("scheduling domain remove node rack-2")
    reader.follow("scheduling domain remove node rack-1 --all")
    reader.follow("scheduling domain delete nv-1 rack-1")
    assert [each["Name"] for each in reader.run("scheduling domain list")] == ["rack-2", "row-a"]


def mistakes(reader: Reader) -> None:
    assert "Domain rack-2 is not empty (1 node)." in reader.run("scheduling domain delete rack-2", status=1)
    assert reader.run("scheduling domain show rack:rack-2")["level"] == "rack"
    assert "There is no domain 'rack-9'" in reader.run("scheduling domain show rack-9", status=1)
    reader.run("scheduling domain create rack-2 --level hall")
    assert "give --level (hall, rack)" in reader.run("scheduling domain show rack-2", status=1)
    assert reader.run("scheduling domain show rack-2 --level hall")["members"] == []
    reader.run("scheduling domain delete rack-2 --level hall")
    assert "--from-property" in reader.run("scheduling domain create --level rack", status=2)
    assert "--parent" in reader.run("scheduling domain create --level a --from-property a --parent row-a", status=2)
    assert "--no-parent" in reader.run("scheduling domain set rack-2", status=2)
    for name in ("from_property", ".."):  # paths have another meaning
        assert reader.run(f"scheduling domain create {name} --level hall")["name"] == name
        assert reader.run(f"scheduling domain show {name}")["level"] == "hall"
        reader.run(f"scheduling domain delete {name}")
    # A parent is of another level.
    hall = reader.run("scheduling domain create rack-2 --level hall")["uuid"]
    assert reader.run("scheduling domain set rack-2 --level rack --parent rack-2")["parent"] == hall
    reader.run("scheduling domain create rack-2 --level row --parent rack-2", status=1)
    assert "give the UUID" in reader.run("scheduling domain list --parent rack-2", status=1)
    reader.run("scheduling domain set rack-2 --level rack --no-parent --name rack-3")
    reader.run("scheduling domain remove node rack-2 --all")
    reader.run("scheduling domain delete rack-2")


def whats_free(reader: Reader, uuids: dict[str, str]) -> None:
    free = {each["domain:rack"]: each["Free"] for each in reader.follow("scheduling capacity")}
    assert free == {None: 2, "rack-3": 1}
    assert reader.follow("scheduling capacity")[0]["domain:row"] is not None
    rack = reader.run("scheduling domain show rack-3")["uuid"]
    found = reader.follow("allocation candidate list", UUID=rack)
    assert [each["resource provider"] for each in found] == [uuids["rack2-01"]]
    assert reader.is_through()
