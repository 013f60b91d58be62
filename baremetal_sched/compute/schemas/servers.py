"""Bodies of requests about servers, by microversion.

Members that no server on bare metal can have are in the forms: ``api.server_requests`` refuses them by name.
"""

from collections.abc import Iterable
from functools import lru_cache

from baremetal_sched.compute.schemas.form import BOOLEAN, NAME, Form, closed, whole_number
from baremetal_sched.compute.servers.server_rows import MOST_TAGS
from baremetal_sched.documents.schema import SchemaDict

TAGS_SINCE = 26
NETWORKS_REQUIRED_SINCE = 37
KEY_AT_REBUILD_SINCE = 54
USER_DATA_AT_REBUILD_SINCE = 57
LOCK_REASON_SINCE = 73
PINNED_SINCE = 104

_MEMBER: SchemaDict = {"type": "string", "minLength": 1, "maxLength": 255}
_UUID: SchemaDict = {"type": "string", "format": "uuid"}
_DESCRIPTION: SchemaDict = {"type": ["string", "null"], "maxLength": 255, "format": "description"}
_HOSTNAME: SchemaDict = {
    "type": "string",
    "minLength": 2,
    "maxLength": 63,
    "pattern": "^[a-zA-Z0-9]+[a-zA-Z0-9-]*[a-zA-Z0-9]+$",
}
_FQDN: SchemaDict = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[a-zA-Z0-9._-]*$"}
_USER_DATA: SchemaDict = {"type": "string", "maxLength": 65535}
_KEY_PATTERN = "^[a-zA-Z0-9-_:. ]{1,255}$"
METADATA: SchemaDict = {
    "type": "object",
    "patternProperties": {_KEY_PATTERN: {"type": "string", "maxLength": 255}},
    "additionalProperties": False,
}
TAG: SchemaDict = {"type": "string", "minLength": 1, "maxLength": 60, "pattern": "^[^,/]*$"}
_TAGS: SchemaDict = {"type": "array", "items": TAG, "maxItems": MOST_TAGS}
_ANY_LIST: SchemaDict = {"type": "array"}
_HINTS: SchemaDict = {"type": "object"}

_BLOCK_DEVICE = {"type": "array", "items": {"type": "object"}}
_NETWORKS = {"oneOf": [{"type": "array", "items": {"type": "object"}}, {"type": "string", "enum": ["none", "auto"]}]}

#: Members of creations, rebuilds and changes of servers.
_ADDRESSES = {
    "OS-DCF:diskConfig": {"type": "string", "enum": ["AUTO", "MANUAL"]},
    "accessIPv4": {"type": "string", "format": "ipv4"},
    "accessIPv6": {"type": "string", "format": "ipv6"},
}

_CREATE: SchemaDict = {
    **_ADDRESSES,
    "name": NAME,
    "imageRef": {"type": "string", "maxLength": 255},
    "flavorRef": {"type": ["string", "integer"], "minLength": 1, "maxLength": 255},
    "adminPass": {"type": "string"},
    "metadata": METADATA,
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

_REBUILD: SchemaDict = {
    **_ADDRESSES,
    "name": NAME,
    "imageRef": _UUID,
    "adminPass": {"type": "string"},
    "metadata": METADATA,
    "preserve_ephemeral": BOOLEAN,
}

_UPDATE: SchemaDict = {**_ADDRESSES, "name": NAME}

#: A member by name, the first and the last microversion that has it, and its schema.
Since = tuple[str, int, int | None, SchemaDict]

_IN_CHANGES: tuple[Since, ...] = (
    ("description", 19, None, _DESCRIPTION),
    ("hostname", 90, 93, _HOSTNAME),
    ("hostname", 94, None, _FQDN),
)
_PINNED: Since = ("pinned_availability_zone", PINNED_SINCE, None, {**NAME, "type": ["string", "null"]})
_IN_DEPLOYMENTS: tuple[Since, ...] = (
    *_IN_CHANGES,
    ("personality", 1, 56, _ANY_LIST),
    ("trusted_image_certificates", 63, None, {"type": ["array", "null"]}),
)
_IN_CREATIONS: tuple[Since, ...] = (
    *_IN_DEPLOYMENTS,
    ("networks", 1, NETWORKS_REQUIRED_SINCE - 1, _ANY_LIST),
    ("networks", NETWORKS_REQUIRED_SINCE, None, _NETWORKS),
    ("tags", 52, None, _TAGS),
    ("host", 74, None, _FQDN),
    ("hypervisor_hostname", 74, None, _FQDN),
)
_IN_REBUILDS: tuple[Since, ...] = (
    *_IN_DEPLOYMENTS,
    ("key_name", KEY_AT_REBUILD_SINCE, None, {"type": ["string", "null"], "minLength": 1, "maxLength": 255}),
    ("user_data", USER_DATA_AT_REBUILD_SINCE, None, {**_USER_DATA, "type": ["string", "null"]}),
)


def _members(version: int, always: SchemaDict, more: Iterable[Since]) -> dict[str, object]:
    found = {name: schema for name, first, last, schema in more if first <= version <= (last or version)}
    return {**always, **found}


@lru_cache
def create(version: int) -> Form:
    """Return the form of the body that creates servers."""
    required = ("name", "flavorRef", *(("networks",) if version >= NETWORKS_REQUIRED_SINCE else ()))
    server = closed(_members(version, _CREATE, _IN_CREATIONS), *required)
    return Form(
        closed({"server": server, "os:scheduler_hints": _HINTS, "OS-SCH-HNT:scheduler_hints": _HINTS}, "server")
    )


@lru_cache
def rebuild(version: int) -> Form:
    """Return the form of the body of the action that rebuilds a server."""
    return Form(closed({"rebuild": closed(_members(version, _REBUILD, _IN_REBUILDS), "imageRef")}, "rebuild"))


@lru_cache
def update(version: int) -> Form:
    """Return the form of the body that changes a server."""
    return Form(closed({"server": closed(_members(version, _UPDATE, (*_IN_CHANGES, _PINNED)))}, "server"))


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
