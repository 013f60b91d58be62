"""Operations on a machine that boots agents. Each story has a world of its own."""

from collections.abc import Callable
from typing import Any

from tests.conformance.agents.world import World

METADATA = {"interface": "deploy", "step": "erase_devices_metadata", "priority": 99, "abortable": True}
DEVICES = {"interface": "deploy", "step": "erase_devices", "priority": 10, "abortable": True}
BURN = {"interface": "deploy", "step": "burnin_cpu", "priority": 0, "abortable": False, "reboot_requested": False}
FLASH = {"interface": "deploy", "step": "flash_firmware", "priority": 0, "reboot_requested": True}
WRITE = {"interface": "deploy", "step": "write_image", "priority": 0}
INJECT = {"interface": "deploy", "step": "inject_files", "priority": 0}


def _enrol(world: World, **fields: Any) -> None:
    world.agent.steps = {"clean": [METADATA, DEVICES, BURN, FLASH], "deploy": [WRITE, INJECT], "service": []}
    body = {
        "name": world.name,
        "driver": "redfish",
        "resource_class": "gold",
        "deploy_interface": "direct",
        "driver_info": world.emulator.driver_info(world.system, deploy_iso=world.images.image("agent.iso")),
        "properties": {"capabilities": "boot_mode:uefi"},
        **fields,
    }
    world.uuid = world.ask("enrol", "POST", "/nodes", body)["uuid"]
    world.ask("port", "POST", "/ports", {"node_uuid": world.uuid, "address": world.mac})
    world.look("enrolled")
    world.provision("manage", "manage")


def _available(world: World, **fields: Any) -> None:
    _enrol(world, automated_clean=False, **fields)
    world.provision("provide", "provide")


def _deploy(world: World, drive: Any = None, **info: Any) -> None:
    told = {"image_source": world.images.image("disk.raw"), "image_disk_format": "raw", "image_checksum": "0" * 64}
    patch = [{"op": "add", "path": "/instance_info", "value": {**told, **info}}]
    world.ask("instance", "PATCH", f"/nodes/{world.name}", patch)
    world.provision("deploy", "active", **({"configdrive": drive} if drive else {}))


def automated_cleaning(world: World) -> None:
    """By the agent's own steps, as far as they have a priority."""
    _enrol(world)
    world.provision("provide", "provide")
    world.work("cleaning")


def rebooted(world: World) -> None:
    """A step of automated cleaning after which the machine is booted again."""
    _enrol(world)
    world.agent.steps["clean"] = [{**FLASH, "priority": 50}, DEVICES, METADATA]
    world.provision("provide", "provide")
    world.work("cleaning")


def deployed(world: World) -> None:
    """An image for the whole disk, until the instance is removed, which has the machine cleaned."""
    _available(world)
    _deploy(world)
    world.work("deployment")
    patch = [{"op": "add", "path": "/automated_clean", "value": True}]
    world.ask("clean afterwards", "PATCH", f"/nodes/{world.name}", patch)
    world.provision("undeploy", "deleted")
    world.work("cleaning")


def config_drive(world: World) -> None:
    """Made of an object."""
    _available(world)
    _deploy(world, {"meta_data": {"hostname": "h"}, "user_data": "#!/bin/sh\n", "network_data": {"links": []}})
    world.work("deployment")


def hash_of_os(world: World) -> None:
    """The image's hash, by the name of the algorithm, and proxies."""
    info = world.emulator.driver_info(world.system, deploy_iso=world.images.image("agent.iso"))
    info |= {"image_http_proxy": "http://192.0.2.9:3128", "image_no_proxy": "127.0.0.1"}
    _available(world, driver_info=info)
    _deploy(world, image_checksum=None, image_os_hash_algo="sha512", image_os_hash_value="0" * 128)
    world.work("deployment")


def partition(world: World) -> None:
    """An image of a partition, whose boot loader is installed."""
    uuids = {"root uuid": "11111111-1111-4111-8111-111111111111", "efi system partition uuid": "ABCD-1234"}
    world.agent.results["get_partition_uuids"] = uuids
    _available(world)
    _deploy(world, image_type="partition", root_gb=4, swap_mb=512)
    world.work("deployment")


def stays_on(world: World) -> None:
    """A machine that must not be off."""
    _available(world)
    patch = [{"op": "add", "path": "/disable_power_off", "value": True}]
    world.ask("must not be off", "PATCH", f"/nodes/{world.name}", patch)
    _deploy(world)
    world.work("deployment")


def forced_reboot(world: World) -> None:
    """A machine whose agent does not shut it down."""
    info = world.emulator.driver_info(world.system, deploy_iso=world.images.image("agent.iso"))
    _available(world, driver_info={**info, "deploy_forces_oob_reboot": True})
    _deploy(world)
    world.work("deployment")


def manual_cleaning(world: World) -> None:
    """With steps that are named, one of which has the machine booted again."""
    _enrol(world)
    steps = [{"interface": "deploy", "step": name} for name in ("burnin_cpu", "flash_firmware", "erase_devices")]
    world.provision("clean", "clean", clean_steps=steps)
    world.work("cleaning")


def unknown_step(world: World) -> None:
    """The agent lacks it."""
    _enrol(world)
    world.provision("clean", "clean", clean_steps=[{"interface": "deploy", "step": "nosuch"}])
    world.work("cleaning")


def failed_cleaning(world: World) -> None:
    """The agent says why its step has failed."""
    world.agent.failures["execute_clean_step"] = "the disk is frozen"
    _enrol(world)
    world.provision("provide", "provide")
    world.work("cleaning")


def failed_deployment(world: World) -> None:
    """The agent says why it cannot write the image."""
    world.agent.failures["execute_deploy_step"] = "the checksum is wrong"
    _available(world)
    _deploy(world)
    world.work("deployment")


def failed_boot_loader(world: World) -> None:
    """The image is written, but its boot loader cannot be installed."""
    world.agent.failures["install_bootloader"] = "no grub"
    _available(world)
    _deploy(world)
    world.work("deployment")


def changed_managers(world: World) -> None:
    """Automated cleaning begins again."""
    _enrol(world)
    world.agent.steps["clean"] = [METADATA, {**BURN, "priority": 20}]
    world.provision("provide", "provide")
    world.beat_once("first heartbeat")
    _change(world, "clean")
    world.beat_once("refused step")
    _accept(world)
    world.work("cleaning")


def changed_managers_in_manual_cleaning(world: World) -> None:
    """The step is repeated."""
    _enrol(world)
    steps = [{"interface": "deploy", "step": name} for name in ("erase_devices", "burnin_cpu")]
    world.provision("clean", "clean", clean_steps=steps)
    world.beat_once("first heartbeat")
    _change(world, "clean")
    world.beat_once("refused step")
    _accept(world)
    world.work("cleaning")


def changed_managers_in_deployment(world: World) -> None:
    """The agent refuses to write the image."""
    _available(world)
    _change(world, "deploy")
    _deploy(world)
    world.work("deployment")


def agent_without_sense(world: World) -> None:
    """It does not say which steps it has."""
    world.agent.failures["get_clean_steps"] = "no"
    _enrol(world)
    world.provision("provide", "provide")
    world.work("cleaning")


def in_maintenance(world: World) -> None:
    """The agent reports while its node is in maintenance."""
    _enrol(world)
    world.provision("provide", "provide")
    world.ask("maintenance", "PUT", f"/nodes/{world.name}/maintenance", {"reason": "fan"})
    world.beat_once("heartbeat")


def _change(world: World, kind: str) -> None:
    """The step that is executed, or the next one, is refused."""
    world.agent.failures[f"execute_{kind}_step"] = "version"
    world.agent.statuses[f"execute_{kind}_step"] = "CLEAN_VERSION_MISMATCH"
    world.agent.versions = {"generic_hardware_manager": "1.3"}


def _accept(world: World) -> None:
    world.agent.failures.clear()
    world.agent.statuses.clear()


def aborted_cleaning(world: World) -> None:
    """Before the agent has reported."""
    _enrol(world)
    world.provision("provide", "provide")
    world.provision("abort", "abort")


def aborted_step(world: World) -> None:
    """While the agent executes a step that may be aborted."""
    _enrol(world)
    world.agent.is_quick = False
    world.provision("provide", "provide")
    world.beat_once("first heartbeat")
    world.provision("abort", "abort")


def aborted_deployment(world: World) -> None:
    """While the machine boots the agent."""
    _available(world)
    _deploy(world)
    world.provision("abort", "abort")


Story = Callable[[World], None]

ALL: tuple[Story, ...] = (
    *(automated_cleaning, rebooted, deployed, config_drive, hash_of_os, partition, stays_on, forced_reboot),
    *(manual_cleaning, unknown_step, failed_cleaning, failed_deployment, failed_boot_loader),
    *(changed_managers, changed_managers_in_manual_cleaning, changed_managers_in_deployment),
    *(agent_without_sense, in_maintenance),
    *(aborted_cleaning, aborted_step, aborted_deployment),
)
