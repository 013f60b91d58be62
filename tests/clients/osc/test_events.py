"""Events on the command line, and the programs of their guide."""

import json
import subprocess
import sys
from pathlib import Path

from tests.clients.osc.conftest import Site, add_machine
from tests.processes import Client, serve
from tests.waiting import wait_until

SAMPLE = Path(__file__).parents[3] / "api-ref" / "guides" / "samples" / "events_inventory.py"


def test_listed_and_followed(site: Site) -> None:
    node = site.admin.baremetal("GET", "/nodes/gold-3").json()["uuid"]
    patch = [{"op": "add", "path": "/description", "value": "new"}]
    assert site.admin.baremetal("PATCH", "/nodes/gold-3", patch).status_code == 200
    wait_until(lambda: site.json(f"scheduling event list --node {node} --type baremetal.node.update.end"), "an event")
    listed = site.json("scheduling event list --node gold-3 --reverse")
    assert listed[0]["Type"] == "baremetal.node.create.end"
    assert (listed[-1]["Changed"], listed[-1]["User"]) == ("description: - -> new", "admin")
    assert site.json(f"scheduling event list --node {node} --after {listed[-1]['Cursor']}") == []
    assert site.json(f"scheduling event list --node {node} --last 1 --since 1h --user admin") == listed[-1:]
    assert site.json("scheduling event list --since 2000-01-01T00:00:00Z") == site.json("scheduling event list")
    assert site.json("scheduling event list --since 0s") == []
    few = site.run("scheduling event list --last 3")
    assert len(few.stdout.splitlines()) > 6
    assert max(map(len, few.stdout.splitlines())) <= 100
    assert "older ones: --last 30" in few.stderr
    after = listed[-2]["Cursor"]
    followed = site.run(f"scheduling event follow --node {node} --after {after} --count 1")
    assert json.loads(followed.stdout)["data"]["changed"]["description"]["after"] == "new"
    assert site.run(f"scheduling event list --node {node}", "anna").stdout.strip() == ""
    assert "nosuch could not be found" in site.run("scheduling event list --node nosuch").stderr
    for wrong, words in (
        ("--after x", "is no cursor"),
        ("--after x:1 --since 1h", "exclude each other"),
        ("--type scheduling.holds.*", "Did you mean 'scheduling.hold.*'?"),
    ):
        refused = site.run(f"scheduling event list {wrong}")
        assert (refused.returncode, words in refused.stderr) == (2, True)


def test_the_inventory_of_the_guide(tmp_path: Path) -> None:
    with serve(tmp_path) as (_, url), Client(url) as client:
        add_machine(client, "n1", "gold", (), None)
        with subprocess.Popen([sys.executable, SAMPLE, url, "3"], stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout is not None
            assert program.stdout.readline() == "1 nodes\n"
            patch = [{"op": "add", "path": "/maintenance", "value": True}]
            for _ in range(3):  # each is an answer at least, until it has read three
                client.baremetal("PATCH", "/nodes/n1", patch)
                program.stdout.readline()
                patch[0]["value"] = not patch[0]["value"]
            lines = program.stdout.read().splitlines()
        assert program.returncode == 0
        (node,) = json.loads(lines[-1]).values()
        assert node["name"] == "n1"
