"""The schemas of images and of their members: what ``/v2/schemas`` shows, and what bodies are checked against."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.documents.schema import JsonSchema, SchemaDict
from baremetal_sched.errors.image import ImageChangeForbidden, InvalidImage
from baremetal_sched.image.access import MEMBER_STATUSES, VISIBILITIES

CONTAINER_FORMATS = ("ami", "ari", "aki", "bare", "ovf", "ova", "docker", "compressed")
DISK_FORMATS = ("ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "iso", "ploop")
STATUSES = (
    *("queued", "saving", "active", "killed", "deleted", "uploading", "importing", "pending_delete", "deactivated"),
)

#: Fields that clients set when they create or change an image.
SETTABLE = (
    *("name", "visibility", "protected", "os_hidden", "owner", "container_format", "disk_format"),
    *("min_disk", "min_ram", "tags"),
)
#: Fields that clients cannot set.
READ_ONLY = (
    *("created_at", "updated_at", "status", "checksum", "os_hash_algo", "os_hash_value", "size", "virtual_size"),
    *("direct_url", "self", "file", "schema", "id", "stores"),
)
#: Names that no property may have.
RESERVED = ("location", "deleted", "deleted_at")

#: Most characters of the value of a property.
LONGEST_VALUE = 65_535
LONGEST_NAME = 255
_LARGEST_INTEGER = 2**31 - 1

_UUID_PATTERN = "^([0-9a-fA-F]){8}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){12}$"


def _text(description: str, longest: int | None = None, **more: object) -> dict[str, object]:
    limit = {} if longest is None else {"maxLength": longest}
    return {"type": "string", "description": description, **limit, **more}


def _nullable(kind: str, description: str, longest: int | None = None, **more: object) -> dict[str, object]:
    limit = {} if longest is None else {"maxLength": longest}
    return {"type": ["null", kind], "description": description, **limit, **more}


PROPERTIES: dict[str, SchemaDict] = {
    "id": _text(
        "The image's UUID",
        pattern=_UUID_PATTERN,
    ),
    "name": _nullable("string", "The image's name, which others may have too", 255),
    "status": _text("What the image can be used for now", readOnly=True, enum=list(STATUSES)),
    "visibility": _text("Which projects see the image", enum=list(VISIBILITIES)),
    "protected": {"type": "boolean", "description": "Whether deleting the image is refused."},
    "os_hidden": {"type": "boolean", "description": "Whether lists leave the image out unless they ask for it."},
    "checksum": _nullable("string", "Not known: no data are kept.", 32, readOnly=True),
    "os_hash_algo": _nullable("string", "Not known: no data are kept.", 64, readOnly=True),
    "os_hash_value": _nullable("string", "Not known: no data are kept.", 128, readOnly=True),
    "owner": _nullable("string", "The project that the image belongs to", 255),
    "size": _nullable("integer", "Not known: no data are kept.", readOnly=True),
    "virtual_size": _nullable("integer", "Not known: no data are kept.", readOnly=True),
    "container_format": _nullable("string", "What the disk is packed in", enum=[None, *CONTAINER_FORMATS]),
    "disk_format": _nullable("string", "The format of the disk", enum=[None, *DISK_FORMATS]),
    "created_at": _text("When the image was created", readOnly=True),
    "updated_at": _text("When the image was changed last", readOnly=True),
    "tags": {
        "type": "array",
        "description": "Words by which lists of images can be filtered",
        "items": {"type": "string", "maxLength": LONGEST_NAME},
    },
    "direct_url": _text("Never shown: no data are kept.", readOnly=True),
    "min_ram": {"type": "integer", "description": "Least memory of a flavor that boots the image, in MiB."},
    "min_disk": {"type": "integer", "description": "Least disk of a flavor that boots the image, in GiB."},
    "self": _text("The path of the image", readOnly=True),
    "file": _text("The path of the image's data", readOnly=True),
    "stores": _text("Never shown: there is no store.", readOnly=True),
    "schema": _text("The path of this schema", readOnly=True),
}

IMAGE: SchemaDict = {
    "name": "image",
    "properties": PROPERTIES,
    "additionalProperties": {"type": "string"},
    "links": [
        {"rel": "self", "href": "{self}"},
        {"rel": "enclosure", "href": "{file}"},
        {"rel": "describedby", "href": "{schema}"},
    ],
}

_VALIDATOR = JsonSchema({"type": "object", **IMAGE})


def collection(name: str, item: SchemaDict, links: list[dict[str, str]]) -> dict[str, object]:
    """The schema of a list of ``name``, whose items have the schema ``item``."""
    paging = {key: {"type": "string"} for key in ("first", "next", "schema")}
    return {
        "name": name,
        "properties": {name: {"type": "array", "items": dict(item)}, **paging},
        "links": links,
    }


IMAGES = collection(
    "images",
    IMAGE,
    [
        {"rel": "first", "href": "{first}"},
        {"rel": "next", "href": "{next}"},
        {"rel": "describedby", "href": "{schema}"},
    ],
)


def is_reserved(name: str) -> bool:
    """Return whether names like this are Glance's own."""
    return name.startswith("os_glance_")


def require_valid(document: Mapping[str, Any]) -> None:
    """Raise InvalidImage if fields or properties of an image have values that they cannot have."""
    error = _VALIDATOR.error(document)
    if error is not None:
        raise InvalidImage(message=f"Provided object does not match schema 'image': {error.message[:1000]}")
    for name in ("min_disk", "min_ram"):
        if not 0 <= document.get(name, 0) <= _LARGEST_INTEGER:
            raise InvalidImage(
                message=f"Value '{name}' must be in range 0 to {_LARGEST_INTEGER}, not {document[name]}."
            )
    for tag in document.get("tags", ()):
        require_trimmed("Tags", tag)
    for name, value in document.items():
        if name not in PROPERTIES:
            _require_valid_property(name, value)


def require_trimmed(what: str, text: str) -> None:
    """Raise InvalidImage if ``text`` is empty or has white space around it, with which databases would mix it up."""
    if not text or text != text.strip():
        raise InvalidImage(message=f"{what} must not be empty or begin or end with white space: '{text[:80]}'")


def _require_valid_property(name: str, value: str) -> None:
    if len(name) > LONGEST_NAME:
        raise InvalidImage(message=f"Custom property should not be greater than {LONGEST_NAME} characters.")
    require_trimmed("Names of properties", name)
    if len(value) > LONGEST_VALUE:
        raise InvalidImage(
            message=f"The value of property '{name}' is too long: at most {LONGEST_VALUE} characters are accepted."
        )


def load(body: Any) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """The fields, properties and tags of a body that creates an image.

    Raises InvalidImage, and ImageChangeForbidden for what clients cannot set.
    """
    if not isinstance(body, dict):
        raise InvalidImage(message="Request body must be a JSON object.")
    for name in body:
        if name in READ_ONLY and name != "id":
            raise ImageChangeForbidden(message=f"Attribute '{name}' is read-only.")
        if name in (*RESERVED, "locations") or is_reserved(name):
            raise ImageChangeForbidden(message=f"Attribute '{name[:LONGEST_NAME]}' is reserved.")
    require_valid(body)
    fields = {name: normal(name, value) for name, value in body.items() if name == "id" or name in SETTABLE}
    tags = fields.pop("tags", [])
    return fields, {name: value for name, value in body.items() if name not in PROPERTIES}, tags


def normal(name: str, value: Any) -> Any:
    """The valid value of a field as it is stored: 1.0 is an integer to JSON, and no owner is null."""
    if name in ("min_disk", "min_ram"):
        return int(value)
    return None if name == "owner" and not value else value


# -- members -----------------------------------------------------------------------------------------------------------

MEMBER: SchemaDict = {
    "name": "member",
    "properties": {
        "created_at": {"type": "string", "description": "When the image was shared with the project"},
        "image_id": {
            "type": "string",
            "description": "The image's UUID",
            "pattern": _UUID_PATTERN,
        },
        "member_id": {"type": "string", "description": "The project that the image is shared with"},
        "schema": {"readOnly": True, "type": "string"},
        "status": {
            "type": "string",
            "description": "Whether the project accepts the image",
            "enum": list(MEMBER_STATUSES),
        },
        "updated_at": {"type": "string", "description": "When that was said"},
    },
}

MEMBERS: SchemaDict = {
    "name": "members",
    "properties": {
        "members": {"type": "array", "items": MEMBER},
        "schema": {"type": "string"},
    },
    "links": [{"rel": "describedby", "href": "{schema}"}],
}


def load_new(body: Any) -> str:
    """Return the project that a body shares an image with. Raises InvalidImage."""
    if not isinstance(body, dict):
        raise InvalidImage(message='Expected a member in the form: {"member": "project_id"}')
    if "member" not in body:
        raise InvalidImage(message="Member to be added not specified")
    member = body["member"]
    if not member:
        raise InvalidImage(message="Member can't be empty")
    if not isinstance(member, str):
        raise InvalidImage(message="A member is a text: a project's id")
    require_trimmed("A member", member)
    if len(member) > LONGEST_NAME:
        raise InvalidImage(message=f"Maximum length of a member is {LONGEST_NAME} characters")
    return member


def load_status(body: Any) -> str:
    """Return the member status in a body. Raises InvalidImage."""
    if not isinstance(body, dict):
        raise InvalidImage(message='Expected a status in the form: {"status": "status"}')
    if "status" not in body:
        raise InvalidImage(message="Status not specified")
    status = body["status"]
    if status not in MEMBER_STATUSES:
        raise InvalidImage(message='Incorrect request: Status must be "pending", "accepted" or "rejected".')
    return str(status)
