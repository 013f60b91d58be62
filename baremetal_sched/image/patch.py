"""Changes of an image, as Glance takes them: a list of operations, each on one field or property.

Both forms of Glance's JSON patch are known: 2.1, ``{"op": "add", "path": "/name", "value": "x"}``, and 2.0,
``{"add": "/name", "value": "x"}``.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from baremetal_sched.errors.image import ImageChangeForbidden, ImageConflict, InvalidImage
from baremetal_sched.image.records import ImageRecord
from baremetal_sched.image.schemas import READ_ONLY, RESERVED, SETTABLE, is_reserved, normal, require_valid

#: The media types of a PATCH, and whether each is of the older form.
MEDIA_TYPES = {
    "application/openstack-images-v2.0-json-patch": True,
    "application/openstack-images-v2.1-json-patch": False,
}

_OPERATIONS = ("add", "remove", "replace")
_ONE_OF = f"It must be one of the following: {', '.join(_OPERATIONS)}."
#: Most characters of what a client sent that a message shows.
_SHOWN = 200


@dataclass(frozen=True)
class Change:
    """One operation on the field or property ``name``. ``creates``: an "add" is refused if the member exists."""

    operation: str
    name: str
    value: Any = None
    creates: bool = False


@dataclass
class Changed:
    """The result of changes to an image: the fields that they set, and all properties and tags."""

    properties: dict[str, str]
    tags: tuple[str, ...]
    fields: dict[str, Any] = field(default_factory=dict)


def parse(body: Any, *, older: bool) -> list[Change]:
    """Return ``body`` as changes. Raises InvalidImage for malformed operations, ImageChangeForbidden for read-only
    members."""
    if not isinstance(body, list):
        raise InvalidImage(message="Request body must be a JSON array of operation objects.")
    changes = []
    for document in body:
        if not isinstance(document, dict):
            raise InvalidImage(message="Operations must be JSON objects.")
        operation, pointer = _older(document) if older else _newer(document)
        changes.append(_change(document, operation, _name(operation, pointer), older=older))
    return changes


def apply(image: ImageRecord, changes: Collection[Change]) -> Changed:
    """``image`` with the changes applied, one after the other. Raises ImageChangeForbidden, ImageConflict."""
    result = Changed(dict(image.properties), image.tags)
    for change in changes:
        if change.name in SETTABLE:
            _apply_to_field(result, change)
        else:
            _apply_to_property(result.properties, change)
    return result


def _apply_to_field(result: Changed, change: Change) -> None:
    if change.operation == "remove":
        raise ImageChangeForbidden(message=f"Property {change.name} may not be removed.")
    if change.creates:
        raise ImageConflict(message=f"Property {change.name} already present.")
    if change.name == "tags":
        result.tags = tuple(sorted(set(change.value)))
    else:
        result.fields[change.name] = change.value


def _apply_to_property(properties: dict[str, str], change: Change) -> None:
    if change.operation == "add":
        if change.creates and change.name in properties:
            raise ImageConflict(message=f"Property {change.name} already present.")
    elif change.name not in properties:
        raise ImageConflict(message=f"Property {change.name} does not exist.")
    if change.operation == "remove":
        del properties[change.name]
    else:
        properties[change.name] = change.value


def _newer(document: Mapping[str, Any]) -> tuple[str, Any]:
    operation = document.get("op")
    if operation is None:
        raise InvalidImage(message=f"Unable to find `op` in JSON Schema change. {_ONE_OF}")
    if operation not in _OPERATIONS:
        raise InvalidImage(message=f"Invalid operation: `{str(operation)[:_SHOWN]}`. {_ONE_OF}")
    if "path" not in document:
        raise InvalidImage(message="Unable to find 'path' in JSON Schema change")
    return operation, document["path"]


def _older(document: Mapping[str, Any]) -> tuple[str, Any]:
    operations = [operation for operation in _OPERATIONS if operation in document]
    if len(operations) != 1:
        number = "exactly" if not operations else "only"
        raise InvalidImage(
            message=f'Operation objects must contain {number} one member named "add", "remove", or "replace".'
        )
    return operations[0], document[operations[0]]


def _name(operation: str, pointer: Any) -> str:
    """The field or property that a JSON pointer names. Raises InvalidImage, ImageChangeForbidden."""
    if not isinstance(pointer, str):
        raise InvalidImage(message="A path must be a text such as '/name'.")
    excerpt = pointer[:_SHOWN]
    if not pointer.startswith("/"):
        raise InvalidImage(message=f'Pointer `{excerpt}` does not start with "/".')
    if re.search(r"/\s*/", pointer[1:]):
        raise InvalidImage(message=f'Pointer `{excerpt}` contains adjacent "/".')
    if pointer.endswith("/"):
        raise InvalidImage(message=f'Pointer `{excerpt}` end with "/".')
    if re.search(r"~(?![01])", pointer):
        raise InvalidImage(message=f'Pointer `{excerpt}` contains "~" not part of a recognized escape sequence.')
    segments = [segment.replace("~1", "/").replace("~0", "~").strip() for segment in pointer[1:].split("/")]
    if segments[0] == "locations":
        raise ImageChangeForbidden(
            message=f"It's not allowed to {operation} locations if locations are invisible. Say where the data are "
            "with an import or with the property image_source."
        )
    if len(segments) != 1:
        raise InvalidImage(message=f"Invalid JSON pointer for this resource: '/{'/'.join(segments)[:_SHOWN]}'")
    return segments[0]


def _change(document: Mapping[str, Any], operation: str, name: str, *, older: bool) -> Change:
    if operation != "remove" and "value" not in document:
        raise InvalidImage(message=f'Operation "{operation}" requires a member named "value".')
    if name in READ_ONLY:
        raise ImageChangeForbidden(message=f"Attribute '{name[:_SHOWN]}' is read-only.")
    if name in RESERVED or is_reserved(name):
        raise ImageChangeForbidden(message=f"Attribute '{name[:_SHOWN]}' is reserved.")
    if operation == "remove":
        return Change(operation, name)
    require_valid({name: document["value"]})
    return Change(operation, name, normal(name, document["value"]), creates=older and operation == "add")
