"""Hooks about disks: which of them is the root device, and how large it is."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import structlog

from baremetal_sched.baremetal.inspection.hooks.hook import HookFailed
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.documents.schema import parse_flag
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

Disk = Mapping[str, Any]
#: Whether a disk has what a hint asks for.
Test = Callable[[Disk], bool]

_TEXTS = frozenset(
    ("by_path", "hctl", "model", "name", "serial", "vendor", "wwn", "wwn_vendor_extension", "wwn_with_extension")
)
_NAMES = _TEXTS | {"rotational", "size"}

_NUMERICAL: Mapping[str, Callable[[float, float], bool]] = {
    "=": operator.ge,
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
_TEXTUAL: Mapping[str, Callable[[str, str], bool]] = {
    "s==": operator.eq,
    "s!=": operator.ne,
    "s>=": operator.ge,
    "s>": operator.gt,
    "s<=": operator.le,
    "s<": operator.lt,
    "<in>": lambda value, wanted: wanted in value,
    "<all-in>": lambda value, wanted: all(word in value for word in wanted.split()),
}
_OR, _RANGE = "<or>", "<range-in>"
#: None of these is the beginning of one after it.
_OPERATORS = sorted((*_NUMERICAL, *_TEXTUAL, _OR, _RANGE), key=len, reverse=True)


def matching(disks: Sequence[Disk], hints: Any) -> Iterator[Disk]:
    """Disks that have all that the hints ask for, in order. Raises InvalidValue if hints are not well formed."""
    if not isinstance(hints, dict) or not hints:
        raise InvalidValue(message=f"Hints have to be an object with at least one name, not {hints!r}.")
    tests = [_test(name, hint) for name, hint in hints.items()]
    return (disk for disk in disks if all(test(disk) for test in tests))


def _test(name: str, hint: Any) -> Test:
    if name not in _NAMES:
        raise InvalidValue(message=f"Unknown hint {name!r}. Hints are: {', '.join(sorted(_NAMES))}.")
    if name == "rotational":
        wanted = parse_flag(name, hint)
        return lambda disk: _flag(disk.get(name)) is wanted
    if name == "size":
        return _test_of_size(str(hint))
    if not isinstance(hint, str):
        raise InvalidValue(message=f"Hint {name} has to be a string, not {hint!r}.")
    return _test_of_text(name, hint)


def _flag(value: Any) -> bool | None:
    try:
        return parse_flag("value", value)
    except InvalidValue:
        return None


def _test_of_text(name: str, hint: str) -> Test:
    symbol, wanted = _split(hint)
    choices = _choices(wanted) if symbol == _OR else [wanted]
    if not all(choices):
        raise InvalidValue(message=f"Hint {name} is empty.")
    if symbol not in ("", _OR, *_TEXTUAL):
        raise InvalidValue(message=f"Hint {name} is text, which {symbol} does not compare: {hint!r}.")
    compare = _TEXTUAL[symbol if symbol in _TEXTUAL else "s=="]

    def test(disk: Disk) -> bool:
        value = disk.get(name)
        text = value.strip().lower() if isinstance(value, str) else ""
        return bool(text) and any(compare(text, choice) for choice in choices)

    return test


def _choices(wanted: str) -> list[str]:
    """``a <or> b``"""
    return [choice.strip() for choice in wanted.split(_OR)]


def _test_of_size(hint: str) -> Test:
    accepts = _range(hint) or _comparison(hint)

    def test(disk: Disk) -> bool:
        size = disk.get("size")
        return isinstance(size, int | float) and accepts(size / _GIB)

    return test


def _comparison(hint: str) -> Callable[[float], bool]:
    """Sizes that are one of some numbers, or compare with one."""
    symbol, wanted = _split(hint)
    if symbol == _OR:
        sizes = [_number(choice) for choice in _choices(wanted)]
        return sizes.__contains__
    if symbol and symbol not in _NUMERICAL:
        raise InvalidValue(message=f"Hint size is a number, which {symbol} does not compare: {hint!r}.")
    compare, size = _NUMERICAL[symbol or "=="], _number(wanted)
    return lambda value: compare(value, size)


def _range(hint: str) -> Callable[[float], bool] | None:
    """``<range-in> [ 10 20 )``: at least 10, less than 20. None without this operator."""
    symbol, wanted = _split(hint)
    if symbol != _RANGE:
        return None
    parts = wanted.split()
    if len(parts) != 4 or parts[0] not in ("[", "(") or parts[3] not in ("]", ")"):
        raise InvalidValue(message=f"Hint size: {hint!r} is not a range such as '<range-in> [ 10 20 )'.")
    least, most = _number(parts[1]), _number(parts[2])
    if least > most:
        raise InvalidValue(message=f"Hint size: the range {hint!r} is empty.")
    above = operator.ge if parts[0] == "[" else operator.gt
    below = operator.le if parts[3] == "]" else operator.lt
    return lambda value: above(value, least) and below(value, most)


def _number(text: str) -> float:
    """A size in GiB."""
    digits = text.strip()
    # Numbers with too many digits cannot be converted.
    if not digits.isdecimal() or len(digits) > 18 or not int(digits):
        raise InvalidValue(message=f"Hint size has to be a positive number of GiB, not {text.strip()!r}.")
    return int(digits)


def _split(hint: str) -> tuple[str, str]:
    """Return the operator, empty without one, and the rest, in lower case."""
    text = hint.strip().lower()
    symbol = next((each for each in _OPERATORS if text.startswith(each)), "")
    return symbol, text[len(symbol) :].strip()


#: Hints in the ``properties`` of a node: of its root device, and a list of them of disks that cannot be that.
_HINTS, _SKIPPED = "root_device", "skip_block_devices"
#: Where the plugin data has the root device, and its size in GiB.
_ROOT_DISK, _SIZE = "root_disk", "local_gb"
_GIB = 2**30


def find_root_device(subject: Subject, settings: Settings) -> None:
    """``root-device``: the disk that the hints ask for, else the one that the agent chose; sets ``local_gb`` to its
    size.

    It is 0 without a disk, or if its size is unknown. ``[inspector] disk_partitioning_spacing`` is subtracted.
    """
    if subject.node["properties"].get(_HINTS):
        subject.plugin_data[_ROOT_DISK] = _hinted(subject)
    gibibytes = _gibibytes(subject.plugin_data.get(_ROOT_DISK))
    if gibibytes and settings.inspector.disk_partitioning_spacing:
        gibibytes -= 1
    subject.plugin_data[_SIZE] = subject.node["properties"][_SIZE] = gibibytes


def _hinted(subject: Subject) -> Mapping[str, Any]:
    properties = subject.node["properties"]
    hints, skipped = properties[_HINTS], properties.get(_SKIPPED) or []
    disks = _disks(subject.inventory)
    try:
        if not isinstance(skipped, list):
            raise InvalidValue(message=f"{_SKIPPED} has to be a list of hints.")
        for some in skipped:
            unwanted = list(matching(disks, some))
            disks = [disk for disk in disks if disk not in unwanted]
        found = next(matching(disks, hints), None)
    except InvalidValue as error:
        raise HookFailed(message=f"No disks could be found using root device hints {hints}: {error}") from None
    if found is None:
        raise HookFailed(message=f"No disks satisfied root device hints {hints}")
    return deepcopy(found)


def _gibibytes(disk: Any) -> int:
    size = disk.get("size") if isinstance(disk, dict) else None
    if not isinstance(size, int) or isinstance(size, bool) or size < _GIB:
        log.info("no root device of known size", disk=disk)
        return 0
    return size // _GIB


def remember_new_device(subject: Subject, settings: Settings) -> None:
    """``raid-device``: the one disk that the inspection before did not find is the root device from now on.

    Nothing happens if the node has a root device, was not inspected before, or has not just one new disk.
    """
    properties, before = subject.node["properties"], subject.inventory_before
    if _HINTS in properties or before is None:
        return
    known = _serials(before)
    new = [serial for serial in _serials(subject.inventory) if serial not in known]
    if len(new) == 1:
        properties[_HINTS] = {"serial": new[0]}
    else:
        log.info("there is not exactly one new disk", node=subject.read_only.get("uuid"), serials=new)


def _serials(inventory: Mapping[str, Any]) -> list[str]:
    found = (disk.get("serial") for disk in _disks(inventory))
    return [serial for serial in found if isinstance(serial, str) and serial]


def _disks(inventory: Mapping[str, Any]) -> list[dict[str, Any]]:
    disks = inventory.get("disks")
    return [disk for disk in disks if isinstance(disk, dict)] if isinstance(disks, list) else []
