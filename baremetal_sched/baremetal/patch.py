"""JSON PATCH (RFC 6902, the part of it that this API takes): add, replace, remove."""

import re
from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import Any

import jsonpatch

from baremetal_sched.errors import InvalidValue

_PATH = re.compile(r"(/[\w-]+)+")
_PATH_WITH_ESCAPES = re.compile(r"(/([\w-]|~[01])+)+")
_OPERATIONS = ("add", "replace", "remove")
_KEYS = {"op", "path", "value"}

Patch = list[dict[str, Any]]


def parse(body: Any, *, escapes: bool) -> Patch:
    """``body`` as a list of operations. ``escapes``: may paths have ``~0`` and ``~1``.

    Raises InvalidValue for whatever is not well formed; that of missing values is left to ``require_values``.
    """
    if not isinstance(body, list):
        raise _refused(f"{body!r} is not of type 'array'")
    for operation in body:
        _check_operation(operation, _PATH_WITH_ESCAPES if escapes else _PATH)
    return body


def _check_operation(operation: Any, pattern: re.Pattern[str]) -> None:
    if not isinstance(operation, dict):
        raise _refused(f"{operation!r} is not of type 'object'")
    surplus = sorted(set(operation) - _KEYS)
    if surplus:
        raise _refused(f"Additional properties are not allowed ({', '.join(map(repr, surplus))} unexpected)")
    for key in ("op", "path"):
        if key not in operation:
            raise _refused(f"'{key}' is a required property")
    if operation["op"] not in _OPERATIONS:
        raise _refused(f"{operation['op']!r} is not one of {list(_OPERATIONS)}")
    path = operation["path"]
    if not isinstance(path, str) or not pattern.fullmatch(path):
        raise _refused(f"{path!r} is not a path such as '/extra/key'")


def _refused(reason: str) -> InvalidValue:
    return InvalidValue(message=f"Schema error for patch: {reason}")


def root(operation: Mapping[str, Any]) -> str:
    """The field that an operation touches."""
    return str(operation["path"]).split("/")[1]


def is_whole(operation: Mapping[str, Any]) -> bool:
    """Does the operation set or remove the field itself, and not something within it?"""
    return str(operation["path"]).count("/") == 1


def require_roots(patch: Patch, allowed: Collection[str]) -> None:
    """Raise InvalidValue if an operation touches a field that is not ``allowed``."""
    for operation in patch:
        if root(operation) not in allowed:
            raise InvalidValue(
                message=f"Cannot patch {operation['path']}. Only the following can be updated: {', '.join(allowed)}"
            )


def require_values(patch: Patch) -> None:
    """Raise InvalidValue if an operation that sets something does not say to what."""
    for operation in patch:
        if operation["op"] != "remove" and "value" not in operation:
            raise InvalidValue(
                message=f"Couldn't apply patch '{operation}'. Reason: The operation does not contain a 'value' member"
            )


def apply(document: Mapping[str, Any], patch: Patch, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of ``document`` with the patch applied. Removing a whole field sets it to its default.

    Raises InvalidValue, naming the operation, if one does not apply.
    """
    result = deepcopy(dict(document))
    for operation in patch:
        if operation["op"] == "remove" and is_whole(operation):
            result[root(operation)] = deepcopy(defaults[root(operation)])
            continue
        try:
            result = jsonpatch.JsonPatch([operation]).apply(result)
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, ValueError, KeyError) as error:
            raise InvalidValue(message=f"Couldn't apply patch '{operation}'. Reason: {error}") from None
    return result
