"""Documents of a Nova about its servers, flavors, key pairs and server groups, as values of our models.

The documents are the bodies of its lists. Other members are ignored.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import jsonschema
import orjson
from jsonschema.exceptions import best_match

from baremetal_sched.compute.hosts import instance_info
from baremetal_sched.compute.server_groups import AFFINITY, ANTI_AFFINITY, SOFT_AFFINITY, SOFT_ANTI_AFFINITY
from baremetal_sched.db.clock import utcnow
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue

Document = Mapping[str, Any]


class Skip(Exception):
    """A document is not imported, for the reason in the message."""


_MOST = 2**31 - 1
_NAME = {"type": "string", "minLength": 1, "maxLength": 255}
_TEXT = {"type": ["string", "null"], "maxLength": 255}
_NUMBER = {"type": "integer", "minimum": 0, "maximum": _MOST}
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_ADDRESS = {"type": ["string", "null"], "maxLength": 64}
_TIME = {"type": ["string", "null"], "format": "time"}
_DISK_CONFIG = {"enum": ["AUTO", "MANUAL"]}

_EMBEDDED_FLAVOR = {
    "type": "object",
    "required": ["original_name", "vcpus", "ram", "disk"],
    "properties": {
        "original_name": _NAME,
        **dict.fromkeys(("vcpus", "ram", "disk", "ephemeral", "swap"), _NUMBER),
        "extra_specs": _TEXTS,
    },
}
_IMAGE = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "string", "maxLength": 36}, "properties": {"type": "object"}},
}
_WHOLE_SERVER = {
    "required": ["id", "name", "tenant_id", "user_id", "flavor"],
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        **dict.fromkeys(("name", "tenant_id", "user_id"), _NAME),
        "flavor": _EMBEDDED_FLAVOR,
        "image": {"anyOf": [{"enum": ["", None]}, _IMAGE]},
        **dict.fromkeys(("description", "key_name", "locked_reason", "status"), _TEXT),
        **dict.fromkeys(("accessIPv4", "accessIPv6"), _ADDRESS),
        **dict.fromkeys(("created", "OS-SRV-USG:launched_at"), _TIME),
        "OS-EXT-SRV-ATTR:hypervisor_hostname": _TEXT,
        "OS-EXT-SRV-ATTR:hostname": _TEXT,
        "OS-EXT-SRV-ATTR:reservation_id": {"type": ["string", "null"], "maxLength": 36},
        "OS-EXT-SRV-ATTR:launch_index": _NUMBER,
        "OS-EXT-SRV-ATTR:user_data": {"type": ["string", "null"]},
        "OS-DCF:diskConfig": _DISK_CONFIG,
        "metadata": _TEXTS,
        "tags": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 60}},
        "security_groups": {"type": "array", "items": {"type": "object", "required": ["name"]}},
        "scheduler_hints": {"type": "object"},
        "server_groups": {"type": "array", "items": {"type": "string", "format": "uuid"}},
        "locked": {"type": "boolean"},
        "config_drive": {"type": ["string", "boolean", "null"]},
    },
}
#: Nova knows little of a server whose cell is down.
_SERVER = {
    "type": "object",
    "if": {"required": ["status"], "properties": {"status": {"const": "UNKNOWN"}}},
    "then": {"required": ["id"], "properties": {"id": {"type": "string", "format": "uuid"}}},
    "else": _WHOLE_SERVER,
}
_FLAVOR = {
    "type": "object",
    "required": ["id", "name", "vcpus", "ram", "disk"],
    "properties": {
        "id": _NAME,
        "name": _NAME,
        **dict.fromkeys(("vcpus", "ram", "disk", "OS-FLV-EXT-DATA:ephemeral"), _NUMBER),
        "swap": {"anyOf": [_NUMBER, {"enum": [""]}]},
        "rxtx_factor": {"type": "number"},
        "os-flavor-access:is_public": {"type": "boolean"},
        "description": {"type": ["string", "null"]},
        "extra_specs": _TEXTS,
    },
}
_KEYPAIR = {
    "type": "object",
    "required": ["keypair"],
    "properties": {
        "keypair": {
            "type": "object",
            "required": ["name", "public_key", "fingerprint"],
            "properties": {
                **dict.fromkeys(("name", "fingerprint", "user_id"), _NAME),
                "public_key": {"type": "string"},
                "type": {"enum": ["ssh", "x509"]},
            },
        }
    },
}
_POLICY = {"enum": [AFFINITY, ANTI_AFFINITY, SOFT_AFFINITY, SOFT_ANTI_AFFINITY]}
_GROUP = {
    "type": "object",
    "required": ["id", "name", "policy", "members", "project_id", "user_id"],
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        **dict.fromkeys(("name", "project_id", "user_id"), _NAME),
        "policy": _POLICY,
        "rules": {"type": "object", "properties": {"max_server_per_host": {"type": "integer", "minimum": 1}}},
        "members": {"type": "array", "items": {"type": "string", "format": "uuid"}},
    },
}
_KINDS = {"servers": _SERVER, "flavors": _FLAVOR, "keypairs": _KEYPAIR, "server_groups": _GROUP}
_SCHEMA = {
    "type": "object",
    "minProperties": 1,
    "properties": {kind: {"type": "array", "items": schema} for kind, schema in _KINDS.items()},
}

_FORMATS = jsonschema.FormatChecker(formats=())


@_FORMATS.checks("uuid")
def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or canonical_uuid(value) is not None


@_FORMATS.checks("time", raises=ValueError)
def _is_time(value: object) -> bool:
    return not isinstance(value, str) or value == "" or bool(datetime.fromisoformat(value))


def parse(raw: bytes) -> dict[str, list[Document]]:
    """Return the lists in a JSON document, by ``servers``, ``flavors``, ``keypairs`` and ``server_groups``. Raises
    InvalidValue."""
    try:
        document = orjson.loads(raw)
    except ValueError as error:
        raise InvalidValue(message=f"The file is not JSON: {error}.") from None
    if b"\\u0000" in raw:
        raise InvalidValue(message="The file has the character NUL in a text, which no database can hold.")
    wrong = best_match(jsonschema.Draft202012Validator(_SCHEMA, format_checker=_FORMATS).iter_errors(document))
    if wrong is not None:
        raise InvalidValue(
            message=f"The file is not what Nova answers, at {wrong.json_path}: {wrong.message[:300]}.{_hint(wrong)}"
        )
    for name in document:
        if name.endswith("_links") and document[name]:
            raise InvalidValue(
                message=f"The file has '{name}': the list has more pages. Ask for all of them, and join them."
            )
        if name not in _KINDS and not name.endswith("_links"):
            raise InvalidValue(message=f"'{name}' is not one of {', '.join(_KINDS)}.")
    return {kind: document.get(kind, []) for kind in _KINDS}


def _hint(error: jsonschema.ValidationError) -> str:
    if list(error.absolute_path)[:1] == ["server_groups"] and error.validator == "required":
        return " Ask for the server groups at microversion 2.64 or later, as an administrator."
    is_of_server = list(error.absolute_path)[:1] == ["servers"]
    if is_of_server and "flavor" in error.absolute_path and error.validator == "required":
        return " Ask for the servers at microversion 2.47 or later, which has the server's own flavor."
    return ""


def server_values(document: Document, flavor_ids: Mapping[str, str], keypair: Document | None) -> dict[str, Any]:
    """Return columns of a server. ``flavor_ids`` are ids by name: the server's own flavor does not say its id."""
    flavor = _own_flavor(document["flavor"], flavor_ids)
    image = _own_image(document.get("image"))
    uuid = canonical_uuid(document["id"]) or ""
    user_data = document.get("OS-EXT-SRV-ATTR:user_data")
    return {
        "uuid": uuid,
        "name": document["name"],
        "hostname": document.get("OS-EXT-SRV-ATTR:hostname") or instance_info.host_name_of(document["name"], uuid),
        "description": document.get("description"),
        "project_id": document["tenant_id"],
        "user_id": document["user_id"],
        "flavor": flavor,
        "flavor_id": flavor["id"],
        "image": image,
        "image_id": image["id"] if image else None,
        "keypair": _own_keypair(document.get("key_name"), keypair),
        "user_data": user_data,
        "config_drive": document.get("config_drive") in ("True", True),
        "user_metadata": dict(document.get("metadata", {})),
        "security_groups": [str(group["name"]) for group in document.get("security_groups", [])],
        "scheduler_hints": dict(document.get("scheduler_hints", {})),
        "reservation_id": document.get("OS-EXT-SRV-ATTR:reservation_id") or "",
        "launch_index": document.get("OS-EXT-SRV-ATTR:launch_index", 0),
        "disk_config": document.get("OS-DCF:diskConfig", "MANUAL"),
        "access_ip_v4": document.get("accessIPv4") or None,
        "access_ip_v6": document.get("accessIPv6") or None,
        "locked": document.get("locked", False),
        "locked_reason": document.get("locked_reason"),
        "tried_nodes": [],
        "launched_at": _time(document.get("OS-SRV-USG:launched_at")),
        "created_at": _time(document.get("created")) or utcnow(),
        "updated_at": utcnow(),
    }


def flavor_values(document: Document) -> dict[str, Any]:
    """Return columns of a flavor. Below microversion 2.75 a swap of 0 is an empty text."""
    return {
        "flavorid": document["id"],
        "name": document["name"],
        "vcpus": document["vcpus"],
        "memory_mb": document["ram"],
        "root_gb": document["disk"],
        "ephemeral_gb": document.get("OS-FLV-EXT-DATA:ephemeral", 0),
        "swap_mb": document.get("swap") or 0,
        "rxtx_factor": float(document.get("rxtx_factor", 1.0)),
        "is_public": document.get("os-flavor-access:is_public", True),
        "description": document.get("description"),
        "extra_specs": dict(document["extra_specs"]),
        "created_at": utcnow(),
    }


def keypair_values(document: Document, user_id: str) -> dict[str, Any]:
    """Return columns of a key pair of a user."""
    pair = document["keypair"]
    return {
        "user_id": user_id,
        "name": pair["name"],
        "type": pair.get("type", "ssh"),
        "public_key": pair["public_key"],
        "fingerprint": pair["fingerprint"],
        "created_at": utcnow(),
    }


def group_values(document: Document) -> dict[str, Any]:
    """Return columns of a server group."""
    most = document.get("rules", {}).get("max_server_per_host")
    return {
        "uuid": normal(document["id"]),
        **{name: document[name] for name in ("name", "policy", "project_id", "user_id")},
        "max_server_per_host": None if most is None else min(most, _MOST),
        "created_at": utcnow(),
    }


def groups_of(server: Document, *, hints: bool) -> list[str]:
    """Return the UUIDs of the groups that a server names. ``hints``: also that for which it was booted, which may be
    deleted."""
    hint = server.get("scheduler_hints", {}).get("group") if hints else None
    named = server.get("server_groups") or (hint if isinstance(hint, list) else [hint])
    return [normal(each) for each in named if isinstance(each, str)]


def normal(text: str) -> str:
    """Return a UUID as it is stored; a name as it is."""
    return canonical_uuid(text) or text


def _own_flavor(document: Document, flavor_ids: Mapping[str, str]) -> dict[str, Any]:
    name = document["original_name"]
    amounts = {key: document.get(key, 0) for key in ("vcpus", "ram", "disk", "ephemeral", "swap")}
    specs = dict(document.get("extra_specs", {}))
    return {"id": flavor_ids.get(name, name), "name": name, **amounts, "extra_specs": specs}


def _own_image(document: Document | str | None) -> dict[str, Any] | None:
    if not isinstance(document, Mapping):
        return None
    properties = {name: str(value) for name, value in document.get("properties", {}).items()}
    ident = normal(document["id"])
    return {"id": ident, "name": ident, "min_ram": 0, "min_disk": 0, "properties": properties}


def _own_keypair(name: str | None, document: Document | None) -> dict[str, Any] | None:
    """Return the server's copy of its key pair. Only the name is known of a pair that is not in the list."""
    if not name:
        return None
    pair = {} if document is None else document["keypair"]
    return {"name": name, "type": pair.get("type", "ssh"), "public_key": pair.get("public_key", "")}


def _time(text: str | None) -> datetime | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def keypair_of(document: Document, keypairs: Sequence[Document]) -> Document | None:
    """Return the key pair that a server was booted with, if it is in the list: one of its user, or of an
    unnamed user."""
    for pair in keypairs:
        owner = pair["keypair"].get("user_id")
        if pair["keypair"]["name"] == document.get("key_name") and owner in (None, document["user_id"]):
            return pair
    return None
