"""The requests of clients that create or rebuild servers: parsed, and refused if bare metal does not support them."""

import re
import secrets
import string
from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.ends import asked_end, granted_end
from baremetal_sched.compute import availability_zones, server_groups
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.policies import REQUESTED_DESTINATION, name_of
from baremetal_sched.compute.hosts import own_copies
from baremetal_sched.compute.hosts.network_addresses import compact_ipv6
from baremetal_sched.compute.schemas.form import to_boolean, to_integer
from baremetal_sched.compute.server_history import ServerRequester
from baremetal_sched.compute.servers import server_metadata
from baremetal_sched.compute.servers.server_operations import Rebuild
from baremetal_sched.compute.servers.servers import MOST_AT_ONCE, NewServers
from baremetal_sched.db.models import ServerGroup
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.compute import FlavorWithoutDisk, ServerGroupNotFound
from baremetal_sched.placement.ends import End

#: Members of a body that are refused if they ask for something, and why.
_REFUSED = {
    "personality": "files cannot be injected; use user_data.",
    "trusted_image_certificates": "signatures of images are not checked.",
    "block_device_mapping": "there are no volumes.",
    "host": "a conductor has no servers of its own. Name a node with hypervisor_hostname, or a zone.",
}

#: Hints that would restrict the choice of a machine, in a way that is not implemented or makes no sense.
_REFUSED_HINTS = ("same_host", "query", "build_near_host_ip")

#: The hint that says for how many seconds a server may wait for a machine; those that say when, or how many seconds
#: after it got its machine, it gives that back; and the one that names its server group.
_WAIT = "wait"
_END = ("until", "for", "booking")
_GROUP = "group"

_LOCAL_IMAGE = {"source_type": "image", "destination_type": "local"}


def requester_of(call: ComputeCall) -> ServerRequester:
    """Return who asks, and by which request."""
    return ServerRequester(call.project_id, call.user_id, call.request_id)


def new_password(password: str | None) -> str:
    """Return the administrator's password of a server: the given one, or a new one."""
    return password or "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(12))


def new_servers(call: ComputeCall, session: Session, body: Mapping[str, Any], password: str) -> NewServers:
    """Return the request that a body of ``schemas.servers.create`` describes. The row of its server group is locked.

    Raises InvalidValue for unknown names and invalid values; NotAllowed, FlavorWithoutDisk, EndsNotServed.
    """
    server = body["server"]
    _require_destination(call, server)
    _refuse(server)
    zone, node = _place(call, session, server)
    hints = _hints(body)
    return NewServers(
        name=server["name"],
        flavor=_with_disk(call, own_copies.copy_of_flavor(session, str(server["flavorRef"]), call.viewer)),
        image=own_copies.copy_of_image(session, _image_ref(server), call.image_requester),
        admin_password=password,
        count=_count(server),
        hostname=server.get("hostname"),
        description=server.get("description"),
        keypair=own_copies.copy_of_keypair(session, call.user_id, server.get("key_name")),
        user_data=server.get("user_data"),
        config_drive=to_boolean(server.get("config_drive", False)),
        metadata=_metadata(server),
        tags=server.get("tags", ()),
        security_groups=[group.get("name", "default") for group in server.get("security_groups", [{}])],
        scheduler_hints=hints,
        zone=zone,
        node=node,
        wait=_wait(hints),
        end=_end(call, session, hints),
        disk_config=server.get("OS-DCF:diskConfig", "MANUAL"),
        access_ip_v4=server.get("accessIPv4"),
        access_ip_v6=_ipv6(server.get("accessIPv6")),
        group=_group(call, session, hints),
    )


def rebuild(call: ComputeCall, session: Session, body: Mapping[str, Any], password: str) -> Rebuild:
    """Return the request in a body of ``schemas.servers.rebuild``. Raises InvalidValue."""
    _refuse(body)
    changes = changes_of(body)
    if "metadata" in body:
        changes["user_metadata"] = _metadata(body)
    if "key_name" in body:
        changes["keypair"] = own_copies.copy_of_keypair(session, call.user_id, body["key_name"])
    if "user_data" in body:
        changes["user_data"] = body["user_data"]
    preserve = body.get("preserve_ephemeral")
    return Rebuild(
        image=own_copies.copy_of_image(session, body["imageRef"], call.image_requester),
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


def changes_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that a body changes."""
    changes = {column: body[member] for member, column in _CHANGES.items() if member in body}
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


# -- refusals ----------------------------------------------------------------------------------------------------------


def _require_destination(call: ComputeCall, server: Mapping[str, Any]) -> None:
    """Raise NotAllowed if the request names a host or a node, and its caller may not."""
    if ":" in (server.get("availability_zone") or ""):
        call.require(name_of("servers", "create:forced_host"))
    if server.get("host") or server.get("hypervisor_hostname"):
        call.require(REQUESTED_DESTINATION)


def _refuse(body: Mapping[str, Any]) -> None:
    for member, reason in _REFUSED.items():
        if body.get(member):
            raise InvalidValue(message=f"{member} is not supported: {reason}")
    if isinstance(body.get("networks"), list) and body["networks"]:
        raise InvalidValue(message="networks must be 'none' or 'auto': nodes have networks of their own.")


def _image_ref(server: Mapping[str, Any]) -> str:
    """Return the image's id, from ``imageRef`` or from the only block device, which must be a local disk."""
    ref: str = server.get("imageRef") or ""
    devices = server.get("block_device_mapping_v2") or []
    for device in devices:
        local = {"source_type": device.get("source_type"), "destination_type": device.get("destination_type", "local")}
        if len(devices) > 1 or local != _LOCAL_IMAGE or str(device.get("boot_index", 0)) != "0":
            raise InvalidValue(
                message="block_device_mapping_v2 is supported only for one image on the local disk: there are no "
                "volumes."
            )
        device_ref = str(device.get("uuid") or device.get("image_id") or "")
        if ref and device_ref and ref != device_ref:
            raise InvalidValue(message="imageRef and block_device_mapping_v2 name two images.")
        ref = ref or device_ref
    if not ref:
        raise InvalidValue(message="Invalid imageRef provided: an image is needed.")
    return ref


def _count(server: Mapping[str, Any]) -> int:
    least = to_integer("min_count", server.get("min_count", 1), 1)
    most = to_integer("max_count", server.get("max_count", least), 1)
    if least > most:
        raise InvalidValue(message="min_count must be <= max_count")
    if most > MOST_AT_ONCE:
        raise InvalidValue(message=f"max_count is {most}; one request may ask for {MOST_AT_ONCE} servers at most.")
    return most


def _metadata(body: Mapping[str, Any]) -> dict[str, str]:
    metadata: dict[str, str] = body.get("metadata", {})
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
    value = hints[_WAIT]
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or re.fullmatch(r"[0-9]{1,18}", text, re.ASCII) is None:
        raise InvalidValue(
            message="The scheduler hint wait must be a whole number of seconds, such as 3600, for which the server "
            "may wait until a machine is free; 0: not at all."
        )
    return int(text)


def _end(call: ComputeCall, session: Session, hints: Mapping[str, Any]) -> End | None:
    """Return the end that the hints give the servers; None if they have none. Raises like ``granted_end``."""
    values = {name: hints[name] if isinstance(hints[name], list) else [hints[name]] for name in _END if name in hints}
    for name, given in values.items():
        if len(given) != 1:
            raise InvalidValue(message=f"The scheduler hint {name} must have one value, and not {len(given)}.")
    asked = asked_end({name: value for name, (value,) in values.items()})
    waits = bool(call.settings.compute.wait_for_machine if (wait := _wait(hints)) is None else wait)
    return granted_end(call, session, asked, project=call.project_id, waits=waits)


def _group(call: ComputeCall, session: Session, hints: Mapping[str, Any]) -> ServerGroup | None:
    """Return the group that the hints name, its row locked. Raises InvalidValue if the caller sees no such group."""
    if _GROUP not in hints:
        return None
    named = hints[_GROUP] if isinstance(hints[_GROUP], list) else [hints[_GROUP]]
    uuid = canonical_uuid(named[0]) if len(named) == 1 and isinstance(named[0], str) else None
    if uuid is None:
        raise InvalidValue(message="The scheduler hint group must be the UUID of one server group.")
    try:
        return server_groups.lock(session, uuid, call.viewer)
    except ServerGroupNotFound as error:
        raise InvalidValue(message=str(error)) from None


def _place(call: ComputeCall, session: Session, server: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the requested zone and node; the zone is given as ``zone``, ``zone::node`` or ``zone:host``."""
    zone, _, rest = (server.get("availability_zone") or "").partition(":")
    host, _, node = rest.partition(":")
    if host:
        raise InvalidValue(message=f"availability_zone is not supported with a host: {_REFUSED['host']}")
    ident = node or server.get("hypervisor_hostname")
    if zone:
        availability_zones.require_available(session, zone, call.settings)
    return zone or None, ident or None
