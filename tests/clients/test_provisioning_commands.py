"""The verbs of ``openstack baremetal node``, with ``--wait`` where they have it, against ``serve``."""

import gzip
import json
import time
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.openstack import OpenStack, variables_in
from tests.processes import Client, serve
from tests.waiting import wait_until

#: The longest that a verb may take here, in seconds; the client fails when it is over.
WAIT = "--wait 30"

INTERFACES = (
    *("bios", "boot", "console", "deploy", "firmware", "inspect"),
    *("management", "network", "power", "raid", "rescue", "storage"),
)

#: What the files hold that the commands name.
STEPS: dict[str, dict[str, Any]] = {
    "log.json": {"interface": "vendor", "step": "log_passthrough"},
    "hold.json": {"interface": "power", "step": "hold"},
    "hold-deployment.json": {"interface": "power", "step": "hold", "priority": 150},
    "wait.json": {"interface": "vendor", "step": "trigger_servicewait"},
    "unknown.json": {"interface": "cooking", "step": "stir"},
}


class Site:
    """``serve``, its client over HTTP, and the ``openstack`` command for it."""

    def __init__(self, client: Client, openstack: OpenStack) -> None:
        self.client = client
        self.openstack = openstack

    def create(self, name: str) -> None:
        """Enrol a machine."""
        response = self.client.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": name})
        assert response.status_code == 201, response.text

    def show(self, name: str) -> dict[str, Any]:
        """A node as the API shows it."""
        node: dict[str, Any] = self.client.baremetal("GET", f"/nodes/{name}").json()
        return node

    def provision(self, name: str, target: str, state: str) -> None:
        """Ask for a verb over HTTP, and wait for the state that it leads to."""
        response = self.client.baremetal("PUT", f"/nodes/{name}/states/provision", {"target": target})
        assert response.status_code == 202, response.text
        self.wait_for(name, provision_state=state, reservation=None)

    def wait_for(self, name: str, **values: Any) -> dict[str, Any]:
        """Wait until the fields of a node have these values; returns the node."""

        def arrived() -> dict[str, Any] | None:
            node = self.show(name)
            return node if {field: node[field] for field in values} == values else None

        return wait_until(arrived, f"{name} to be {values}")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for the module: each test has nodes of its own."""
    with serve(tmp_path_factory.mktemp("service")) as (program, url), Client(url) as client:
        home = tmp_path_factory.mktemp("home")
        for name, step in STEPS.items():
            (home / name).write_text(json.dumps([{"args": {}, **step}]))
        (home / "drive.gz.b64").write_bytes(b64encode(gzip.compress(b"a file system")))
        yield Site(client, OpenStack(home, variables_in(program.output)))


#: What happens to a machine, and the state that ``--wait`` waits for.
LIFE = (
    ("manage", "", "manageable"),
    ("inspect", "", "manageable"),
    ("clean", "--clean-steps log.json", "manageable"),
    ("provide", "", "available"),
    ("deploy", "--config-drive drive.gz.b64", "active"),
    ("rebuild", "", "active"),
    ("rescue", "--rescue-password secret", "rescue"),
    ("unrescue", "", "active"),
    ("service", "--service-steps log.json", "active"),
    ("undeploy", "", "available"),
    ("manage", "", "manageable"),
    ("adopt", "", "active"),
)


def test_life_of_a_machine(site: Site) -> None:
    """From enrolment to an instance, through all that may happen to that, and back: each ``--wait`` ends,
    and the node is where the verb leads to."""
    site.create("life")
    show = "baremetal node show life -f json --fields provision_state target_provision_state last_error"
    commands = [(f"baremetal node {verb} life {options} {WAIT}", show) for verb, options, _ in LIFE]
    shown = site.openstack.batch(*(line for pair in commands for line in pair))
    assert shown == [
        {"provision_state": state, "target_provision_state": None, "last_error": None} for _, _, state in LIFE
    ]


def test_several_at_once(site: Site) -> None:
    """A verb takes several nodes, and waits for all of them."""
    for name in ("one", "two", "three"):
        site.create(name)
    (shown,) = site.openstack.batch(
        f"baremetal node manage one two three {WAIT}",
        f"baremetal node provide one two three {WAIT}",
        "baremetal node list -f json --provision-state available --fields name",
    )
    assert {row["name"] for row in shown} >= {"one", "two", "three"}


def test_hold_and_abort(site: Site) -> None:
    """Cleaning and deploying stop at a step ``hold``: ``unhold`` lets them go on, ``abort`` ends them, as it ends the
    waiting for an agent."""
    for name in ("cleaned", "deployed"):
        site.create(name)
        site.provision(name, "manage", "manageable")
    site.provision("deployed", "provide", "available")
    site.openstack.batch(
        "baremetal node clean cleaned --clean-steps hold.json",
        "baremetal node deploy deployed --deploy-steps hold-deployment.json",
    )
    site.wait_for("cleaned", provision_state="clean hold", reservation=None)
    site.wait_for("deployed", provision_state="deploy hold", target_provision_state="active", reservation=None)
    site.openstack.batch("baremetal node abort cleaned", "baremetal node unhold deployed")
    site.wait_for("cleaned", provision_state="clean failed", maintenance=False, reservation=None)
    site.wait_for("deployed", provision_state="active", reservation=None)

    site.openstack.batch("baremetal node service deployed --service-steps wait.json")
    site.wait_for("deployed", provision_state="service wait", reservation=None)
    site.openstack.batch("baremetal node abort deployed")
    node = site.wait_for("deployed", provision_state="service failed", reservation=None)
    assert "abort" in node["last_error"]


def test_power(site: Site) -> None:
    """``power on``, ``power off`` and ``reboot``, hard and soft, one right after the other."""
    site.create("power")
    for commands, state in (
        (("power on power", "reboot power", "reboot power --soft --power-timeout 10"), "power on"),
        (("power off power --soft --power-timeout 10",), "power off"),
        (("power on power", "power off power"), "power off"),
    ):
        site.openstack.batch(*(f"baremetal node {command}" for command in commands))
        site.wait_for("power", power_state=state, target_power_state=None, last_error=None, reservation=None)


def test_boot_device(site: Site) -> None:
    """A fake machine can be told to boot from the one device that it has, and remembers nothing of it."""
    site.create("boot")
    before, after, supported = site.openstack.batch(
        "baremetal node boot device show boot -f json",
        "baremetal node boot device set boot pxe --persistent",
        "baremetal node boot device show boot -f json",
        "baremetal node boot device show boot -f json --supported",
    )
    assert before == after == {"boot_device": "pxe", "persistent": False}
    assert "pxe" in supported["supported_boot_devices"]


def test_maintenance_and_validate(site: Site) -> None:
    """``maintenance set`` says why until ``maintenance unset``; ``validate`` has a line per interface."""
    site.create("kept")
    fields = "-f json --fields maintenance maintenance_reason"
    during, after, interfaces = site.openstack.batch(
        "baremetal node maintenance set kept --reason memory",
        f"baremetal node show kept {fields}",
        "baremetal node maintenance unset kept",
        f"baremetal node show kept {fields}",
        "baremetal node validate kept -f json",
    )
    assert during == {"maintenance": True, "maintenance_reason": "memory"}
    assert after == {"maintenance": False, "maintenance_reason": None}
    assert {row["Interface"]: row["Result"] for row in interfaces} == dict.fromkeys(INTERFACES, True)


#: Commands that are refused, and words of the refusal.
REFUSALS = {
    "deploy refuses": '"deploy" can not be performed on node',
    "clean refuses --clean-steps unknown.json": "cooking",
    "boot device set refuses wanboot": "wanboot",
    "power on nobody": "Node nobody could not be found",
}


def test_refusals(site: Site) -> None:
    """The command repeats the API's refusal in its words, and fails."""
    site.create("refuses")
    site.provision("refuses", "manage", "manageable")
    commands = [f"baremetal node {command}" for command in REFUSALS]
    complaints = site.openstack.run([], "\n".join(commands)).stderr.split("(HTTP 4")
    for complaint, words in zip(complaints[:-1], REFUSALS.values(), strict=True):
        assert words in complaint
    alone = site.openstack.run(commands[-1].split())
    assert (alone.returncode, alone.stdout) == (1, "")


@pytest.mark.slow
def test_cycle_is_quick(site: Site) -> None:
    """With fake hardware that takes no time, a machine is enrolled, deployed and available again in five seconds. The
    best of three counts: somebody else may be busy on this computer."""
    seconds = min(cycle(site, f"quick-{number}") for number in range(3))
    assert seconds < 5


def cycle(site: Site, name: str) -> float:
    """How long it takes from enrolling a machine until it is available for the second time, in seconds."""
    begun = time.monotonic()
    site.create(name)
    for target, state in (
        ("manage", "manageable"),
        ("provide", "available"),
        ("active", "active"),
        ("deleted", "available"),
    ):
        site.provision(name, target, state)
    return time.monotonic() - begun
