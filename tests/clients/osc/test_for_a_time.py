# tier: ci
"""The guide for claims with an end: its commands do what it says, and the machines go back by themselves."""

import json
import re
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.clients.forked import ROOT, ForkedOpenStack, forked_openstack
from tests.clients.openstack import variables_in
from tests.clients.osc.conftest import add_machine
from tests.clients.osc.test_domains import Reader
from tests.clients.test_boot_story import flavor, image
from tests.processes import Client, serve
from tests.waiting import wait_until

GUIDE = (ROOT / "api-ref" / "guides" / "for_a_time.rst").read_text()
COMMANDS = re.findall(r"^    openstack (.*)$", GUIDE, re.MULTILINE)
SETTINGS = {
    "conductor": {"heartbeat_interval": 0.2},
    "scheduling": {"sweep_interval": 0.2},
    "events": {"allowed_hosts": "127.0.0.1"},
}
MACHINES = ("n1", "n2")


def test_the_guide(python: Path, tmp_path: Path) -> None:
    with serve(tmp_path, settings=SETTINGS) as (running, url), Client(url) as client:
        environment = {**variables_in(running.output), "TZ": "UTC"}
        for name in MACHINES:
            add_machine(client, name, "gold", (), None)
        with forked_openstack(tmp_path, environment, python) as openstack:
            image(openstack, "debian")
            openstack(flavor("bm.gold", resources__CUSTOM_GOLD="1"))
            follow(Reader(openstack, COMMANDS), openstack)


def follow(reader: Reader, openstack: ForkedOpenStack) -> None:
    claim = a_claim(reader)
    server = a_server(reader)
    assert reader.follow("scheduling claim list --late") == []
    assert events(reader.next()) == "scheduling.claim.*"
    webhook = reader.follow("scheduling webhook create", **{"https://hooks.example.com": "http://127.0.0.1:9"})
    assert webhook["types"] == ["scheduling.claim.ends_soon", "scheduling.claim.late"]
    when_can_i_have_one(reader, openstack, server)
    assert reader.is_through()
    at_the_end(reader, claim, server)


def a_claim(reader: Reader) -> str:
    began = datetime.now(UTC)
    (made,) = reader.follow("scheduling claim --class gold --for 8h")
    claim: str = made["Consumer"]
    shown = reader.follow("scheduling claim show", CLAIM=claim)
    assert shown["end"] == "set"
    given, slack = moment(shown["until"]) - timedelta(hours=8), timedelta(seconds=1)
    assert began - slack <= given <= datetime.now(UTC) + slack
    (listed,) = reader.follow("scheduling claim list")
    assert (listed["Claim"], listed["Until"]) == (claim, shown["until"])
    moved = reader.follow("scheduling claim set", CLAIM=claim)
    assert moved["until"] == "2050-12-02T16:00:00.000000+00:00"
    assert moment(reader.follow("scheduling claim set", CLAIM=claim)["until"]) < moment(moved["until"])
    assert reader.follow("scheduling claim set", CLAIM=claim)["until"] is None
    return claim


def a_server(reader: Reader) -> str:
    server: str = reader.follow("server create")["id"]
    shown = reader.run(f"scheduling claim show {server}")
    assert (shown["kind"], shown["until"]) == ("server", "2050-12-02T16:00:00.000000+00:00")
    assert moment(reader.follow("scheduling claim set", SERVER=server)["until"]) < moment(shown["until"])
    return server


def events(command: str) -> str:
    """What the command follows; it does not end by itself."""
    found = re.fullmatch(r"scheduling event follow --type '(.*)'", command)
    assert found is not None, command
    return found[1]


def when_can_i_have_one(reader: Reader, openstack: ForkedOpenStack, server: str) -> None:
    """One of two machines has no end, the other one is a server's."""

    def explained() -> dict[str, Any]:
        done = openstack.run([*shlex.split(reader.next()), "-f", "json"])
        assert done.returncode == 3, done.stderr  # nothing fits now
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    until = moment(reader.run(f"scheduling claim show {server}")["until"])
    for _ in range(2):
        assert moment(explained()["earliest"]) == until + timedelta(hours=1)
    (row,) = reader.follow("scheduling capacity")
    assert (row["Total"], row["Free"]) == (2, 1)


def at_the_end(reader: Reader, claim: str, server: str) -> None:
    """A claim without a deployed node is released, a server is deleted; events say so."""
    for uuid in (claim, server):
        reader.run(f"scheduling claim set {uuid} --for 1")
    wait_until(lambda: reader.run("server list") == [], "the server to be deleted")
    wait_until(lambda: ended(reader) == {claim, server}, "both ends to be told")
    assert reader.run(f"scheduling claim show {claim}")["state"] == "released"


def ended(reader: Reader) -> set[str]:
    found: list[dict[str, Any]] = reader.run("scheduling event list --type scheduling.claim.ended")
    return {each["Subject"] for each in found}


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
