"""The site of a story in the sandbox: the service, machines with agents, images, and clients."""

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents.machines import Machine, Machines, listening
from tests.clients.forked import ForkedOpenStack, forked_openstack
from tests.clients.openstack import variables_in
from tests.emulators import Emulator, ImageServer, fake_systems, image_server
from tests.processes import Client, Program, Values, serve
from tests.waiting import wait_until

SETTINGS: dict[str, dict[str, Any]] = {
    "DEFAULT": {"enabled_hardware_types": "redfish"},
    "conductor": {"heartbeat_interval": 0.5, "power_state_change_timeout": 30},
    "api": {"ramdisk_heartbeat_timeout": 15},
    # All of a disk is too much for a test.
    "deploy": {"erase_devices_priority": 0, "erase_devices_metadata_priority": 10},
    "agent": {"post_deploy_get_power_state_retry_interval": 1},
}
_SECONDS = 180
IMAGE_BYTES = 24 * 2**20
#: Both copies of a GPT: the agent moves the second one to the end of the disk.
_HEADERS = 34 * 512
#: The contents of config drives.
SECRET = "config-drive-secret-7f1c"
#: Agents log the URLs that they are asked for.
_TOKEN = re.compile(r"agent_token=([\w-]+)")
#: What the machines are of.
CLASSES = ("gold", "silver", "bronze")


@dataclass
class Site:
    """``openstack`` is the command, ``client`` is for what it does not know, ``variables`` are those of clients;
    ``told`` is what the sandbox was told."""

    openstack: ForkedOpenStack
    client: Client
    variables: dict[str, str]
    service: Program
    emulator: Emulator
    machines: list[Machine]
    images: ImageServer
    #: What the image server has, by name.
    files: dict[str, bytes]
    home: Path
    told: dict[str, Any]

    @property
    def image(self) -> bytes:
        """An image of a whole disk, with one partition."""
        return self.files["disk.raw"]

    @property
    def checksum(self) -> str:
        """That of this image."""
        return self.checksum_of("disk.raw")

    def checksum_of(self, name: str) -> str:
        """The checksum of an image."""
        return hashlib.sha256(self.files[name]).hexdigest()

    def node(self, name: str) -> dict[str, Any]:
        """A node, as the command shows it."""
        shown: dict[str, Any] = self.openstack(f"baremetal node show {name} -f json")
        assert "config-drive-secret" not in str(shown)
        return shown

    def enrol(self, **fields: Any) -> None:
        """Enrol all machines, each of a class of its own, and bring them to ``manageable``."""
        nodes = [
            {
                "name": machine.name,
                "driver": "redfish",
                "driver_info": self.emulator.driver_info(number, deploy_iso=self.images.image("agent.iso")),
                "deploy_interface": "direct",
                "resource_class": CLASSES[number],
                "ports": [{"address": machine.mac}],
                **fields,
            }
            for number, machine in enumerate(self.machines)
        ]
        (self.home / "fleet.json").write_text(json.dumps({"nodes": nodes}))
        names = " ".join(machine.name for machine in self.machines)
        self.openstack.batch(f"baremetal create {self.home / 'fleet.json'}", f"baremetal node manage {names} --wait")

    def provide(self, *names: str) -> None:
        """Have machines cleaned, until they are available."""
        self.openstack(f"baremetal node provide {' '.join(names)} --wait {_SECONDS}")

    def instance(self, name: str, **info: str) -> None:
        """Say what the instance of a node is to be; the image is that of the site if nothing else is said."""
        told = {
            "image_source": self.images.image("disk.raw"),
            "image_checksum": self.checksum,
            "image_disk_format": "raw",
            **info,
        }
        self.openstack(f"baremetal node set {name} {' '.join(f'--instance-info {k}={v}' for k, v in told.items())}")

    def deploy(self, name: str) -> None:
        """Deploy a node with a config drive."""
        self.openstack(f"baremetal node deploy {name} --config-drive {self._drive(name)} --wait {_SECONDS}")

    def _drive(self, name: str) -> Path:
        drive = self.home / f"{name}.json"
        drive.write_text(json.dumps({"meta_data": {"hostname": f"host-{name}"}, "user_data": SECRET}))
        return drive

    def refused(self, name: str) -> str:
        """Deploy a node, which fails; returns why."""
        self.openstack(f"baremetal node deploy {name} --config-drive {self._drive(name)}")
        node = self.wait_for(name, provision_state="deploy failed", reservation=None)
        assert node["driver_internal_info"].get("agent_command") is None
        assert node["power_state"] == "power off"
        return str(node["last_error"])

    def clean(self, name: str, *steps: dict[str, Any]) -> None:
        """Begin to clean a node by hand."""
        (self.home / "steps.json").write_text(json.dumps([{"interface": "deploy", **step} for step in steps]))
        self.openstack(f"baremetal node clean {name} --clean-steps {self.home / 'steps.json'}")

    def wait_for(self, name: str, **values: Any) -> dict[str, Any]:
        """Wait until the fields of a node have these values; returns the node."""

        def arrived() -> dict[str, Any] | None:
            node = self.node(name)
            return node if {field: node[field] for field in values} == values else None

        return wait_until(arrived, f"{name} to be {values}")


@contextmanager
def site(folder: Path, settings: Values | None = None) -> Iterator[Site]:
    """The service for as many machines as the sandbox has disks. ``settings`` are of the groups that SETTINGS has."""
    told = json.loads(Path(os.environ["SANDBOX"]).read_text())
    machines, files, home = Machines(told), {"disk.raw": whole_disk(folder)}, folder / "home"
    home.mkdir()
    options = {group: {**values, **(settings or {}).get(group, {})} for group, values in SETTINGS.items()}
    with (
        listening(machines) as notified,
        fake_systems(len(told["disks"]), notified=notified) as emulator,
        image_server("198.18.0.1", files) as images,
        serve(folder, settings=options) as (service, url),
        forked_openstack(home, variables_in(service.output)) as openstack,
        Client(url) as client,
    ):
        known = machines.connect(emulator, f"{url}/baremetal")
        yield Site(openstack, client, variables_in(service.output), service, emulator, known, images, files, home, told)
        assert_kept_secret(service, known)


def assert_kept_secret(service: Program, machines: Iterable[Machine]) -> None:
    """The service has logged neither the tokens of agents, each of which had its own, nor the contents of config
    drives."""
    used = [set(_TOKEN.findall(agent.output)) for machine in machines for agent in machine.agents]
    tokens = set().union(*used)
    assert len(tokens) == sum(map(len, used))
    assert not [secret for secret in (*tokens, SECRET) if secret in service.output + service.log]


def whole_disk(folder: Path) -> bytes:
    """An image with a GPT and one partition, with something in it."""
    path = folder / "disk.raw"
    path.write_bytes(hashlib.shake_256(b"an operating system").digest(IMAGE_BYTES))
    command = ("sgdisk", "--clear", "--new=1:2048:+16M", "--change-name=1:root", path)
    subprocess.run(command, check=True, capture_output=True)
    return path.read_bytes()


def partitions(disk: str) -> dict[int, tuple[int, int]]:
    """The partitions of a disk: first byte and number of bytes, by number."""
    printed = subprocess.run(["sgdisk", "-p", disk], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in printed.splitlines() if line.strip()[:1].isdigit()]
    return {int(row[0]): (int(row[1]) * 512, (int(row[2]) - int(row[1]) + 1) * 512) for row in rows}


def drive_beside(machine: Machine, image: bytes) -> bytes:
    """The image is on the disk, and one partition more than it has: the config drive, whose content is returned."""
    with Path(machine.disk).open("rb") as disk:
        written = disk.read(len(image))
        first, *others = partitions(machine.disk).items()
        assert first == (1, (2**20, 16 * 2**20))
        assert len(others) == 1
        start, length = others[0][1]
        disk.seek(start)
        drive = disk.read(length)
    # The agent moves the second copy of the table, and writes down in both where the disk ends.
    kept = slice(_HEADERS, len(image) - _HEADERS)
    assert hashlib.sha256(written[kept]).digest() == hashlib.sha256(image[kept]).digest()
    assert is_config_drive(drive)
    return drive


def is_config_drive(content: bytes) -> bool:
    """Whether this is ISO 9660 with the name of config drives, which is in the first descriptor."""
    return content[0x8001:0x8006] == b"CD001" and content[0x8028:0x8048].strip() == b"config-2"
