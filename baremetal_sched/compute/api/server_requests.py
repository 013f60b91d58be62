"""The requests of clients that create or rebuild servers: looked up, checked, and refused if bare metal does not
support them."""

import secrets
import string
from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.compute import availability_zones, flavors, keypairs, own_copies, server_metadata
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.policies import REQUESTED_DESTINATION, name_of
from baremetal_sched.compute.network_addresses import compact_ipv6
from baremetal_sched.compute.rebuilding import Rebuild
from baremetal_sched.compute.schemas.form import to_boolean, to_integer
from baremetal_sched.compute.server_history import ServerRequester
from baremetal_sched.compute.servers import MOST_AT_ONCE, NewServers
from baremetal_sched.errors import InvalidValue, NotFoundError
from baremetal_sched.errors.compute import FlavorWithoutDisk
from baremetal_sched.image import images
from baremetal_sched.image.access import ImageRequester as ImageRequester

_LETTERS = string.ascii_letters + string.digits
_PASSWORD_LENGTH = 12

#: Members of a body that are refused if they ask for something, and why.
_REFUSED = {
    "personality": "files cannot be injected; use user_data.",
    "trusted_image_certificates": "signatures of images are not checked.",
    "block_device_mapping": "there are no volumes.",
    "host": "a conductor has no servers of its own. Name a node with hypervisor_hostname, or a zone.",
}

#: Hints that would restrict the choice of a machine, in a way that is not implemented or makes no sense.
_REFUSED_HINTS = ("same_host", "group", "query", "build_near_host_ip")

_LOCAL_IMAGE = {"source_type": "image", "destination_type": "local"}


def requester_of(call: ComputeCall) -> ServerRequester:
    """Return who asks, and by which request."""
    return ServerRequester(call.project_id, call.user_id, call.request_id)


def new_password(given: str | None) -> str:
    """Return the administrator's password of a server: that which was given, or a new one."""
    return given or "".join(secrets.choice(_LETTERS) for _ in range(_PASSWORD_LENGTH))


def new_servers(call: ComputeCall, session: Session, body: Mapping[str, Any], password: str) -> NewServers:
    """Return the request that a body of ``schemas.servers.create`` describes.

    Raises InvalidValue for unknown names and invalid values; NotAllowed, FlavorWithoutDisk.
    """
    asked = body["server"]
    _require_destination(call, asked)
    _refuse(asked)
    zone, node = _place(call, session, asked)
    return NewServers(
        name=asked["name"],
        flavor=_with_disk(call, flavor_copy(call, session, str(asked["flavorRef"]))),
        image=image_copy(call, session, _image_ref(asked)),
        admin_password=password,
        count=_count(asked),
        hostname=asked.get("hostname"),
        description=asked.get("description"),
        keypair=keypair_copy(call, session, asked.get("key_name")),
        user_data=asked.get("user_data"),
        config_drive=to_boolean(asked.get("config_drive", False)),
        metadata=_metadata(asked),
        tags=asked.get("tags", ()),
        security_groups=[group.get("name", "default") for group in asked.get("security_groups", [{}])],
        scheduler_hints=_hints(body),
        zone=zone,
        node=node,
        disk_config=asked.get("OS-DCF:diskConfig", "MANUAL"),
        access_ip_v4=asked.get("accessIPv4"),
        access_ip_v6=_ipv6(asked.get("accessIPv6")),
    )


def rebuild(call: ComputeCall, session: Session, asked: Mapping[str, Any], password: str) -> Rebuild:
    """Return what a body of ``schemas.servers.rebuild`` asks for. Raises InvalidValue."""
    _refuse(asked)
    changes = changes_of(asked)
    if "metadata" in asked:
        changes["user_metadata"] = _metadata(asked)
    if "key_name" in asked:
        changes["keypair"] = keypair_copy(call, session, asked["key_name"])
    if "user_data" in asked:
        changes["user_data"] = asked["user_data"]
    preserve = asked.get("preserve_ephemeral")
    return Rebuild(
        image=image_copy(call, session, asked["imageRef"]),
        admin_password=password,
        preserve_ephemeral=None if preserve is None else to_boolean(preserve),
        changes=changes,
    )


#: Members of a change of a server, and of a rebuild, by the column that each sets.
_CHANGES = {
    "name": "name",
    "hostname": "hostname",
    "description": "description",
    "accessIPv4": "access_ip_v4",
    "accessIPv6": "access_ip_v6",
    "OS-DCF:diskConfig": "disk_config",
}


def changes_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that a body changes."""
    changes = {column: asked[member] for member, column in _CHANGES.items() if member in asked}
    if "access_ip_v6" in changes:
        changes["access_ip_v6"] = _ipv6(changes["access_ip_v6"])
    return changes


def _ipv6(address: str | None) -> str | None:
    return None if address is None else compact_ipv6(address)


# -- what is looked up -------------------------------------------------------------------------------------------------


def flavor_copy(call: ComputeCall, session: Session, flavor_id: str) -> dict[str, Any]:
    """Return a server's copy of a flavor. Raises InvalidValue if the caller sees none with this id."""
    try:
        return own_copies.copy_of_flavor(flavors.find(session, flavor_id, call.viewer))
    except NotFoundError as error:
        raise InvalidValue(message=str(error)) from None


def image_copy(call: ComputeCall, session: Session, image_id: str) -> dict[str, Any]:
    """Return a server's copy of an image. Raises InvalidValue if the caller sees none, or it cannot be booted."""
    requester = ImageRequester(call.project_id, is_admin=call.is_admin)
    try:
        image = images.get(session, image_id, requester)
    except NotFoundError:
        raise InvalidValue(message=f"Image {image_id} could not be found.") from None
    if image.status not in (images.QUEUED, images.ACTIVE):
        raise InvalidValue(message=f"Image {image_id} is not active: its status is '{image.status}'.")
    return own_copies.copy_of_image(image)


def keypair_copy(call: ComputeCall, session: Session, name: str | None) -> dict[str, Any] | None:
    """Return a server's copy of a key pair of the caller. Raises InvalidValue for an unknown name."""
    if name is None:
        return None
    try:
        pair = keypairs.find(session, call.user_id, name)
    except NotFoundError:
        raise InvalidValue(message=f"Invalid key_name provided: there is no key pair '{name}'.") from None
    return {"name": pair.name, "type": pair.type, "public_key": pair.public_key}


def _with_disk(call: ComputeCall, flavor: dict[str, Any]) -> dict[str, Any]:
    """``flavor``. Raises FlavorWithoutDisk if it has no disk, and the caller may not boot servers of such flavors."""
    if flavor["disk"] == 0 and not call.allows(name_of("servers", "create:zero_disk_flavor")):
        raise FlavorWithoutDisk
    return flavor


# -- what is refused ---------------------------------------------------------------------------------------------------


def _require_destination(call: ComputeCall, asked: Mapping[str, Any]) -> None:
    """Raise NotAllowed if the request names a host or a node, and its caller may not."""
    if ":" in (asked.get("availability_zone") or ""):
        call.require(name_of("servers", "create:forced_host"))
    if asked.get("host") or asked.get("hypervisor_hostname"):
        call.require(REQUESTED_DESTINATION)


def _refuse(asked: Mapping[str, Any]) -> None:
    for member, reason in _REFUSED.items():
        if asked.get(member):
            raise InvalidValue(message=f"{member} is not supported: {reason}")
    if isinstance(asked.get("networks"), list) and asked["networks"]:
        raise InvalidValue(message="networks has to be 'none' or 'auto': nodes have networks of their own.")


def _image_ref(asked: Mapping[str, Any]) -> str:
    """The image's id, from ``imageRef`` or from the only block device, which has to be a local disk."""
    ref: str = asked.get("imageRef") or ""
    devices = asked.get("block_device_mapping_v2") or []
    for device in devices:
        local = {"source_type": device.get("source_type"), "destination_type": device.get("destination_type", "local")}
        if len(devices) > 1 or local != _LOCAL_IMAGE or str(device.get("boot_index", 0)) != "0":
            raise InvalidValue(
                message="block_device_mapping_v2 is supported only for one image on the local disk: there are no "
                "volumes."
            )
        found = str(device.get("uuid") or device.get("image_id") or "")
        if ref and found and ref != found:
            raise InvalidValue(message="imageRef and block_device_mapping_v2 name two images.")
        ref = ref or found
    if not ref:
        raise InvalidValue(message="Invalid imageRef provided: an image is needed.")
    return ref


def _count(asked: Mapping[str, Any]) -> int:
    least = to_integer("min_count", asked.get("min_count", 1), 1)
    most = to_integer("max_count", asked.get("max_count", least), 1)
    if least > most:
        raise InvalidValue(message="min_count must be <= max_count")
    if most > MOST_AT_ONCE:
        raise InvalidValue(message=f"max_count is {most}; one request may ask for {MOST_AT_ONCE} servers at most.")
    return most


def _metadata(asked: Mapping[str, Any]) -> dict[str, str]:
    metadata: dict[str, str] = asked.get("metadata", {})
    server_metadata.check_metadata(metadata)
    return metadata


def _hints(body: Mapping[str, Any]) -> dict[str, Any]:
    hints = body.get("os:scheduler_hints") or body.get("OS-SCH-HNT:scheduler_hints") or {}
    for name in _REFUSED_HINTS:
        if name in hints:
            raise InvalidValue(message=f"The scheduler hint {name} is not supported: a machine has one server only.")
    return dict(hints)


def _place(call: ComputeCall, session: Session, asked: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The zone and the node that are asked for; ``zone``, ``zone::node`` or ``zone:host``."""
    zone, _, rest = (asked.get("availability_zone") or "").partition(":")
    host, _, node = rest.partition(":")
    if host:
        raise InvalidValue(message=f"availability_zone is not supported with a host: {_REFUSED['host']}")
    ident = node or asked.get("hypervisor_hostname")
    if zone:
        _require_zone(call, session, zone)
    return zone or None, ident or None


def _require_zone(call: ComputeCall, session: Session, zone: str) -> None:
    settings = call.settings
    default: str = settings.compute.default_availability_zone
    if zone == default:
        return
    zones = availability_zones.list_zones(session, settings.conductor.heartbeat_timeout, default)
    if not any(each.is_available and each.name == zone for each in zones):
        raise InvalidValue(message=f"The requested availability zone is not available: {zone}")
