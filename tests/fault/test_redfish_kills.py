"""Two conductors are killed (-9), one after the other, while emulated Redfish machines are deployed and given back.

No step is begun under two fences, nothing that was accepted is lost, nothing stays in a passing state, and in the end
nodes and machines agree. FAULT_KILLS says how often (4): 40 for the real thing.
"""

import os
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.emulators import Emulator, fake_systems, image_server
from tests.fault.journal import Journal
from tests.fault.site import GROUPS, Site
from tests.fault.tenants import Tenant
from tests.fault.test_conductors import UNSETTLED, report, settle
from tests.waiting import START, wait_until

KILLS = int(os.environ.get("FAULT_KILLS", "4"))
MACHINES, TENANTS = 12, 4
SETTINGS: dict[str, dict[str, Any]] = {
    "DEFAULT": {"enabled_hardware_types": "redfish"},
    "conductor": {"automated_clean": False, "sync_power_state_interval": 0},
    "redfish": {"connection_attempts": 1, "auth_type": "basic", "vmedia_insert_poll_interval": 0.1},
}
#: Once deployed, a machine is given back, or deployed again.
VERBS = {
    "enroll": ("manage",),
    "manageable": ("provide",),
    "available": ("active",),
    "active": ("deleted", "deleted", "rebuild"),
    "deploy failed": ("active", "deleted"),
    "clean failed": ("manage",),
    "error": ("deleted",),
}


class Deployer(Tenant):
    """A client that names an image before each deployment, as that is forgotten when the machine is given back."""

    image = ""

    def _order(self, node: dict[str, Any], verb: str) -> None:
        if verb == "active":
            patch = [{"op": "add", "path": "/instance_info", "value": {"boot_iso": self.image}}]
            if self._call("image", "PATCH", f"/nodes/{node['uuid']}", patch).status_code != 200:
                return
        super()._order(node, verb)


def enrol(site: Site, emulator: Emulator, image: str) -> list[Tenant]:
    """Make a node for each machine; returns their clients."""
    nodes = []
    for number in range(MACHINES):
        body = {"driver": "redfish", "driver_info": emulator.driver_info(number), "conductor_group": GROUPS["c1"]}
        created = site.client.baremetal("POST", "/nodes", body)
        assert created.status_code == 201, created.text
        nodes.append(created.json()["uuid"])
    tenants: list[Tenant] = [Deployer(number, nodes[number::TENANTS], VERBS) for number in range(TENANTS)]
    for tenant in tenants:
        tenant.image = image  # type: ignore[attr-defined]
    return tenants


def test_conductors_that_are_killed_while_they_deploy(database_url: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        images = stack.enter_context(image_server())
        emulator = stack.enter_context(
            fake_systems(MACHINES, users={"admin": "Emulated-Passw0rd"}, power_seconds=(0, 1))
        )
        site = Site(tmp_path, database_url, stack, None, settings=SETTINGS)
        site.start("c1", "c2")
        tenants, happened = enrol(site, emulator, images.image()), Counter[str]()
        with site.busy(tenants, 0.05):
            for number in range(KILLS):
                host = ("c1", "c2")[number % 2]
                wait_until(lambda host=host: site.is_deploying(host), f"{host} to deploy")
                site.kill(host)
                happened[f"kill {host}"] += 1
        wait_until(lambda: site.scalar(UNSETTLED) == 0, "all work to be done", seconds=START)
        settle(site, tenants)
        states = [site.client.baremetal("GET", f"/nodes/{uuid}").json() for each in tenants for uuid in each.nodes]
        on = {node["driver_info"]["redfish_system_id"]: node["power_state"].split()[1] for node in states}
        assert on == {path: emulator.get(path)["PowerState"].lower() for path in map(emulator.path, range(MACHINES))}
        journal = Journal(site.all_lives)
        report(site, tenants, journal, happened)
        failures = [failure for tenant in tenants for failure in tenant.failures]
        print(f"{happened.total()} kills: double {len(journal.findings())}, lost {len(failures)}")
        asked = Counter(line.split()[0] + " " + line.split()[1].rpartition("/")[2] for line in emulator.asked())
        print("asked of the machines:", {what: count for what, count in asked.items() if not what.startswith("GET")})
    assert not failures, failures[:5]
    assert not journal.findings(), journal.findings()[:5]
