"""Virtual media by Redfish: inserting and ejecting images, and booting from them."""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any

from sushy import VirtualMediaType, exceptions
from sushy.resources.manager.virtual_media import VirtualMedia
from sushy.resources.system.system import System

from baremetal_sched.drivers import boot_settings, progress, ramdisk
from baremetal_sched.drivers.boot_settings import ImageUrl
from baremetal_sched.drivers.interfaces.provisioning import BootInterface
from baremetal_sched.drivers.redfish import connection, failures
from baremetal_sched.drivers.redfish.documents import member
from baremetal_sched.drivers.redfish.driver_info import RedfishTarget
from baremetal_sched.drivers.redfish.hardware_type import DEPLOY_ISO, RESCUE_ISO
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.machines.states import RESCUE, RESCUING
from baremetal_sched.masking import MASK, mask_text

CDROM = "cdrom"
#: The media types by type of device. A disc may also be inserted where only DVDs are reported.
_MEDIA: dict[str, tuple[VirtualMediaType, ...]] = {
    CDROM: (VirtualMediaType.CD, VirtualMediaType.DVD),
    "disk": (VirtualMediaType.USB_STICK,),
    "floppy": (VirtualMediaType.FLOPPY,),
}
#: The types of devices by the names that clients of eject_vmedia use.
NAMES = {"cd": CDROM, "dvd": CDROM, "usb": "disk", "usbstick": "disk", "floppy": "floppy"}
#: The types of devices by words in their ids and names.
_WORDS = {"cd": CDROM, "dvd": CDROM, "usb": "disk", "floppy": "floppy"}
#: The transfer protocols for images that are not on a web server.
_PROTOCOLS = {"nfs": "NFS", "cifs": "CIFS", "smb": "CIFS"}
#: The schemes of images that a client inserts.
SCHEMES = ("http", "https", *_PROTOCOLS)

#: Controllers have a few devices; if one reports thousands, only the first are used.
_MOST_DEVICES = 32
_LONGEST = 500
#: The number of attempts at a controller that fails, as it may be busy with the previous image, and the seconds between
#: two attempts.
_ATTEMPTS, _PAUSE = 3, 3.0


def show(machine: Machine) -> list[dict[str, Any]]:
    """Return ``media_types``, ``inserted`` and ``image`` of each device. Raises a SchedulerError."""
    with connection.system(machine) as system:
        return [_description(device) for device in _devices(system, RedfishTarget.of(machine))]


def _description(device: VirtualMedia) -> dict[str, Any]:
    # A query may be a signature.
    image = device.image.partition("?")[0] if isinstance(device.image, str) else None
    return {
        "media_types": [kind.value for kind in device.media_types or () if kind is not None],
        "inserted": device.inserted if isinstance(device.inserted, bool) else None,
        "image": mask_text(image[:_LONGEST]) if image else None,
    }


def insert(machine: Machine, device_type: str, image: ImageUrl) -> None:
    """Insert an image into the first device of this type that accepts it, in place of the image in there.

    Waits until the controller reports that it is inserted. Raises a SchedulerError.
    """
    target = RedfishTarget.of(machine)
    with connection.system(machine) as system:
        devices = _fitting(_devices(system, target), device_type)
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
        raise failures.refused(target, f"did not insert {image.without_query} into '{device_type}': {refusals[0]}")


def _try(device: VirtualMedia, image: ImageUrl, target: RedfishTarget) -> str | None:
    """Insert the image into this device; return why the controller refuses it, or None. Raises other errors."""
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
            # sushy looks into a refusal for the name of a missing property, and fails if it is not there.
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
    """Return a controller's text without the credentials of the image, which it may repeat."""
    text = text.replace(image.password, MASK) if image.password else text
    _, mark, query = image.url.partition("?")
    return text.replace(f"{mark}{query}", f"{mark}{MASK}") if query else text


def _await_inserted(machine: Machine, device: VirtualMedia, image: ImageUrl, target: RedfishTarget) -> None:
    """Wait until the controller reports the image as inserted, or if it reports nothing about that, do not wait."""
    options = machine.settings.redfish
    deadline = time.monotonic() + options.vmedia_insert_timeout
    while not _is_inserted(device):
        if time.monotonic() >= deadline:
            raise failures.refused(
                target,
                f"took {image.without_query}, but does not say that it is inserted, "
                f"{options.vmedia_insert_timeout:g} seconds later. Can the controller fetch it?",
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
    """Eject the images of the devices of these types; of all devices if no type is named. Raises a SchedulerError.

    Empty devices are left alone, and so is a machine without devices, unless types are named.
    """
    target = RedfishTarget.of(machine)
    with connection.system(machine) as system:
        found = _all_devices(system)
        for name in device_types:
            if not _fitting(found, name):
                raise failures.refused(target, f"has no virtual media device of the type '{name}'.")
        fitting = {id(device) for name in device_types for device in _fitting(found, name)}
        for device in found:
            if not device_types or id(device) in fitting:
                _eject(device)


def _eject(device: VirtualMedia) -> None:
    """Eject the image of the device, unless it is empty, or is emptied by others."""
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


def _fitting(devices: Sequence[VirtualMedia], device_type: str) -> list[VirtualMedia]:
    """Return the devices of this type.

    Some controllers list no media types: then a device whose id or name says the type, or for a disc, one that says
    nothing of any type.
    """
    listed = [device for device in devices if any(kind in (device.media_types or ()) for kind in _MEDIA[device_type])]
    silent = [device for device in devices if not member(device.json, "MediaTypes")]
    named = [device for device in silent if device_type in _types_in_names(device)]
    return listed or named or [each for each in silent if device_type == CDROM and not _types_in_names(each)]


def _types_in_names(device: VirtualMedia) -> set[str]:
    said = f"{device.identity} {device.name}".lower()
    return {device_type for word, device_type in _WORDS.items() if word in said}


def _devices(system: System, target: RedfishTarget) -> list[VirtualMedia]:
    """Return the devices of the machine. Raises ControllerError if there are none."""
    found = _all_devices(system)
    if not found:
        raise failures.refused(target, "has no virtual media, so that images cannot be inserted.")
    return found


def _all_devices(system: System) -> list[VirtualMedia]:
    """Return the devices of the machine: newer controllers list them with the machine, older ones with themselves."""
    found = list(_members(system))
    managers: list[Any] = []
    if not found:
        with suppress(exceptions.MissingAttributeError, *failures.NONSENSE):
            managers = list(system.managers)[:_MOST_DEVICES]
    return found or [device for manager in managers for device in _members(manager)]


def _members(owner: Any) -> Iterator[VirtualMedia]:
    """Yield the devices of a machine or of a controller; none if it has no virtual media."""
    try:
        collection = owner.virtual_media
        names = collection.members_identities[:_MOST_DEVICES]
    except (exceptions.MissingAttributeError, exceptions.ResourceNotFoundError, *failures.NONSENSE):
        return
    for name in names:
        try:
            yield collection.get_member(name)
        except exceptions.ResourceNotFoundError:
            continue


class RedfishVirtualMedia(BootInterface):
    """The controller fetches an ISO image, and the machine boots it as if it were a disc in its drive."""

    def validate(self, machine: Machine) -> None:
        RedfishTarget.of(machine)
        for name in (DEPLOY_ISO, RESCUE_ISO):
            if machine.driver_info.get(name):
                ImageUrl.parse(f"driver_info/{name}", machine.driver_info[name])
        if machine.interfaces["deploy"] == "ramdisk":
            self.validate_ramdisk_instance(machine)
        else:
            _agent_iso(machine)

    def validate_ramdisk_instance(self, machine: Machine) -> None:
        ramdisk.require_boot_iso(machine)
        boot_settings.required_mode(machine)

    def prepare_ramdisk(self, machine: Machine) -> Effect | None:
        insert(machine, CDROM, _agent_iso(machine))
        # Agents are rarely signed.
        return boot_settings.apply(machine, CDROM, persistent=False, secure=False)

    def clean_up_ramdisk(self, machine: Machine) -> Effect | None:
        eject(machine)
        return None

    def prepare_instance(self, machine: Machine) -> Effect | None:
        if machine.interfaces["deploy"] != "ramdisk":
            eject(machine)
            return boot_settings.apply(machine, "disk", persistent=True)
        insert(machine, CDROM, ramdisk.require_boot_iso(machine))
        return boot_settings.apply(machine, CDROM, persistent=True)

    def clean_up_instance(self, machine: Machine) -> Effect | None:
        eject(machine)
        return boot_settings.take_back(machine)


def _agent_iso(machine: Machine) -> ImageUrl:
    """Return the image with the agent. Raises InvalidValue if it is missing or not valid."""
    name = RESCUE_ISO if machine.provision_state in (RESCUING, RESCUE) else DEPLOY_ISO
    value, where = machine.driver_info.get(name), f"driver_info/{name}"
    if not value and name == DEPLOY_ISO:
        general = machine.settings.conductor
        by_arch = general.deploy_iso_by_arch.get(str(machine.properties.get("cpu_arch")))
        value, where = by_arch or general.deploy_iso, "[conductor] deploy_iso"
    if not value:
        raise InvalidValue(
            message=f"driver_info/{name} is missing: the URL (http or https) of an ISO image with an agent, which the "
            "machine is to boot. Of a kernel and a ramdisk no ISO is built here."
        )
    return ImageUrl.parse(where, value)
