"""Filters of the list of images, as conditions in SQL. Any name that is not a field's is that of a property."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from oslo_utils.timeutils import normalize_time, parse_isotime
from sqlalchemy import ColumnElement, and_, false

from baremetal_sched.db.models import Image, ImageProperty, ImageTag
from baremetal_sched.db.sql_functions import has_all
from baremetal_sched.errors.image import InvalidImage
from baremetal_sched.image.images import MOST_PROPERTIES, MOST_TAGS

#: Fields that take ``in:A,B``.
_LISTS = {
    "id": Image.uuid,
    "name": Image.name,
    "status": Image.status,
    "container_format": Image.container_format,
    "disk_format": Image.disk_format,
}
_TEXTS = {"owner": Image.owner}
_FLAGS = {"protected": Image.protected, "os_hidden": Image.os_hidden}
_NUMBERS = {"min_disk": Image.min_disk, "min_ram": Image.min_ram}
_TIMES = {"created_at": Image.created_at, "updated_at": Image.updated_at}
#: Fields that no image has a value for, since no data are kept: nothing is equal to them, more or less.
_UNKNOWN_TEXTS = ("checksum", "os_hash_algo", "os_hash_value")

#: Every field that is a filter.
FIELDS = (*_LISTS, *_TEXTS, *_FLAGS, *_NUMBERS, *_TIMES, "checksum", "os_hash_value")

_COMPARISONS: dict[str, Callable[[Any, Any], ColumnElement[bool]]] = {
    "eq": lambda column, value: column == value,
    "neq": lambda column, value: column != value,
    "gt": lambda column, value: column > value,
    "gte": lambda column, value: column >= value,
    "lt": lambda column, value: column < value,
    "lte": lambda column, value: column <= value,
}
_RANGES = {"_min": "gte", "_max": "lte"}

#: A value of a list: in quotation marks, where a quotation mark has a backslash before it, or without a comma.
_QUOTED = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^",]*))\s*(?:,|$)')
_LARGEST_INTEGER = 2**31 - 1
_SHOWN = 200


def conditions(values: Mapping[str, str], tags: Iterable[str]) -> list[ColumnElement[bool]]:
    """Return the conditions of filters, by name, and that the image has all the tags. Raises InvalidImage."""
    of_fields, properties = [], []
    for name, value in values.items():
        of_field = _of_field(name, value)
        if of_field is None:
            properties.append(and_(ImageProperty.name == name, ImageProperty.value == value))
        else:
            of_fields.append(of_field)
    of_tags = [ImageTag.tag == tag for tag in dict.fromkeys(tags)]
    return [
        *of_fields,
        has_all(ImageProperty.image_id == Image.id, properties, MOST_PROPERTIES),
        has_all(ImageTag.image_id == Image.id, of_tags, MOST_TAGS),
    ]


def _of_field(name: str, value: str) -> ColumnElement[bool] | None:
    """Return the condition of the filter ``name=value``, or None if it is that of a property. Raises InvalidImage."""
    if name in _LISTS:
        return _listed(name, value)
    if name in _TEXTS:
        return _TEXTS[name] == value
    if name in _FLAGS:
        return _FLAGS[name].is_(flag(name, value))
    if name in _TIMES:
        return _time(name, value)
    if name in _UNKNOWN_TEXTS:
        return false()
    stem, suffix = (name[:-4], name[-4:]) if name[-4:] in _RANGES else (name, "")
    if stem in _NUMBERS or stem in ("size", "virtual_size"):
        number = _number(value)
        column = _NUMBERS.get(stem)
        return false() if column is None else _COMPARISONS[_RANGES.get(suffix, "eq")](column, number)
    return None


def flag(name: str, value: str) -> bool:
    """``value`` as a boolean. Raises InvalidImage. (Clients write ``os_hidden=True``, and ``protected=true``.)"""
    word = value.lower() if name == "os_hidden" else value
    if word not in ("true", "false"):
        raise InvalidImage(
            message=f"Invalid value '{value[:_SHOWN]}' for '{name}' filter. Valid values are 'true' or 'false'."
        )
    return word == "true"


def _listed(name: str, value: str) -> ColumnElement[bool]:
    operator, threshold = _operator(value)
    if operator == "in":
        return _LISTS[name].in_(_values(threshold))
    if operator == "eq":
        return _LISTS[name] == threshold
    raise InvalidImage(message=f"Unable to filter by unknown operator '{operator[:_SHOWN]}'.")


def _operator(value: str) -> tuple[str, str]:
    """``gt:5`` as an operator and a value; a time stamp, which has colons, and a plain value are compared with eq."""
    operator, colon, rest = value.partition(":")
    return (operator, rest) if colon and _moment(value) is None else ("eq", value)


def _values(text: str) -> list[str]:
    """``a,"b,c"`` as values. Raises InvalidImage."""
    values, at = [], 0
    while at <= len(text):
        match = _QUOTED.match(text, at)
        if match is None:
            raise InvalidImage(message=f"Invalid filter value {text[:_SHOWN]}. The quotes are not closed or misplaced.")
        quoted, plain = match.groups()
        values.append(plain.strip() if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        if match.end() == len(text) and not match.group().rstrip().endswith(","):
            break
        at = match.end()
    return values


def _time(name: str, value: str) -> ColumnElement[bool]:
    operator, threshold = _operator(value)
    moment = _moment(threshold)
    if moment is None:
        raise InvalidImage(message=f'Bad "{name}" query filter format. Use ISO 8601 DateTime notation.')
    if operator not in _COMPARISONS:
        raise InvalidImage(message=f"Unable to filter on a unknown operator '{operator[:_SHOWN]}'.")
    return _COMPARISONS[operator](_TIMES[name], moment)


def _moment(text: str) -> datetime | None:
    """Return a time stamp of ISO 8601 as the columns store it, or None if it is invalid."""
    try:
        moment: datetime = normalize_time(parse_isotime(text))
    except (ValueError, OverflowError):
        return None
    return moment


def _number(value: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", value):
        raise InvalidImage(message="Unable to filter on a range with a non-numeric value.")
    return max(-_LARGEST_INTEGER, min(int(value), _LARGEST_INTEGER))
