"""A conductor that is killed (-9) in a step on a Redfish machine: the next one finishes it, and the controller is told
once. In processes as people run them, beside a controller of our own.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.functional.redfish.steps import QUICK, apply, flash, update
from tests.processes import Client, Program, conductor, serve
from tests.redfish_service import Controller, Fault, RedfishService
from tests.redfish_service.updates import Plan
from tests.waiting import wait_until

pytestmark = pytest.mark.sqlite_only

PATCH = "PATCH /redfish/v1/Systems/1/Bios/Settings"
SIMPLE_UPDATE = "POST /redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate"
SETTINGS: dict[str, dict[str, Any]] = {
    "DEFAULT": {"enabled_hardware_types": "fake-hardware,redfish", "graceful_shutdown_timeout": 1},
    "conductor": {
        "heartbeat_interval": 0.2,
        "heartbeat_timeout": 2,
        "check_provision_state_interval": 0.5,
        "sync_power_state_interval": 0,
    },
    "redfish": {**QUICK, "firmware_update_status_interval": 0.2, "read_timeout": 10},
}


@dataclass
class Site:
    """An API without a conductor in it, and a node of the machine behind ``running``."""

    client: Client
    folder: Path
    database_url: str
    stack: ExitStack
    running: RedfishService

    @property
    def controller(self) -> Controller:
        return self.running.controller

    def start(self, name: str) -> Program:
        options = ("--database", self.database_url)
        return self.stack.enter_context(conductor(self.folder, name, *options, settings=SETTINGS))

    def node(self) -> dict[str, Any]:
        document: dict[str, Any] = self.client.baremetal("GET", "/nodes/n1").json()
        return document

    def ask(self, verb: str, **more: Any) -> None:
        answer = self.client.baremetal("PUT", "/nodes/n1/states/provision", {"target": verb, **more})
        assert answer.status_code == 202, answer.text

    def begin(self, step: dict[str, Any]) -> Program:
        """Begin a step on the node; returns the conductor that does it."""
        first = self.start("c1")
        body = {"driver": "redfish", "name": "n1", "driver_info": self.running.driver_info()}
        assert self.client.baremetal("POST", "/nodes", body).status_code == 201
        self.ask("manage")
        wait_until(lambda: self.node()["provision_state"] == "manageable", "the node to be manageable")
        self.ask("clean", clean_steps=[step])
        return first

    def finish(self, successor: str) -> dict[str, Any]:
        """Let a conductor of this name go on; returns the node when it is free."""
        begun = time.monotonic()
        self.start(successor)
        wait_until(lambda: self.node()["reservation"] is None, "the step to be over")
        print(f"\nover {time.monotonic() - begun:.1f} s after the next conductor was started")
        return self.node()


@pytest.fixture
def site(tmp_path: Path, database_url: str) -> Iterator[Site]:
    with ExitStack() as stack:
        running = stack.enter_context(RedfishService(Controller(tmp_path / "asked")))
        options = ("--without-conductor", "--database", database_url)
        _, url = stack.enter_context(serve(tmp_path, *options, settings=SETTINGS))
        yield Site(stack.enter_context(Client(url)), tmp_path, database_url, stack, running)


def asked(site: Site, beginning: str) -> int:
    """How often the controller was asked that, as its journal says."""
    return sum(line.startswith(beginning) for line in (site.folder / "asked").read_text().splitlines())


def test_killed_while_settings_are_sent(site: Site) -> None:
    """When the controller has taken the settings, and before its answer: they are not sent again."""
    site.controller.faults = [Fault(path="Bios/Settings", method="PATCH", late=30, times=1)]
    first = site.begin(apply(BootMode="Bios", NumaGroup=2))
    wait_until(lambda: site.controller.bios.pending, "the settings to be sent")
    first.end(signal.SIGKILL)
    after = site.finish("c1")
    assert (after["provision_state"], after["last_error"]) == ("manageable", None)
    assert (asked(site, PATCH), site.controller.bios.attributes["BootMode"]) == (1, "Bios")


def test_killed_while_settings_are_being_applied(site: Site) -> None:
    """After the reboot: the machine is not rebooted again."""
    site.controller.system["BootProgress"] = {"LastState": "MemoryInitializationStarted"}
    first = site.begin(apply(BootMode="Bios"))
    wait_until(lambda: site.controller.bios.attributes["BootMode"] == "Bios", "the reboot")
    resets = asked(site, "POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset")
    wait_until(lambda: first.log.count("work is to be polled") >= 4, "the step to be polled after the reboot")
    first.end(signal.SIGKILL)
    site.controller.system["BootProgress"] = {"LastState": "OSRunning"}
    after = site.finish("c2")
    assert (after["provision_state"], after["last_error"], after["power_state"]) == ("manageable", None, "power on")
    assert asked(site, PATCH) == 1
    assert asked(site, "POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset") == resets


def test_killed_while_an_update_is_sent(site: Site) -> None:
    """The controller has begun it, and its answer was lost: it is known by its task, and not begun again."""
    site.controller.faults = [Fault(path="SimpleUpdate", method="POST", late=30, times=1)]
    site.controller.updates.plans = [Plan(seconds=1)]
    first = site.begin(update(flash("bios")))
    wait_until(lambda: site.controller.updates.tasks, "the update to be sent")
    first.end(signal.SIGKILL)
    after = site.finish("c2")
    assert (after["provision_state"], after["last_error"]) == ("manageable", None)
    assert (asked(site, SIMPLE_UPDATE), site.controller.updates.versions["bios"]) == (1, "2.0.0")


def test_killed_between_updates_while_the_controller_restarts(site: Site) -> None:
    site.controller.updates.plans = [Plan(seconds=1, restarts_for=3), Plan(seconds=0.5)]
    first = site.begin(update(flash("bmc"), flash("nic:NIC1")))
    wait_until(lambda: site.controller.updates.is_away, "the controller to restart")
    first.end(signal.SIGKILL)
    after = site.finish("c2")
    assert (after["provision_state"], after["last_error"]) == ("manageable", None)
    assert asked(site, SIMPLE_UPDATE) == 2
    assert site.controller.updates.versions == {"bios": "1.0.0", "bmc": "2.0.0", "nic:NIC1": "2.0.0"}
    components = site.client.baremetal("GET", "/nodes/n1/firmware").json()["firmware"]
    assert [each["current_version"] for each in components] == ["1.0.0", "2.0.0", "2.0.0"]
