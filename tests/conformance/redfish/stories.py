"""Operations on a machine, from enrolment to the end of an instance. Each story has a world of its own."""

from typing import Any

from tests.conformance.redfish.world import World

PASSWORD = "emulated-password-1"


def _enrol(world: World, **driver_info: Any) -> None:
    body = {
        "name": "machine",
        "driver": "redfish",
        "resource_class": "gold",
        "automated_clean": False,
        "driver_info": world.emulator.driver_info(world.system, **driver_info),
    }
    world.ask("enrol", "POST", "/nodes", body)


def _in_use(world: World) -> None:
    """A node that is manageable."""
    _enrol(world)
    node = world.provision("manage", "manage")
    world.note("vendor", node["properties"].get("vendor"))


def what_is_missing(world: World) -> None:
    """A node whose ``driver_info`` lacks something or is wrong: what is found at ``validate`` and at ``manage``."""
    _enrol(world)
    world.change("image", instance_info={"boot_iso": world.images.image()})
    world.validate("complete")
    whole = world.emulator.driver_info(world.system)
    for name, value in (
        ("redfish_address", None),
        ("redfish_address", "ftp://127.0.0.1"),
        ("redfish_address", "http://"),
        ("redfish_address", ""),
        ("redfish_system_id", None),
        ("redfish_system_id", "no-path"),
        ("redfish_system_id", ""),
        ("redfish_username", None),
        ("redfish_password", None),
        ("redfish_verify_ca", "maybe"),
        ("redfish_verify_ca", "/nonexistent/authorities.pem"),
        ("redfish_verify_ca", 3),
        ("redfish_auth_type", "token"),
        ("redfish_auth_type", "Basic"),
    ):
        said = f"{name} = {value!r}"
        if value is not None or name in whole:
            world.change(f"{said} (change)", **{f"driver_info__{name}": value})
        world.validate(said)
        world.change(f"{said} (back)", driver_info=whole)


def refused(world: World) -> None:
    """A controller that does not let us in, or is not there."""
    wrong = {
        "password": {"redfish_password": "another-password-2"},
        "system": {"redfish_system_id": "/redfish/v1/Systems/nobody"},
        "address": {"redfish_address": "http://127.0.0.1:1"},
    }
    _enrol(world)
    whole = world.emulator.driver_info(world.system)
    for what, told in wrong.items():
        world.change(f"wrong {what}", driver_info=whole | told)
        world.provision(f"manage with a wrong {what}", "manage")
        world.ask(f"boot device with a wrong {what}", "GET", "/nodes/machine/management/boot_device")
        world.power(f"power on with a wrong {what}", "power on")
    world.change("all is right", driver_info=whole)
    world.provision("manage", "manage")


def switched(world: World) -> None:
    """Power, in every way."""
    _in_use(world)
    for number, target in enumerate(
        (
            *("power on", "power on", "rebooting", "soft rebooting", "power off", "power off", "rebooting"),
            *("soft power off", "soft rebooting", "power off"),
        )
    ):
        world.power(f"{number} {target}", target)


def managed(world: World) -> None:
    """Boot device, boot mode, secure boot, indicators, NMI."""
    _in_use(world)
    device = "/management/boot_device"
    supported = world.ask("supported", "GET", f"/nodes/machine{device}/supported") or {}
    world.note("boot devices", sorted(supported.get("supported_boot_devices", [])))
    world.note("boot device", world.ask("get boot device", "GET", f"/nodes/machine{device}"))
    for name, persistent in (("pxe", False), ("cdrom", True), ("disk", True), ("bios", False), ("wanboot", False)):
        world.do(f"boot from {name}", device, {"boot_device": name, "persistent": persistent})
        world.note(f"boot device after {name}", world.ask(f"get {name}", "GET", f"/nodes/machine{device}"))
    for number, mode in enumerate(("bios", "uefi", "uefi")):
        world.do(f"{number} boot mode {mode}", "/states/boot_mode", {"target": mode})
    for number, wanted in enumerate((True, True, False)):
        world.do(f"{number} secure boot {wanted}", "/states/secure_boot", {"target": wanted})
    world.do("nmi", "/management/inject_nmi", {})
    lamps = world.ask("list indicators", "GET", "/nodes/machine/management/indicators") or {"indicators": []}
    world.note("indicators", sorted(lamps["indicators"], key=lambda each: str(each["name"])))


def inspected(world: World) -> None:
    """Inspection: ports and inventory."""
    _in_use(world)
    world.provision("inspect", "inspect")
    ports = world.ask("ports", "GET", "/ports?node=machine&fields=address,pxe_enabled") or {}
    # The machines' addresses differ at the end.
    found_ports = sorted((each["address"][:-2], each["pxe_enabled"]) for each in ports.get("ports", []))
    world.note("addresses", found_ports)
    found = world.ask("inventory", "GET", "/nodes/machine/inventory") or {}
    world.note("inventory", found.get("inventory"))


def deployed(world: World) -> None:
    """An image from virtual media, started and ended."""
    _in_use(world)
    world.power("power off", "power off")
    world.provision("provide", "provide")
    world.validate("without an image")
    world.provision("deploy nothing", "active")
    world.provision("after nothing", "deleted")
    world.change("image", instance_info={"boot_iso": world.images.image()})
    world.validate("with an image")
    world.provision("deploy", "active")
    _media(world, "deployed")
    world.power("reboot", "rebooting")
    world.provision("undeploy", "deleted")
    _media(world, "undeployed")


def attached(world: World) -> None:
    """Virtual media by hand, and the vendor's method that ejects them."""
    _in_use(world)
    for name, body in (
        ("cdrom", {"device_type": "cdrom", "image_url": world.images.image()}),
        ("again", {"device_type": "cdrom", "image_url": world.images.image("other.iso")}),
        ("missing", {"device_type": "floppy", "image_url": world.images.image("missing.img")}),
    ):
        world.ask(f"attach {name}", "POST", "/nodes/machine/vmedia", body)
        world.look(f"after {name}")
        _media(world, f"after {name}")
    world.ask("detach", "DELETE", "/nodes/machine/vmedia?device_types=cdrom")
    world.look("after detaching")
    _media(world, "after detaching")
    body = {"device_type": "cdrom", "image_url": world.images.image()}
    world.ask("attach for the vendor", "POST", "/nodes/machine/vmedia", body)
    world.look("after attaching")
    for name, arguments in (("floppy", {"boot_device": "floppy"}), ("wrong", {"boot_device": "drum"}), ("all", {})):
        path = "/nodes/machine/vendor_passthru?method=eject_vmedia"
        world.ask(f"eject {name}", "POST", path, arguments)
        world.look(f"after ejecting {name}")
        _media(world, f"after ejecting {name}")


def configured(world: World) -> None:
    """BIOS settings, in cleaning steps."""
    _in_use(world)
    world.look("before")
    _bios(world, "before")
    steps = {
        "one": ("bios", "apply_configuration", {"settings": [{"name": "QuietBoot", "value": "false"}]}),
        "unknown": ("bios", "apply_configuration", {"settings": [{"name": "Nonexistent", "value": "1"}]}),
        "nothing": ("bios", "apply_configuration", {"settings": []}),
        "wrong": ("bios", "apply_configuration", {"settings": "QuietBoot"}),
        "reset": ("bios", "factory_reset", {}),
    }
    for name, (interface, step, arguments) in steps.items():
        _clean(world, name, interface, step, arguments)
        _bios(world, f"after {name}")


def updated(world: World) -> None:
    """Firmware, in cleaning steps."""
    _in_use(world)
    for name, settings in {
        "bios": [{"component": "bios", "url": world.images.image("bios.bin")}],
        "unknown": [{"component": "toaster", "url": world.images.image("bios.bin")}],
        "no url": [{"component": "bios"}],
        "nothing": [],
    }.items():
        _clean(world, name, "firmware", "update", {"settings": settings})
        found = world.ask(f"firmware after {name}", "GET", "/nodes/machine/firmware") or {}
        shown = [(each["component"], each["current_version"]) for each in found.get("firmware", [])]
        world.note(f"firmware after {name}", sorted(shown))


def _clean(world: World, name: str, interface: str, step: str, arguments: dict[str, Any]) -> None:
    steps = [{"interface": interface, "step": step, "args": arguments}]
    node = world.provision(f"clean: {name}", "clean", clean_steps=steps, disable_ramdisk=True)
    if node["provision_state"] == "clean wait":
        node = world.provision(f"end of waiting: {name}", "abort")
    if node["provision_state"] == "clean failed":
        world.call("DELETE", "/nodes/machine/maintenance")
        world.call("PUT", "/nodes/machine/states/provision", {"target": "manage"})
        world.look(f"after {name} failed")


def _bios(world: World, name: str) -> None:
    found = world.ask(f"settings {name}", "GET", "/nodes/machine/bios") or {}
    world.note(f"BIOS {name}", {each["name"]: each["value"] for each in found.get("bios", [])})


def _media(world: World, name: str) -> None:
    system = world.emulator.path(world.system)
    found = {device: world.emulator.get(f"{system}/VirtualMedia/{device}") for device in ("Cd", "Floppy")}
    world.note(f"media {name}", {device: each.get("Inserted", False) for device, each in found.items()})


#: With fake systems, and with those of libvirt.
FAKE = (what_is_missing, refused, switched, managed, inspected, deployed, attached, configured)
LIBVIRT = (inspected, configured, updated, managed, switched)
