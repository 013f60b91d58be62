"""``extra-hardware``: what a benchmark or a detailed search of the hardware found, made easy to use by rules."""

from typing import Any

import structlog

from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Where the plugin data has the list, and the objects that are made of it.
_LIST, _OBJECTS = "data", "extra"
#: What is in an entry of the list: of what, which one, what of it, and that.
_LENGTH = 4
#: Longer numbers are names.
_MOST_DIGITS = 18


def arrange(subject: Subject, settings: Settings) -> None:
    """Make objects of a list: ``["disk", "sda", "size", "10"]`` becomes ``{"disk": {"sda": {"size": 10}}}``.

    A list in which something is no list stays as it is. With ``[inspector] extra_hardware_strict`` such a list is
    removed, as is one with entries that are too short or too long; without it these entries are left out.
    """
    if _LIST not in subject.plugin_data:
        return
    entries, strict = subject.plugin_data[_LIST], settings.inspector.extra_hardware_strict
    if _is_usable(entries, strict):
        subject.plugin_data[_OBJECTS] = _objects(entries)
    else:
        log.warning("extra data about the hardware is not understood", node=subject.read_only.get("uuid"))
        if not strict:
            return
    del subject.plugin_data[_LIST]


def _is_usable(entries: Any, strict: bool) -> bool:
    return isinstance(entries, list) and all(
        isinstance(entry, list) and (not strict or len(entry) == _LENGTH) for entry in entries
    )


def _objects(entries: list[list[Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    objects: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in entries:
        if len(entry) >= _LENGTH and all(isinstance(name, str) for name in entry[:3]):
            kind, device, name, value = entry[:_LENGTH]
            objects.setdefault(kind, {}).setdefault(device, {})[name] = _number(value)
    return objects


def _number(value: Any) -> Any:
    """The number that a text says; anything else as it is."""
    if not isinstance(value, str):
        return value
    digits = value.strip().removeprefix("-")
    return int(value) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else value
