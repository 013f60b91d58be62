"""Stories in the sandbox. ``test_real_agents.py`` runs these, each in a sandbox of its own."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.site import SECRET, Site, drive_beside, is_config_drive, partitions, site
from tests.waiting import wait_until

_ZEROS = "--property resources:VCPU=0 --property resources:MEMORY_MB=0 --property resources:DISK_GB=0"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    """A site with the usual settings."""
    with site(tmp_path) as running:
        yield running


def test_three_clients(here: Site) -> None:
    """Agents erase the metadata of disks, and then write image and config drive: for ``openstack baremetal``, for
    ``openstack server``, and for metalsmith."""
    by_node, by_server, by_metalsmith = here.machines
    for machine in here.machines:
        with Path(machine.disk).open("r+b") as disk:
            disk.write(here.image)  # what an earlier owner has left
    here.enrol()
    here.provide(*(machine.name for machine in here.machines))
    for machine in here.machines:
        assert partitions(machine.disk) == {}
        assert "erase_devices_metadata" in machine.log

    # For a BIOS, which needs no boot loader beside that of the image.
    here.instance(by_node.name, capabilities="boot_mode:bios")
    here.deploy(by_node.name)
    drive = drive_beside(by_node, here.image)
    assert f'"hostname": "host-{by_node.name}"'.encode() in drive
    assert SECRET.encode() in drive

    create_a_server(here)
    assert b'"hostname": "by-server"' in drive_beside(by_server, here.image)

    deploy_by_metalsmith(here)
    assert b'"hostname": "by-metalsmith"' in drive_beside(by_metalsmith, here.image)

    for machine in here.machines:
        node = here.node(machine.name)
        assert (node["provision_state"], node["power_state"], node["last_error"]) == ("active", "power on", None)
        assert machine.agents[-1].process.poll() is not None  # the machine runs its instance


def create_a_server(here: Site) -> None:
    """The image is one of the records that the service has."""
    properties = {
        "image_source": here.images.image("disk.raw"),
        "image_os_hash_algo": "sha256",
        "image_os_hash_value": here.checksum,
    }
    given = " ".join(f"--property {name}={value}" for name, value in properties.items())
    here.openstack.batch(
        f"flavor create bm.silver --ram 1024 --vcpus 1 --disk 4 {_ZEROS} --property resources:CUSTOM_SILVER=1",
        f"image create debian --disk-format raw --container-format bare {given}",
    )
    server = here.openstack("server create by-server --flavor bm.silver --image debian --wait -f json")
    assert server["status"] == "ACTIVE"


def deploy_by_metalsmith(here: Site) -> None:
    """It says nothing of the image's format, which the agent finds out. (If ``--quiet``, it asks no Neutron.)"""
    command = ["--quiet", "deploy", "--resource-class", "bronze", "--hostname", "by-metalsmith", "--root-size", "4"]
    image = ["--image", here.images.image("disk.raw"), "--image-checksum", here.checksum]
    done = subprocess.run(
        [here.told["metalsmith"], *command, *image, "--wait", "180"],
        env={"HOME": str(here.home), "PYTHONWARNINGS": "ignore", **here.variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_images_that_cannot_be_written(here: Site, tmp_path: Path) -> None:
    """The node says which step failed, why, and what is on the disk; the next deployment begins anew."""
    (machine,) = here.machines
    for name, source, size in (("large", (), ("6G",)), ("disk", (tmp_path / "disk.raw",), ())):
        path = tmp_path / f"{name}.qcow2"
        verb = ("convert", "-O", "qcow2") if source else ("create", "-f", "qcow2")
        subprocess.run(["qemu-img", *verb, *source, path, *size], check=True, capture_output=True)
        here.files[path.name] = path.read_bytes()
    here.enrol(automated_clean=False)
    here.provide(machine.name)

    here.instance(machine.name, image_source=here.images.image("missing.raw"))
    said = here.refused(machine.name)
    assert "404" in said
    assert said.endswith("The image was not begun.")

    here.instance(machine.name, image_checksum="0" * 64)
    said = here.refused(machine.name)
    assert "deploy.write_image failed" in said
    assert "failed to verify against checksum" in said
    assert said.endswith("The image may be partly written.")

    large = here.checksum_of("large.qcow2")
    qcow2 = {"image_disk_format": "qcow2", "image_checksum": large}
    here.instance(machine.name, image_source=here.images.image("large.qcow2"), **qcow2)
    said = here.refused(machine.name)
    assert "deploy.write_image failed" in said
    assert said.endswith("The image may be partly written.")

    qcow2["image_checksum"] = here.checksum_of("disk.qcow2")
    here.instance(machine.name, image_source=here.images.image("disk.qcow2"), **qcow2)
    here.deploy(machine.name)
    drive_beside(machine, here.image)
    assert machine.steps == ["write_image"]


def test_an_image_of_a_partition(here: Site, tmp_path: Path) -> None:
    """The agent makes partitions, and writes the image into one. For a BIOS it installs no boot loader by default."""
    (machine,) = here.machines
    path = tmp_path / "root.ext4"
    path.write_bytes(bytes(16 * 2**20))
    subprocess.run(["mkfs.ext4", "-q", path], check=True)
    here.files["root.ext4"] = root = path.read_bytes()
    here.enrol(automated_clean=False)
    here.provide(machine.name)
    sizes = {"root_gb": "2", "swap_mb": "64", "ephemeral_gb": "1"}
    here.instance(
        machine.name,
        image_source=here.images.image("root.ext4"),
        image_checksum=here.checksum_of("root.ext4"),
        image_type="partition",
        capabilities="boot_mode:bios",
        **sizes,
    )
    said = here.refused(machine.name)
    assert "deploy.prepare_instance_boot failed" in said
    assert "Install of legacy BIOS bootloaders disabled" in said
    assert said.endswith("The image is written.")
    ephemeral, swap, drive, written = partitions(machine.disk).values()
    with Path(machine.disk).open("rb") as disk:
        contents = []
        for start, _ in (ephemeral, swap, drive, written):
            disk.seek(start)
            contents.append(disk.read(len(root)))
    assert [length // 2**20 for _, length in (ephemeral, swap, written)] == [1024, 64, 2048]
    assert contents[0][0x438:0x43A] == b"\x53\xef"  # ext4
    assert contents[1][0xFF6:0x1000] == b"SWAPSPACE2"
    assert is_config_drive(contents[2])
    assert contents[3] == root


def test_how_an_agent_ends(here: Site) -> None:
    """The controller switches the machine off; or it must not be off, and the agent is locked down before a reboot."""
    forced, always_on = here.machines
    here.enrol(automated_clean=False)
    here.openstack.batch(
        f"baremetal node set {forced.name} --driver-info deploy_forces_oob_reboot=true",
        f"baremetal node set {always_on.name} --disable-power-off",
    )
    here.provide(forced.name, always_on.name)
    for machine, last in ((forced, ["sync"]), (always_on, ["sync", "lockdown"])):
        here.instance(machine.name)
        here.deploy(machine.name)
        drive_beside(machine, here.image)
        assert machine.commands == ["execute_deploy_step", "install_bootloader", *last]
        assert here.node(machine.name)["power_state"] == "power on"
        assert machine.agents[-1].process.poll() is not None


def test_agents_that_wait(tmp_path: Path) -> None:
    """On fast track one agent cleans and deploys the machine."""
    with site(tmp_path, {"deploy": {"fast_track": True}}) as here:
        (machine,) = here.machines
        here.enrol()
        here.provide(machine.name)
        node = here.node(machine.name)
        assert (node["power_state"], len(machine.agents)) == ("power on", 1)
        here.instance(machine.name)
        here.deploy(machine.name)
        drive_beside(machine, here.image)
        assert len(machine.agents) == 1
        assert machine.steps == ["erase_devices_metadata", "write_image"]
        assert machine.commands == ["execute_clean_step", "execute_deploy_step", "install_bootloader", "power_off"]


def test_cleaning_by_hand(here: Site) -> None:
    """By a runbook with an erase and a step that needs a reboot, and aborted while a step is going on."""
    (machine,) = here.machines
    name = machine.name
    with Path(machine.disk).open("r+b") as disk:
        disk.write(here.image)
    here.enrol()
    steps = [
        {"interface": "deploy", "step": "flash", "args": {}, "order": 1},
        {"interface": "deploy", "step": "erase_devices_metadata", "args": {}, "order": 2},
    ]
    file = here.home / "runbook.json"
    file.write_text(json.dumps(steps))
    here.openstack(f"baremetal runbook create --name CUSTOM_ERASE --steps {file}")
    assert here.client.baremetal("PUT", "/runbooks/CUSTOM_ERASE/traits", {"traits": ["CUSTOM_ERASE"]}).ok
    here.openstack.batch(
        f"baremetal node add trait {name} CUSTOM_ERASE",
        f"baremetal node clean {name} --runbook CUSTOM_ERASE --wait 180",
    )
    assert machine.steps == ["flash", "erase_devices_metadata"]
    assert machine.commands == ["execute_clean_step", "execute_clean_step"]
    assert len(machine.agents) == 2
    assert partitions(machine.disk) == {}
    node = here.node(name)
    assert (node["provision_state"], node["power_state"], node["last_error"]) == ("manageable", "power off", None)

    here.clean(name, {"step": "pause", "args": {"seconds": 600}}, {"step": "erase_devices_metadata"})
    wait_until(lambda: len(machine.commands) == 3, "the agent to begin")
    here.wait_for(name, provision_state="clean wait", reservation=None)
    here.openstack(f"baremetal node abort {name}")
    node = here.wait_for(name, provision_state="clean failed", reservation=None)
    assert "By request, the cleaning was aborted at step deploy.pause" in node["last_error"]

    here.openstack(f"baremetal node manage {name} --wait")
    here.clean(name, {"step": "erase_devices_metadata"})
    here.wait_for(name, provision_state="manageable", reservation=None, last_error=None)
    assert machine.steps == ["flash", "erase_devices_metadata", "erase_devices_metadata"]
    assert len(machine.agents) == 4
