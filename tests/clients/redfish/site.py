"""The API and a conductor as processes of their own, and the ``openstack`` command for them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients.forked import forked_openstack
from tests.clients.openstack import OpenStack, variables_in
from tests.emulators import Emulator
from tests.processes import BAREMETAL_SCHED, Program, Values, conductor, serve
from tests.waiting import wait_until

GUARD = Path(__file__).with_name("guard")
#: The account at the controllers.
USERS = {"admin": "emulated-password-1"}
_INTERVALS = (
    "firmware_update_status_interval",
    "firmware_update_bmc_version_check_interval",
    "firmware_update_validation_interval",
)
SETTINGS: dict[str, dict[str, Any]] = {
    "DEFAULT": {"enabled_hardware_types": "redfish,fake-hardware"},
    "conductor": {"heartbeat_interval": 0.5, "power_state_change_timeout": 30},
    "redfish": {
        "connection_attempts": 2,
        "connection_retry_interval": 0.1,
        **dict.fromkeys(_INTERVALS, 0.2),
    },
}
WAIT = "--wait 60"


class Site:
    """The site of a test: ``openstack`` is the command."""

    def __init__(self, openstack: OpenStack, api: Program, conductor: Program, home: Path) -> None:
        self.openstack = openstack
        self.api = api
        self.conductor = conductor
        self.home = home

    def enrol(self, emulator: Emulator, *names: str, first: int = 0, **fields: Any) -> None:
        """Enrol machines of the emulator, from its system ``first`` on. No agent is there to clean them."""
        nodes = [
            {
                "name": name,
                "driver": "redfish",
                "resource_class": "gold",
                "automated_clean": False,
                "driver_info": emulator.driver_info(number),
                **fields,
            }
            for number, name in enumerate(names, first)
        ]
        (self.home / "fleet.json").write_text(json.dumps({"nodes": nodes}))
        self.openstack(f"baremetal create {self.home / 'fleet.json'}")

    def node(self, name: str) -> dict[str, Any]:
        """A node, as the command shows it."""
        shown: dict[str, Any] = self.openstack(f"baremetal node show {name} -f json")
        return shown

    def wait_for(self, name: str, **values: Any) -> dict[str, Any]:
        """Wait until the fields of a node have these values; returns the node."""

        def arrived() -> dict[str, Any] | None:
            node = self.node(name)
            return node if {field: node[field] for field in values} == values else None

        return wait_until(arrived, f"{name} to be {values}")

    def power(self, command: str, name: str, state: str) -> dict[str, Any]:
        """``power on``, ``power off``, ``reboot``, and what options they have; waits until that is done."""
        self.openstack(f"baremetal node {command} {name}")
        return self.wait_for(name, power_state=state, target_power_state=None, reservation=None, last_error=None)

    def clean(self, name: str, interface: str, step: str, **arguments: Any) -> None:
        """Clean by hand with one step, and wait for the end."""
        steps = [{"interface": interface, "step": step, "args": arguments}]
        (self.home / "steps.json").write_text(json.dumps(steps))
        self.openstack(f"baremetal node clean {name} --clean-steps {self.home / 'steps.json'} {WAIT}")

    def assert_api_called_nobody(self) -> None:
        """The API's processes have connected to no controller: the first attempt would have ended one."""
        assert "FORBIDDEN" not in self.api.log
        assert self.api.process.poll() is None


@contextmanager
def site(folder: Path, *emulators: Emulator, settings: Values | None = None) -> Iterator[Site]:
    """The service for these emulators. A process of the API that connects to one of them ends at once.

    ``settings`` are of the groups that SETTINGS has.
    """
    service, home = folder / "service", folder / "home"
    service.mkdir()
    home.mkdir()
    told = {group: {**values, **(settings or {}).get(group, {})} for group, values in SETTINGS.items()}
    ports = ",".join(emulator.url.rpartition(":")[2] for emulator in emulators)
    guarded = ("env", f"PYTHONPATH={GUARD}", f"FORBIDDEN_PORTS={ports}", *BAREMETAL_SCHED)
    with (
        serve(service, "--without-conductor", settings=told, command=guarded) as (api, _),
        conductor(service, "conductor-1", settings=told) as program,
        forked_openstack(home, variables_in(api.output)) as openstack,
    ):
        running = Site(openstack, api, program, home)
        yield running
        running.assert_api_called_nobody()
