"""What clients may send about servers, by microversion.

Members that no server on bare metal can have are in the forms: ``api.server_requests`` refuses them by name.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from baremetal_sched.compute.schemas.form import BOOLEAN, NAME, Form, closed, whole_number
from baremetal_sched.compute.server_rows import MOST_TAGS

DESCRIPTION_SINCE = 19
TAGS_SINCE = 26
NETWORKS_REQUIRED_SINCE = 37
TAGS_AT_BOOT_SINCE = 52
KEY_AT_REBUILD_SINCE = 54
USER_DATA_AT_REBUILD_SINCE = 57
CERTIFICATES_SINCE = 63
LOCK_REASON_SINCE = 73
HOST_SINCE = 74
HOSTNAME_SINCE = 90
FQDN_SINCE = 94
NO_PERSONALITY_SINCE = 57

_MEMBER: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 255}
_UUID: dict[str, Any] = {"type": "string", "format": "uuid"}
_DESCRIPTION: dict[str, Any] = {"type": ["string", "null"], "maxLength": 255, "format": "description"}
_HOSTNAME: dict[str, Any] = {
    "type": "string",
    "minLength": 2,
    "maxLength": 63,
    "pattern": "^[a-zA-Z0-9]+[a-zA-Z0-9-]*[a-zA-Z0-9]+$",
}
_FQDN: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[a-zA-Z0-9._-]*$"}
_DISK_CONFIG: dict[str, Any] = {"type": "string", "enum": ["AUTO", "MANUAL"]}
_IPV4: dict[str, Any] = {"type": "string", "format": "ipv4"}
_IPV6: dict[str, Any] = {"type": "string", "format": "ipv6"}
_USER_DATA: dict[str, Any] = {"type": "string", "maxLength": 65535}
_KEY_PATTERN = "^[a-zA-Z0-9-_:. ]{1,255}$"
METADATA: dict[str, Any] = {
    "type": "object",
    "patternProperties": {_KEY_PATTERN: {"type": "string", "maxLength": 255}},
    "additionalProperties": False,
}
TAG: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 60, "pattern": "^[^,/]*$"}
_TAGS: dict[str, Any] = {"type": "array", "items": TAG, "maxItems": MOST_TAGS}
_ANY_LIST: dict[str, Any] = {"type": "array"}
_HINTS: dict[str, Any] = {"type": "object"}

_BLOCK_DEVICE = {"type": "array", "items": {"type": "object"}}
_NETWORKS = {"oneOf": [{"type": "array", "items": {"type": "object"}}, {"type": "string", "enum": ["none", "auto"]}]}

#: What both a creation and a rebuild take, and a change of the server.
_ADDRESSES = {"OS-DCF:diskConfig": _DISK_CONFIG, "accessIPv4": _IPV4, "accessIPv6": _IPV6}

_CREATE: dict[str, Any] = {
    **_ADDRESSES,
    "name": NAME,
    "imageRef": {"type": "string", "maxLength": 255},
    "flavorRef": {"type": ["string", "integer"], "minLength": 1, "maxLength": 255},
    "adminPass": {"type": "string"},
    "metadata": METADATA,
    "networks": _ANY_LIST,
    "availability_zone": NAME,
    "block_device_mapping": _BLOCK_DEVICE,
    "block_device_mapping_v2": _BLOCK_DEVICE,
    "config_drive": BOOLEAN,
    "key_name": NAME,
    "min_count": whole_number(1),
    "max_count": whole_number(1),
    "return_reservation_id": BOOLEAN,
    "security_groups": {"type": "array", "items": closed({"name": NAME})},
    "user_data": _USER_DATA,
}

_REBUILD: dict[str, Any] = {
    **_ADDRESSES,
    "name": NAME,
    "imageRef": _UUID,
    "adminPass": {"type": "string"},
    "metadata": METADATA,
    "preserve_ephemeral": BOOLEAN,
}

_UPDATE: dict[str, Any] = {**_ADDRESSES, "name": NAME}

#: Members that came with a microversion, or went (the second number is the last that has them).
_SINCE: Mapping[str, tuple[int, int | None, dict[str, Any]]] = {
    "description": (DESCRIPTION_SINCE, None, _DESCRIPTION),
    "personality": (1, NO_PERSONALITY_SINCE - 1, _ANY_LIST),
    "trusted_image_certificates": (CERTIFICATES_SINCE, None, {"type": ["array", "null"]}),
}


def _common(version: int, *, names: tuple[str, ...]) -> dict[str, Any]:
    found = {}
    for name in names:
        since, until, schema = _SINCE[name]
        if since <= version and (until is None or version <= until):
            found[name] = schema
    return found


def _hostname(version: int) -> dict[str, Any]:
    if version < HOSTNAME_SINCE:
        return {}
    return {"hostname": _FQDN if version >= FQDN_SINCE else _HOSTNAME}


@lru_cache
def create(version: int) -> Form:
    """Return the form of the body that creates servers."""
    members = {**_CREATE, **_common(version, names=tuple(_SINCE)), **_hostname(version)}
    required = ["name", "flavorRef"]
    if version >= NETWORKS_REQUIRED_SINCE:
        members["networks"] = _NETWORKS
        required.append("networks")
    if version >= TAGS_AT_BOOT_SINCE:
        members["tags"] = _TAGS
    if version >= HOST_SINCE:
        members |= {"host": _FQDN, "hypervisor_hostname": _FQDN}
    body = {"server": closed(members, *required), "os:scheduler_hints": _HINTS, "OS-SCH-HNT:scheduler_hints": _HINTS}
    return Form(closed(body, "server"))


@lru_cache
def rebuild(version: int) -> Form:
    """Return the form of the body of the action that rebuilds a server."""
    members = {**_REBUILD, **_common(version, names=tuple(_SINCE)), **_hostname(version)}
    if version >= KEY_AT_REBUILD_SINCE:
        members["key_name"] = {"type": ["string", "null"], "minLength": 1, "maxLength": 255}
    if version >= USER_DATA_AT_REBUILD_SINCE:
        members["user_data"] = {**_USER_DATA, "type": ["string", "null"]}
    return Form(closed({"rebuild": closed(members, "imageRef")}, "rebuild"))


@lru_cache
def update(version: int) -> Form:
    """Return the form of the body that changes a server."""
    members = {**_UPDATE, **_common(version, names=("description",)), **_hostname(version)}
    return Form(closed({"server": closed(members)}, "server"))


@lru_cache
def lock(version: int) -> Form:
    """Return the form of the body of the action that locks a server."""
    reason = {"type": "string", "minLength": 1, "maxLength": 255}
    with_reason = {**closed({"locked_reason": reason}), "type": ["object", "null"]}
    return Form(closed({"lock": with_reason if version >= LOCK_REASON_SINCE else {}}, "lock"))


_REBOOT_TYPE = {"type": "string", "enum": ["HARD", "Hard", "hard", "SOFT", "Soft", "soft"]}
REBOOT = Form(closed({"reboot": closed({"type": _REBOOT_TYPE}, "type")}, "reboot"))
RESCUE = Form(
    closed(
        {
            "rescue": {
                **closed({"adminPass": {"type": "string"}, "rescue_image_ref": {"type": "string"}}),
                "type": ["object", "null"],
            }
        },
        "rescue",
    )
)
#: A single tag has no body; older clients send null.
REPLACE_TAGS = Form(closed({"tags": _TAGS}, "tags"))
REPLACE_METADATA = Form(closed({"metadata": METADATA}, "metadata"))
SET_ITEM = Form(closed({"meta": {**METADATA, "minProperties": 1, "maxProperties": 1}}, "meta"))


def plain(action: str) -> Form:
    """Return the form of the body of an action that takes nothing."""
    return Form(closed({action: {}}, action))
