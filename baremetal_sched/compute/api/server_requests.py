"""The requests of clients that create or rebuild servers: parsed, and refused if bare metal does not support them."""

import re
import secrets
import string
from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.compute import availability_zones
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.policies import REQUESTED_DESTINATION, name_of
from baremetal_sched.compute.hosts import own_copies
from baremetal_sched.compute.hosts.network_addresses import compact_ipv6
from baremetal_sched.compute.schemas.form import to_boolean, to_integer
from baremetal_sched.compute.server_history import ServerRequester
from baremetal_sched.compute.servers import server_metadata
from baremetal_sched.compute.servers.server_operations import Rebuild
from baremetal_sched.compute.servers.servers import MOST_AT_ONCE, NewServers
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.compute import FlavorWithoutDisk

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

#: The hint that says for how many seconds a server may wait for a machine.
_WAIT = "wait"

_LOCAL_IMAGE = {"source_type": "image", "destination_type": "local"}


def requester_of(call: ComputeCall) -> ServerRequester:
    """Return who asks, and by which request."""
    return ServerRequester(call.project_id, call.user_id, call.request_id)


def new_password(given: str | None) -> str:
    """Return the administrator's password of a server: the given one, or a new one."""
    return given or "".join(secrets.choice(_LETTERS) for _ in range(_PASSWORD_LENGTH))


def new_servers(call: ComputeCall, session: Session, body: Mapping[str, Any], password: str) -> NewServers:
    """Return the request that a body of ``schemas.servers.create`` describes.

    Raises InvalidValue for unknown names and invalid values; NotAllowed, FlavorWithoutDisk.
    """
    asked = body["server"]
    _require_destination(call, asked)
    _refuse(asked)
    zone, node = _place(call, session, asked)
    hints = _hints(body)
    return NewServers(
        name=asked["name"],
        flavor=_with_disk(call, own_copies.copy_of_flavor(session, str(asked["flavorRef"]), call.viewer)),
        image=own_copies.copy_of_image(session, _image_ref(asked), call.image_requester),
        admin_password=password,
        count=_count(asked),
        hostname=asked.get("hostname"),
        description=asked.get("description"),
        keypair=own_copies.copy_of_keypair(session, call.user_id, asked.get("key_name")),
        user_data=asked.get("user_data"),
        config_drive=to_boolean(asked.get("config_drive", False)),
        metadata=_metadata(asked),
        tags=asked.get("tags", ()),
        security_groups=[group.get("name", "default") for group in asked.get("security_groups", [{}])],
        scheduler_hints=hints,
        zone=zone,
        node=node,
        wait=_wait(hints),
        disk_config=asked.get("OS-DCF:diskConfig", "MANUAL"),
        access_ip_v4=asked.get("accessIPv4"),
        access_ip_v6=_ipv6(asked.get("accessIPv6")),
    )


def rebuild(call: ComputeCall, session: Session, asked: Mapping[str, Any], password: str) -> Rebuild:
    """Return the request in a body of ``schemas.servers.rebuild``. Raises InvalidValue."""
    _refuse(asked)
    changes = changes_of(asked)
    if "metadata" in asked:
        changes["user_metadata"] = _metadata(asked)
    if "key_name" in asked:
        changes["keypair"] = own_copies.copy_of_keypair(session, call.user_id, asked["key_name"])
    if "user_data" in asked:
        changes["user_data"] = asked["user_data"]
    preserve = asked.get("preserve_ephemeral")
    return Rebuild(
        image=own_copies.copy_of_image(session, asked["imageRef"], call.image_requester),
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


def _with_disk(call: ComputeCall, flavor: dict[str, Any]) -> dict[str, Any]:
    """``flavor``. Raises FlavorWithoutDisk if it has no disk, and the caller may not boot servers of flavors without
    one."""
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
        raise InvalidValue(message="networks must be 'none' or 'auto': nodes have networks of their own.")


def _image_ref(asked: Mapping[str, Any]) -> str:
    """Return the image's id, from ``imageRef`` or from the only block device, which must be a local disk."""
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


def _wait(hints: Mapping[str, Any]) -> int | None:
    """Return for how many seconds a server may wait; None if the hints do not say it. Raises InvalidValue."""
    if _WAIT not in hints:
        return None
    given = hints[_WAIT]
    text = str(given) if isinstance(given, int) and not isinstance(given, bool) else given
    if not isinstance(text, str) or re.fullmatch(r"[0-9]{1,18}", text, re.ASCII) is None:
        raise InvalidValue(
            message="The scheduler hint wait must be a whole number of seconds, such as 3600, for which the server "
            "may wait until a machine is free; 0: not at all."
        )
    return int(text)


def _place(call: ComputeCall, session: Session, asked: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the requested zone and node; the zone is given as ``zone``, ``zone::node`` or ``zone:host``."""
    zone, _, rest = (asked.get("availability_zone") or "").partition(":")
    host, _, node = rest.partition(":")
    if host:
        raise InvalidValue(message=f"availability_zone is not supported with a host: {_REFUSED['host']}")
    ident = node or asked.get("hypervisor_hostname")
    if zone:
        availability_zones.require_available(session, zone, call.settings)
    return zone or None, ident or None
