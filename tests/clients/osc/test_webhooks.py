# tier: ci
"""The guide for webhooks: its commands do what it says, and a chat is told of a machine that fails."""

import json
import os
import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.clients.forked import ROOT, ForkedOpenStack, forked_openstack
from tests.clients.osc.conftest import add_machine, variables
from tests.functional.scheduling.test_webhook_guide import SAMPLE, served
from tests.processes import Client, serve
from tests.receiver import Receiver, answering
from tests.waiting import wait_until

GUIDE = (ROOT / "api-ref" / "guides" / "webhooks.rst").read_text()
COMMANDS = re.findall(r"^    openstack scheduling webhook (\w+) ?(.*)$", GUIDE, re.MULTILINE)
SETTINGS = {"conductor": {"heartbeat_interval": 0.2}, "events": {"allowed_hosts": "127.0.0.1"}}


class Reader:
    """Types the commands of the guide, with other addresses."""

    def __init__(self, openstack: ForkedOpenStack, url: str) -> None:
        self._openstack = openstack
        self._url = url
        self._left = list(COMMANDS)

    def follow(self, verb: str) -> Any:
        """Run the next command, which has this verb; return what it prints for programs."""
        found, rest = self._left.pop(0)
        assert found == verb
        return self.run(verb, re.sub(r"https://hooks.example.com/\S+", self._url, rest))

    def run(self, verb: str, rest: str, status: int = 0) -> Any:
        shown = () if verb == "delete" else ("-f", "json")
        done = self._openstack.run(["scheduling", "webhook", verb, *shlex.split(rest), *shown])
        assert done.returncode == status, (verb, rest, done.stdout, done.stderr)
        return done.stderr if status else json.loads(done.stdout or "null")

    def is_through(self) -> bool:
        return not self._left


def test_the_guide(python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    receive = runpy.run_path(str(SAMPLE))["receive"]
    with (
        Receiver(answering(200)) as chat,
        served(receive) as hook_url,
        serve(tmp_path, settings=SETTINGS) as (_, url),
        Client(url) as client,
        forked_openstack(tmp_path, variables(url, "none"), python) as openstack,
    ):
        add_machine(client, "rack1-07", "gold", (), None)
        reader = Reader(openstack, hook_url)
        made = reader.follow("create")
        assert made["secret"].startswith("whsec_")
        monkeypatch.setitem(os.environ, "WEBHOOK_SECRET", made["secret"])
        monkeypatch.setitem(os.environ, "CHAT_URL", chat.url)
        fail(client, "rack1-07")
        wait_until(lambda: chat.received, "the line in the chat")
        assert chat.received[0].event["text"].startswith("rack1-07: inspect failed: ")
        wait_until(lambda: reader.run("show", "chat")["behind"] == 0, "the end of the delivery")
        (listed,) = reader.follow("list")
        assert [listed[name] for name in ("Name", "State", "Behind", "Last Error")] == ["chat", "active", 0, None]
        shown = reader.follow("show")
        assert (shown["last_status"], shown["attempts"][0]["status"]) == (204, 204)
        tested = reader.follow("test")
        assert (tested["status"], tested["error"]) == (204, None)
        assert reader.follow("set")["url"] == hook_url
        assert reader.follow("resume")["lost"] == 0
        assert reader.follow("resume")["skipped"] is None
        cursor = reader.run("show", "chat")["cursor"]
        assert reader.run("resume", f"chat --after {cursor}")["cursor"] == cursor
        renewed = reader.follow("set")
        assert renewed["secret"] != made["secret"]
        assert reader.is_through()
        mistakes(reader)


def fail(client: Client, name: str) -> None:
    """Let the inspection of a machine fail: nobody answers for its agent, and a person ends the waiting."""
    interface = [{"op": "add", "path": "/inspect_interface", "value": "agent"}]
    for path, body, state in (
        ("states/provision", {"target": "manage"}, "manageable"),
        ("", interface, "manageable"),
        ("states/provision", {"target": "inspect"}, "inspect wait"),
        ("states/provision", {"target": "abort"}, "inspect failed"),
    ):
        answer = client.baremetal("PUT" if path else "PATCH", f"/nodes/{name}/{path}".rstrip("/"), body)
        assert answer.ok, answer.text
        wait_until(lambda state=state: _state(client, name) == state, state)  # type: ignore[misc]


def _state(client: Client, name: str) -> str:
    node = client.baremetal("GET", f"/nodes/{name}").json()
    return "" if node["reservation"] else str(node["provision_state"])


def mistakes(reader: Reader) -> None:
    """What is answered to mistakes; filters by names of nodes; the end."""
    assert "Say what to change" in reader.run("set", "chat", status=2)
    assert "There is no webhook called 'pager'" in reader.run("show", "pager", status=1)
    assert "https" in reader.run("create", "ftp://hooks.example.com/", status=2)
    assert len(reader.run("set", "chat --node rack1-07 --all-types")["nodes"]) == 1
    assert reader.run("list", "--state parked") == []
    reader.run("delete", "chat")
    assert reader.run("list", "") == []
