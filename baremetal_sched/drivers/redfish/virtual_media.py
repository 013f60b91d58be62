"""Virtual media by Redfish: inserting and ejecting images, and booting from them."""

import time
from collections.abc import Collection, Iterator
from typing import Any

from sushy import VirtualMediaType, exceptions
from sushy.resources.manager.virtual_media import VirtualMedia
from sushy.resources.system.system import System

from baremetal_sched.drivers import boot_settings, progress, ramdisk
from baremetal_sched.drivers.boot_settings import ImageUrl
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.drivers.interfaces.provisioning import BootInterface
from baremetal_sched.drivers.redfish import connection, failures
from baremetal_sched.drivers.redfish.driver_info import Target
from baremetal_sched.drivers.redfish.hardware_type import DEPLOY_ISO, RESCUE_ISO
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.machines.states import RESCUE, RESCUING
from baremetal_sched.masking import MASK, mask_text

CDROM = "cdrom"
#: What may be put into which device of the machine. A disc goes where only DVDs are said to go, too.
_MEDIA: dict[str, tuple[VirtualMediaType, ...]] = {
    CDROM: (VirtualMediaType.CD, VirtualMediaType.DVD),
    "disk": (VirtualMediaType.USB_STICK,),
    "floppy": (VirtualMediaType.FLOPPY,),
}
#: How the controller is told to fetch what is not on a web server.
_PROTOCOLS = {"nfs": "NFS", "cifs": "CIFS", "smb": "CIFS"}
#: What an image may be fetched by, if a client inserts it by hand.
SCHEMES = ("http", "https", *_PROTOCOLS)

#: A controller has a few devices; one that says it has thousands is not asked for all of them.
_MOST_DEVICES = 32
_LONGEST = 500
#: How often a controller is asked that fails at the moment, for it may still be busy with the image before, and seconds
#: between two times.
_ATTEMPTS, _PAUSE = 3, 3.0


def show(machine: Machine) -> list[dict[str, Any]]:
    """The devices: ``media_types``, ``inserted`` and ``image`` of each. Raises a SchedulerError."""
    with connection.system(machine) as system:
        return [_shown(device) for device in _devices(system, Target.of(machine))]


def _shown(device: VirtualMedia) -> dict[str, Any]:
    # A query may be a signature.
    image = device.image.partition("?")[0] if isinstance(device.image, str) else None
    return {
        "media_types": [kind.value for kind in device.media_types or () if kind is not None],
        "inserted": device.inserted if isinstance(device.inserted, bool) else None,
        "image": mask_text(image[:_LONGEST]) if image else None,
    }


def insert(machine: Machine, device_type: str, image: ImageUrl) -> None:
    """Insert an image into the first device of this type that takes it, in place of what is in there.

    Waits until the controller says that it is inserted. Raises a SchedulerError.
    """
    target = Target.of(machine)
    with connection.system(machine) as system:
        devices = [device for device in _devices(system, target) if _takes(device, device_type)]
        if not devices:
            raise failures.refused(target, f"has no virtual media device of the type '{device_type}'.")
        for device in devices:
            _eject(device)
        refusals = []
        for device in devices:
            refusal = _try(device, image, target)
            if refusal is None:
                _await_inserted(machine, device, image, target)
                return
            refusals.append(refusal)
        raise failures.refused(target, f"did not insert {image.shown} into '{device_type}': {refusals[0]}")


def _try(device: VirtualMedia, image: ImageUrl, target: Target) -> str | None:
    """Insert the image into this device; returns why the controller refuses that. Raises what else goes wrong."""
    for attempt in range(1, _ATTEMPTS + 1):
        progress.note()
        try:
            device.insert_media(
                image.url,
                username=image.username,
                password=image.password,
                transfer_protocol=_PROTOCOLS.get(image.scheme),
            )
        except exceptions.MissingActionError:
            return "the device takes no images from a network."
        except Exception as error:
            # sushy looks into a refusal for what is missing, and fails if that has not what it looks for.
            refusal = error if isinstance(error, exceptions.HTTPError) else error.__context__
            if isinstance(refusal, exceptions.AccessError):
                raise refusal from None
            if not isinstance(refusal, exceptions.HTTPError):
                raise
            if not isinstance(refusal, exceptions.ServerSideError) or attempt == _ATTEMPTS:
                return _without(failures.translated(refusal, target).details["reason"], image)
            time.sleep(_PAUSE)
        else:
            return None
    return None


def _without(text: str, image: ImageUrl) -> str:
    """What a controller said, which may repeat how the image is fetched."""
    text = text.replace(image.password, MASK) if image.password else text
    _, mark, query = image.url.partition("?")
    return text.replace(f"{mark}{query}", f"{mark}{MASK}") if query else text


def _await_inserted(machine: Machine, device: VirtualMedia, image: ImageUrl, target: Target) -> None:
    """Wait until the controller has the image. One that does not say whether it has is believed."""
    options = machine.settings.redfish
    deadline = time.monotonic() + options.vmedia_insert_timeout
    while not _is_inserted(device):
        if time.monotonic() >= deadline:
            raise failures.refused(
                target,
                f"took {image.shown}, but does not say that it is inserted, {options.vmedia_insert_timeout:g} seconds "
                "later. Can the controller fetch it?",
            )
        progress.note()
        time.sleep(options.vmedia_insert_poll_interval)


def _is_inserted(device: VirtualMedia) -> bool:
    try:
        device.refresh(force=True)
    except exceptions.ServerSideError:  # it is busy with that
        return False
    return device.inserted is not False


def eject(machine: Machine, device_types: Collection[str] = ()) -> None:
    """Eject what is in the devices of these types; of all, if none is named. Raises a SchedulerError.

    A device that is empty is left alone, and so is a machine without any, unless types are named.
    """
    target = Target.of(machine)
    with connection.system(machine) as system:
        found = list(_all_devices(system))
        for name in device_types:
            if not any(_takes(device, name) for device in found):
                raise failures.refused(target, f"has no virtual media device of the type '{name}'.")
        for device in found:
            if not device_types or any(_takes(device, name) for name in device_types):
                _eject(device)


def _eject(device: VirtualMedia) -> None:
    """Eject the image of the device, unless it is empty, or was emptied meanwhile."""
    if not device.inserted and not device.image:
        return
    progress.note()
    try:
        device.eject_media()
    except exceptions.MissingActionError:
        return
    except exceptions.HTTPError:
        device.refresh(force=True)
        if device.inserted:
            raise


def _takes(device: VirtualMedia, device_type: str) -> bool:
    return any(kind in (device.media_types or ()) for kind in _MEDIA[device_type])


def _devices(system: System, target: Target) -> list[VirtualMedia]:
    """The devices of the machine: newer controllers have them with it, older ones with themselves."""
    found = list(_all_devices(system))
    if not found:
        raise failures.refused(target, "has no virtual media, so that images cannot be inserted.")
    return found


def _all_devices(system: System) -> Iterator[VirtualMedia]:
    found = list(_members(system))
    if found:
        yield from found
        return
    for manager in _managers(system):
        yield from _members(manager)


def _managers(system: System) -> list[Any]:
    try:
        return list(system.managers)[:_MOST_DEVICES]
    except exceptions.MissingAttributeError:
        return []


def _members(owner: Any) -> Iterator[VirtualMedia]:
    """The devices of a machine or of a controller; none if it has no virtual media."""
    try:
        collection = owner.virtual_media
        names = collection.members_identities[:_MOST_DEVICES]
    except (exceptions.MissingAttributeError, exceptions.ResourceNotFoundError):
        return
    for name in names:
        try:
            yield collection.get_member(name)
        except exceptions.ResourceNotFoundError:
            continue


def require_type(name: Any) -> str:
    """The type of device that a method of a vendor calls ``name``. Raises ValueError."""
    types = {"cd": CDROM, "dvd": CDROM, "usb": "disk", "usbstick": "disk", "floppy": "floppy"}
    known = types.get(name.lower()) if isinstance(name, str) else None
    if known is None:
        raise ValueError(f"has to be one of cd, dvd, usb and floppy, not {str(name)[:40]!r}")
    return known


class RedfishVirtualMedia(BootInterface):
    """The controller fetches an ISO image, and the machine boots it as if it were a disc in its drive."""

    def validate(self, machine: Machine) -> None:
        Target.of(machine)
        for name in (DEPLOY_ISO, RESCUE_ISO):
            if machine.driver_info.get(name):
                ImageUrl.parse(f"driver_info/{name}", machine.driver_info[name])
        if machine.interfaces["deploy"] == "ramdisk":
            self.validate_ramdisk_instance(machine)
        else:
            _agent_iso(machine)

    def validate_ramdisk_instance(self, machine: Machine) -> None:
        ramdisk.require_boot_iso(machine)
        boot_settings.wanted_mode(machine)

    def prepare_ramdisk(self, machine: Machine) -> Effect | None:
        insert(machine, CDROM, _agent_iso(machine))
        return boot_settings.apply(machine, CDROM, persistent=False)

    def clean_up_ramdisk(self, machine: Machine) -> Effect | None:
        eject(machine)
        return None

    def prepare_instance(self, machine: Machine) -> Effect | None:
        if machine.interfaces["deploy"] != "ramdisk":
            eject(machine)
            return Driver(machine).management.set_boot_device(machine, "disk", persistent=True)
        insert(machine, CDROM, ramdisk.require_boot_iso(machine))
        return boot_settings.apply(machine, CDROM, persistent=True)

    def clean_up_instance(self, machine: Machine) -> Effect | None:
        eject(machine)
        return boot_settings.take_back(machine)


def _agent_iso(machine: Machine) -> ImageUrl:
    """Return the image with the agent. Raises InvalidValue if it is missing or not valid."""
    name = RESCUE_ISO if machine.provision_state in (RESCUING, RESCUE) else DEPLOY_ISO
    value = machine.driver_info.get(name)
    if not value:
        raise InvalidValue(
            message=f"driver_info/{name} is missing: the URL (http or https) of an ISO image with an agent, which the "
            "machine is to boot. Of a kernel and a ramdisk no ISO is built here."
        )
    return ImageUrl.parse(f"driver_info/{name}", value)
