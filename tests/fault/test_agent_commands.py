"""A conductor that is killed (-9) while it has an agent execute a command: that is executed once, or the node fails and
says that it is unknown whether the step ran. In processes as people run them; the agent is the test's own.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from sqlalchemy import make_url

from tests.emulators.stub_agent import StubAgent
from tests.processes import Client, Program, conductor, serve
from tests.waiting import wait_until

pytestmark = pytest.mark.sqlite_only

MAC = "52:54:00:00:00:01"
SETTINGS: dict[str, dict[str, Any]] = {
    "DEFAULT": {"enabled_hardware_types": "fake-hardware", "graceful_shutdown_timeout": 1},
    "inspection_rules": {"allow_loopback": True},
    "conductor": {
        "heartbeat_interval": 0.3,
        "heartbeat_timeout": 2,
        "check_provision_state_interval": 0.5,
        "sync_power_state_interval": 0,
    },
}
#: A step of the agent's own of each kind.
BURN = {"interface": "deploy", "step": "burnin_cpu", "priority": 70}
ERASE = {"interface": "deploy", "step": "erase_devices_metadata", "priority": 10}

#: The commands, and the steps that they belong to.
COMMANDS = {
    "write_image": "execute_deploy_step",
    "burnin_cpu": "execute_deploy_step",
    "prepare_instance_boot": "install_bootloader",
    "erase_devices_metadata": "execute_clean_step",
}


@dataclass
class Site:
    """An API, a conductor, and n1, whose agent is ``agent``."""

    client: Client
    folder: Path
    database_url: str
    stack: ExitStack
    agent: StubAgent
    agent_url: str
    token: str = ""
    running: list[Program] = field(default_factory=list)

    def start(self) -> None:
        options = ("--database", self.database_url)
        self.running.append(self.stack.enter_context(conductor(self.folder, "c1", *options, settings=SETTINGS)))

    def kill(self) -> None:
        self.running[-1].end(SIGKILL)

    def node(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.baremetal("GET", "/nodes/n1").json()
        return found

    def ask(self, verb: str) -> None:
        asked = self.client.baremetal("PUT", "/nodes/n1/states/provision", {"target": verb})
        assert asked.status_code == 202, asked.text

    def enrol(self, *, cleans: bool) -> None:
        """Create n1; it is cleaned, or else deployed."""
        image = {"image_source": f"{self.agent_url}/x.raw", "image_checksum": "0" * 64}
        body = {"driver": "fake-hardware", "name": "n1", "deploy_interface": "direct", "instance_info": image}
        created = self.client.baremetal("POST", "/nodes", body)
        assert created.status_code == 201, created.text
        port = {"node_uuid": created.json()["uuid"], "address": MAC}
        assert self.client.baremetal("POST", "/ports", port).status_code == 201
        self.ask("manage")
        wait_until(lambda: self.node()["provision_state"] == "manageable", "the node to be manageable")
        if not cleans:
            patch = [{"op": "add", "path": "/automated_clean", "value": False}]
            assert self.client.baremetal("PATCH", "/nodes/n1", patch).ok
        self.ask("provide")
        if not cleans:
            wait_until(lambda: self.node()["provision_state"] == "available", "the node to be available")
            self.ask("active")
        wait_until(lambda: self.node()["provision_state"].endswith(("wait", "call-back")), "the agent's turn")
        # An agent is told its token once.
        self.token = self.client.baremetal("GET", f"/lookup?addresses={MAC}").json()["config"]["agent_token"]

    def beat(self) -> None:
        """Send a heartbeat, which the node may refuse now."""
        body = {"callback_url": self.agent_url, "agent_token": self.token, "agent_version": "13.0"}
        self.client.baremetal("POST", "/heartbeat/n1", body)

    def until(self, condition: Any, what: str) -> None:
        """Send heartbeats until then, as the agent would."""

        def is_so() -> bool:
            if condition():
                return True
            self.beat()
            return False

        wait_until(is_so, what)


@pytest.fixture
def site(tmp_path: Path, database_url: str) -> Iterator[Site]:
    agent = StubAgent()
    agent.steps = {"deploy": [BURN], "clean": [ERASE], "service": []}
    with ExitStack() as stack:
        port = stack.enter_context(agent.serve())
        options = ("--without-conductor", "--database", database_url)
        _, url = stack.enter_context(serve(tmp_path, *options, settings=SETTINGS))
        client = stack.enter_context(Client(url))
        made = Site(client, tmp_path, database_url, stack, agent, f"http://127.0.0.1:{port}")
        made.start()
        yield made


def is_command(asked: dict[str, Any] | None, step: str) -> bool:
    """Whether a request is the command of ``step``."""
    if asked is None or not asked["name"].endswith(f".{COMMANDS[step]}"):
        return False
    return step == "prepare_instance_boot" or asked["params"]["step"]["step"] == step


def times(agent: StubAgent, step: str) -> int:
    return sum(is_command({"name": name, "params": params}, step) for name, params in agent.executed)


class Killer:
    """Kills the conductor at a moment of the command of ``step``; ``done`` is when that has happened."""

    def __init__(self, site: Site, step: str, moment: str) -> None:
        self._site, self._step, self._moment = site, step, moment
        self.done = threading.Event()
        site.agent.before, site.agent.after = self._before, self._after

    def _before(self, method: str, asked: dict[str, Any] | None) -> None:
        if self._moment == "sending" and is_command(asked, self._step):
            self._kill()
            raise ConnectionAbortedError

    def _after(self, method: str, asked: dict[str, Any] | None) -> None:
        if not is_command(asked, self._step) or self.done.is_set():
            return
        if self._moment == "sent":
            self._kill()
        elif self._moment == "answered":
            # The lock keeps the conductor from writing down what it is told.
            lock = sqlite3.connect(make_url(self._site.database_url).database or "", check_same_thread=False)
            lock.execute("BEGIN IMMEDIATE")
            threading.Thread(target=self._kill_before_commit, args=(lock,)).start()

    def _kill_before_commit(self, lock: sqlite3.Connection) -> None:
        with closing(lock):
            running = self._site.running[-1]
            running.wait_for(f'"command": "{self._name}"', lambda: running.log, 20)
            self._kill()

    @property
    def _name(self) -> str:
        return next(name for name, _ in reversed(self._site.agent.executed))

    def _kill(self) -> None:
        self._site.kill()
        self.done.set()


@pytest.mark.parametrize("step", COMMANDS)
@pytest.mark.parametrize("moment", ["sending", "sent", "answered"])
def test_killed_before_the_command_is_known(site: Site, step: str, moment: str) -> None:
    """It is not sent again, and the node's error names the unknown part."""
    killer = Killer(site, step, moment)
    site.enrol(cleans=step == "erase_devices_metadata")
    site.until(killer.done.is_set, "the command")
    site.start()
    wait_until(lambda: site.node()["provision_state"].endswith("failed"), "the node to fail")
    node = site.node()
    assert node["reservation"] is None
    assert f"It is unknown whether step deploy.{step} ran." in node["last_error"]
    for _ in range(3):
        site.beat()
    assert times(site.agent, step) == (moment != "sending")


@pytest.mark.parametrize("step", COMMANDS)
def test_killed_while_the_agent_works(site: Site, step: str) -> None:
    """The next conductor learns what the agent has done."""
    agent = site.agent

    def works_on_it() -> bool:
        if times(agent, step):
            return site.node()["reservation"] is None
        agent.finish()
        return False

    agent.is_quick = False
    site.enrol(cleans=step == "erase_devices_metadata")
    site.until(works_on_it, "the agent to work")
    site.kill()
    agent.is_quick = True
    site.start()
    over = ("active", "available")
    site.until(lambda: site.node()["provision_state"] in over, "the work to be done")
    assert site.node()["last_error"] is None
    assert times(agent, step) == 1
