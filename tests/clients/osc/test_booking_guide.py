# tier: ci
"""The guide for bookings: its commands do what it says."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

from tests.clients.forked import ROOT, ForkedOpenStack, forked_openstack
from tests.clients.openstack import variables_in
from tests.clients.osc.conftest import add_machine
from tests.clients.osc.test_domains import Reader
from tests.clients.test_boot_story import flavor, image
from tests.processes import Client, serve
from tests.waiting import wait_until

GUIDE = (ROOT / "api-ref" / "guides" / "booking.rst").read_text()
COMMANDS = re.findall(r"^    openstack (.*)$", GUIDE, re.MULTILINE)
SETTINGS = {
    "conductor": {"heartbeat_interval": 0.2},
    "scheduling": {"sweep_interval": 0.2},
    "events": {"allowed_hosts": "127.0.0.1"},
}
MACHINES = ("n1", "n2")
CREATE, SET = "scheduling booking create", "scheduling booking set"


def test_the_guide(python: Path, tmp_path: Path) -> None:
    with serve(tmp_path, settings=SETTINGS) as (running, url), Client(url) as client:
        environment = {**variables_in(running.output), "TZ": "UTC"}
        for name in MACHINES:
            add_machine(client, name, "gold", (), None)
        with forked_openstack(tmp_path, environment, python) as openstack:
            image(openstack, "debian")
            openstack(flavor("bm.gold", resources__CUSTOM_GOLD="1"))
            reader = Reader(openstack, COMMANDS)
            book(reader, openstack)
            use(reader)
            change(reader)
            be_told(reader)
            assert reader.is_through()


def book(reader: Reader, openstack: ForkedOpenStack) -> None:
    made = reader.follow(CREATE)
    assert (made["state"], made["count"], made["short_by"], len(made["machines"])) == ("planned", 2, 0, 2)
    assert [each["Booking"] for each in reader.follow("scheduling booking list")] == [made["uuid"]]
    assert reader.follow("scheduling booking show") == made
    done = openstack.run(shlex.split(reader.next()))
    assert done.returncode == 3, done.stderr
    said = " ".join(done.stderr.split())
    for words in (
        "It cannot be booked.",
        "Earliest start for the same length: ",
        "Longest length for the same start: ",
    ):
        assert words in said


def use(reader: Reader) -> None:
    """A claim and a server have both machines of a booking that has begun."""
    made = reader.follow(CREATE)
    assert (made["name"], made["state"]) == ("today", "running")
    (claimed,) = reader.follow("scheduling claim")
    server = reader.follow("server create", BOOKING=made["uuid"])["id"]
    wait_until(lambda: reader.run(f"server show {server}")["status"] == "ACTIVE", "the server to be active")
    shown = reader.follow("scheduling booking show")
    assert {each["claim"] for each in shown["machines"]} == {claimed["Consumer"], server}
    claim = reader.run(f"scheduling claim show {claimed['Consumer']}")
    assert (claim["booking"], claim["until"]) == (made["uuid"], made["ends_at"])
    assert "in use" in reader.run("scheduling booking delete today", status=1)


def change(reader: Reader) -> None:
    assert reader.follow(SET)["ends_at"] == "2050-12-10T18:00:00.000000+00:00"
    fewer = reader.follow(SET)
    assert (fewer["count"], len(fewer["machines"])) == (1, 1)
    for _ in range(2):
        reader.follow("scheduling booking delete")
    assert reader.run("scheduling booking list") == []
    wait_until(lambda: reader.run("server list") == [], "the server to be deleted")


def be_told(reader: Reader) -> None:
    """``event follow`` does not end by itself."""
    found = re.fullmatch(r"scheduling event follow --type '(.*)'", reader.next())
    assert found is not None
    told: list[dict[str, Any]] = reader.run(f"scheduling event list --type '{found[1]}'")
    kinds = [each["Type"].rpartition(".")[2] for each in told]
    assert [kinds.count(kind) for kind in ("created", "changed", "deleted")] == [2, 2, 2], json.dumps(told)
    webhook = reader.follow("scheduling webhook create", **{"https://hooks.example.com": "http://127.0.0.1:9"})
    assert webhook["types"] == ["scheduling.booking.short", "scheduling.booking.filled"]
