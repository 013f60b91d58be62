# tier: ci
"""The guide for several machines: its commands do what it says."""

import re
from pathlib import Path

from tests.clients.forked import ROOT, forked_openstack
from tests.clients.osc.conftest import add_machine, variables
from tests.clients.osc.test_domains import Reader
from tests.processes import Client, serve

GUIDE = (ROOT / "api-ref" / "guides" / "several.rst").read_text()
COMMANDS = re.findall(r"^    openstack (.*)$", GUIDE, re.MULTILINE)
CLAIM = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
RACKS = {"rack-1": ("a1", "a2", "a3"), "rack-2": ("b1", "b2", "b3"), "rack-3": ("c1",)}


def test_the_guide(python: Path, tmp_path: Path) -> None:
    with serve(tmp_path, settings={"conductor": {"heartbeat_interval": 0.2}}) as (_, url), Client(url) as client:
        environment = {**variables(url, "none"), "OS_PLACEMENT_API_VERSION": "1.39"}
        with forked_openstack(tmp_path, environment, python) as openstack:
            reader = Reader(openstack, COMMANDS)
            reader.run("scheduling domain create row-a --level row")
            for rack, names in RACKS.items():
                reader.run(f"scheduling domain create {rack} --level rack --parent row-a")
                for name in names:
                    add_machine(client, name, "gold", (), None)
                    reader.run(f"scheduling domain add node {rack} {name}")
            follow(reader)


def follow(reader: Reader) -> None:
    apart = reader.follow("scheduling claim --class gold --count 3 --spread")
    assert {each["Name"][0] for each in apart} == {"a", "b", "c"}
    assert {(each["Name"][0], each["Domains"]["rack"], each["Domains"]["row"]) for each in apart} == {
        *(("a", "rack-1", "row-a"), ("b", "rack-2", "row-a"), ("c", "rack-3", "row-a")),
    }
    together = reader.follow("scheduling claim --class gold --count 4 --pack row", CLAIM=CLAIM)
    assert len({each["Node"] for each in (*apart, *together)}) == 7
    shown = reader.follow("scheduling claim show", CLAIM=CLAIM)
    assert [each["consumer"] for each in shown["machines"]] == [each["Consumer"] for each in together]
    reader.follow("resource provider allocation delete", CONSUMER=together[0]["Consumer"])
    assert len(reader.run(f"scheduling claim show {CLAIM}")["machines"]) == 3
    reader.follow("scheduling claim cancel", CLAIM=CLAIM)
    first = reader.follow("scheduling claim --class gold --count 2 --spread rack:1 --machine-group db")
    assert {each["Name"][0] for each in first} == {"a", "b"}
    growing = reader.next()
    assert "No machine fits with at most 1 in the same rack" in reader.run(growing, status=3)
    reader.run(f"resource provider allocation delete {apart[2]['Consumer']}")
    waiting = reader.next()
    assert "At most 3 of 4 machines fit" in reader.run(waiting.replace(" --wait 1h", ""), status=3)
    assert reader.is_through()
