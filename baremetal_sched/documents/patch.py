"""JSON PATCH (RFC 6902), the operations add, replace and remove.

A patch is applied to a copy that shares unchanged parts with the original, so its cost is that of its operations and of
the containers on their paths. No message shows a value of the request or of the stored document: either may be
secret.
"""

import re
from collections.abc import Callable, Collection, Mapping
from copy import copy
from typing import Any

from baremetal_sched.db.documents import depth
from baremetal_sched.db.types import dump_json
from baremetal_sched.errors import InvalidValue

_PATH = re.compile(r"(/[\w-]+)+")
_PATH_WITH_ESCAPES = re.compile(r"(/([\w-]|~[01])+)+")
_OPERATIONS = ("add", "replace", "remove")
_TYPES = {dict: "an object", list: "an array", str: "a string", type(None): "null", bool: "a boolean"}
#: Maximum number of characters of a path or a name in messages.
_SHOWN = 200
#: Maximum number of digits of an index: no array is longer, and Python is slow at converting very long numbers.
_INDEX_DIGITS = 9

#: An operation, with "op", "path" and usually "value".
Operation = Mapping[str, Any]


class EvaluatedAhead(Exception):
    """The result of a patch is known, and only that was wanted. See ``Patch.ahead``."""


class Patch(list[Operation]):
    """Operations, and the cached result of their last application.

    ``ahead``: they are applied only to get the result, in a transaction that writes nothing; ``result_of`` then raises
    EvaluatedAhead. The next call of ``result_of`` for an equal document uses the cache.
    """

    ahead = False
    _document: str | None = None
    _result: dict[str, Any] | None = None

    def result_of(self, document: Mapping[str, Any], evaluate: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the result of ``evaluate`` for ``document``, cached for an equal document."""
        if not self.ahead and self._document is None:
            return evaluate()
        text = dump_json(document)
        if text != self._document or self._result is None:
            self._result = evaluate()
            self._document = text
        if self.ahead:
            raise EvaluatedAhead
        return dict(self._result)


def parse(body: Any, *, escapes: bool, most_operations: int, max_depth: int) -> Patch:
    """Return ``body`` as a list of operations. ``escapes``: whether paths may have ``~0`` and ``~1``.

    ``max_depth`` is the maximum nesting depth of a document that a value becomes part of. Raises InvalidValue for
    anything malformed, except missing values, which ``require_values`` checks.
    """
    if not isinstance(body, list):
        raise _refused(f"{_described(body)} is not of type 'array'")
    if len(body) > most_operations:
        raise _refused(
            f"{len(body)} operations are too many: at most {most_operations} are accepted in one request. "
            "Send them in several requests, or replace a whole field."
        )
    for operation in body:
        _check_operation(operation, _PATH_WITH_ESCAPES if escapes else _PATH)
        _check_depth(operation, max_depth)
    return Patch(body)


def _check_operation(operation: Any, pattern: re.Pattern[str]) -> None:
    if not isinstance(operation, dict):
        raise _refused(f"{_described(operation)} is not of type 'object'")
    surplus = sorted(set(operation) - {"op", "path", "value"})
    if surplus:
        names = ", ".join(repr(name[:_SHOWN]) for name in surplus[:10])
        raise _refused(f"Additional properties are not allowed ({names} unexpected)")
    for key in ("op", "path"):
        if key not in operation:
            raise _refused(f"'{key}' is a required property")
    if operation["op"] not in _OPERATIONS:
        op = operation["op"][:_SHOWN] if isinstance(operation["op"], str) else _described(operation["op"])
        raise _refused(f"{op!r} is not one of {list(_OPERATIONS)}")
    path = operation["path"]
    if not isinstance(path, str):
        raise _refused(f"{_described(path)} is not a path such as '/extra/key'")
    if not pattern.fullmatch(path):
        raise _refused(f"{path[:_SHOWN]!r} is not a path such as '/extra/key'")


def _check_depth(operation: Operation, max_depth: int) -> None:
    # The containers on the path exist already: only the value at its end adds levels.
    if "value" in operation and operation["path"].count("/") + depth(operation["value"]) > max_depth:
        raise _refused(
            f"the value at {_shown_path(operation)!r} would be nested too deeply: at most {max_depth} levels are "
            "accepted"
        )


def _described(value: Any) -> str:
    return _TYPES.get(type(value), "a number")


def _refused(reason: str) -> InvalidValue:
    return InvalidValue(message=f"Schema error for patch: {reason}")


def root(operation: Operation) -> str:
    """Return the field that an operation changes."""
    return str(operation["path"]).split("/", 2)[1]


def is_whole(operation: Operation) -> bool:
    """Return whether the operation sets or removes the whole field, and not a part of it."""
    return str(operation["path"]).count("/") == 1


def require_roots(patch: Patch, allowed: Collection[str]) -> None:
    """Raise InvalidValue if an operation changes a field that is not ``allowed``."""
    for operation in patch:
        if root(operation) not in allowed:
            raise InvalidValue(
                message=f"Cannot patch {_shown_path(operation)}. "
                f"Only the following can be updated: {', '.join(allowed)}"
            )


def require_values(patch: Patch) -> None:
    """Raise InvalidValue if an operation that sets something has no value."""
    for operation in patch:
        if operation["op"] != "remove" and "value" not in operation:
            raise _inapplicable(operation, "The operation does not contain a 'value' member")


def apply(document: Mapping[str, Any], patch: Collection[Operation], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``document`` with the patch applied; the original stays unchanged. Removing a whole field sets its
    default.

    The result shares objects and arrays with the document, the patch and the defaults: replace them instead of changing
    them. Raises InvalidValue, naming the operation, if one does not apply.
    """
    result = _Copy(document)
    for operation in patch:
        try:
            if operation["op"] == "remove" and is_whole(operation):
                result.add([root(operation)], defaults[root(operation)])
            else:
                result.apply(operation)
        except _Inapplicable as error:
            raise _inapplicable(operation, str(error)) from None
    return result.document


def _inapplicable(operation: Operation, reason: str) -> InvalidValue:
    excerpt = {"op": operation["op"], "path": _shown_path(operation)}
    return InvalidValue(message=f"Couldn't apply patch '{excerpt}'. Reason: {reason}")


def _shown_path(operation: Operation) -> str:
    return str(operation["path"])[:_SHOWN]


class _Inapplicable(Exception):
    """An operation does not fit the document; the message only concerns the path."""


class _Copy:
    """A copy-on-write document: each object and each array is copied once, at its first change."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = dict(document)
        #: The copies by identity, which stays unique while they exist.
        self._copies: dict[int, Any] = {id(self.document): self.document}

    def apply(self, operation: Operation) -> None:
        """Apply one operation. Raises _Inapplicable."""
        segments = [segment.replace("~1", "/").replace("~0", "~") for segment in operation["path"].split("/")[1:]]
        match operation["op"]:
            case "add":
                self.add(segments, operation["value"])
            case "replace":
                self._replace(segments, operation["value"])
            case _:
                self._remove(segments)

    def add(self, segments: list[str], value: Any) -> None:
        """Set the member, or insert an element into an array; ``-`` means its end."""
        holder, last = self._holder(segments), segments[-1]
        if isinstance(holder, dict):
            holder[last] = value
        elif last == "-":
            holder.append(value)
        else:
            index = _index(last)
            if index > len(holder):
                raise _Inapplicable("can't insert outside of list")
            holder.insert(index, value)

    def _replace(self, segments: list[str], value: Any) -> None:
        holder, last = self._holder(segments), segments[-1]
        if isinstance(holder, list):
            if last == "-":
                raise _Inapplicable("'path' with '-' can't be applied to 'replace' operation")
            index = _index(last)
            if index >= len(holder):
                raise _Inapplicable("can't replace outside of list")
            holder[index] = value
        elif last in holder:
            holder[last] = value
        else:
            raise _Inapplicable(f"can't replace a non-existent object '{last[:_SHOWN]}'")

    def _remove(self, segments: list[str]) -> None:
        holder, last = self._holder(segments), segments[-1]
        try:
            del holder[_index(last) if isinstance(holder, list) else last]
        except LookupError:
            raise _Inapplicable(f"can't remove a non-existent object '{last[:_SHOWN]}'") from None

    def _holder(self, segments: list[str]) -> Any:
        """Return the object or array with the last part, as a copy that may be changed."""
        holder: Any = self.document
        for segment in segments[:-1]:
            key: Any = _index(segment) if isinstance(holder, list) else segment
            try:
                member = holder[key]
            except LookupError:
                raise _Inapplicable(f"member '{segment[:_SHOWN]}' not found") from None
            if not isinstance(member, dict | list):
                raise _Inapplicable(f"'{segment[:_SHOWN]}' is neither an object nor an array")
            if id(member) not in self._copies:
                holder[key] = member = copy(member)
                self._copies[id(member)] = member
            holder = member
        return holder


def _index(segment: str) -> int:
    if not (segment.isascii() and segment.isdecimal() and len(segment) <= _INDEX_DIGITS):
        raise _Inapplicable(f"'{segment[:_SHOWN]}' is not a valid sequence index")
    return int(segment)
