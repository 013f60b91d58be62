"""Root device hints: which of a machine's disks are meant."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from baremetal_sched.documents.schema import excerpt, parse_flag
from baremetal_sched.errors import InvalidValue

Disk = Mapping[str, Any]
GIB = 2**30
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
    "<in>": lambda value, operand: operand in value,
    "<all-in>": lambda value, operand: all(word in value for word in operand.split()),
}
_OR, _RANGE = "<or>", "<range-in>"
#: None of these is the beginning of one after it.
_OPERATORS = sorted((*_NUMERICAL, *_TEXTUAL, _OR, _RANGE), key=len, reverse=True)


def matching(disks: Sequence[Disk], hints: Any) -> Iterator[Disk]:
    """Disks that have all that the hints ask for, in order. Raises InvalidValue if hints are not well formed."""
    if not isinstance(hints, dict) or not hints:
        raise InvalidValue(message=f"Hints must be an object with at least one name, not {excerpt(hints)}.")
    tests = [_test(name, hint) for name, hint in hints.items()]
    return (disk for disk in disks if all(test(disk) for test in tests))


def _test(name: str, hint: Any) -> Test:
    if name not in _NAMES:
        raise InvalidValue(message=f"Unknown hint {excerpt(name)}. Hints are: {', '.join(sorted(_NAMES))}.")
    if name == "rotational":
        operand = parse_flag(name, hint)
        return lambda disk: _flag(disk.get(name)) is operand
    if name == "size":
        return _test_of_size(str(hint))
    if not isinstance(hint, str):
        raise InvalidValue(message=f"Hint {name} must be a string, not {excerpt(hint)}.")
    return _test_of_text(name, hint)


def _flag(value: Any) -> bool | None:
    try:
        return parse_flag("value", value)
    except InvalidValue:
        return None


def _test_of_text(name: str, hint: str) -> Test:
    symbol, operand = _split(hint)
    choices = _choices(operand) if symbol == _OR else [operand]
    if not all(choices):
        raise InvalidValue(message=f"Hint {name} is empty.")
    if symbol not in ("", _OR, *_TEXTUAL):
        raise InvalidValue(message=f"Hint {name} is text, which {symbol} does not compare: {excerpt(hint)}.")
    compare = _TEXTUAL[symbol if symbol in _TEXTUAL else "s=="]

    def test(disk: Disk) -> bool:
        value = disk.get(name)
        text = value.strip().lower() if isinstance(value, str) else ""
        return bool(text) and any(compare(text, choice) for choice in choices)

    return test


def _choices(operand: str) -> list[str]:
    """``a <or> b``"""
    return [choice.strip() for choice in operand.split(_OR)]


def _test_of_size(hint: str) -> Test:
    accepts = _range(hint) or _comparison(hint)

    def test(disk: Disk) -> bool:
        size = disk.get("size")
        return isinstance(size, int | float) and accepts(size / GIB)

    return test


def _comparison(hint: str) -> Callable[[float], bool]:
    """Sizes that are one of some numbers, or compare with one."""
    symbol, operand = _split(hint)
    if symbol == _OR:
        sizes = [_number(choice) for choice in _choices(operand)]
        return sizes.__contains__
    if symbol and symbol not in _NUMERICAL:
        raise InvalidValue(message=f"Hint size is a number, which {symbol} does not compare: {excerpt(hint)}.")
    compare, size = _NUMERICAL[symbol or "=="], _number(operand)
    return lambda value: compare(value, size)


def _range(hint: str) -> Callable[[float], bool] | None:
    """``<range-in> [ 10 20 )``: at least 10, less than 20. None without this operator."""
    symbol, operand = _split(hint)
    if symbol != _RANGE:
        return None
    words = operand.split()
    if len(words) != 4 or words[0] not in ("[", "(") or words[3] not in ("]", ")"):
        raise InvalidValue(message=f"Hint size: {excerpt(hint)} is not a range such as '<range-in> [ 10 20 )'.")
    least, most = _number(words[1]), _number(words[2])
    if least > most:
        raise InvalidValue(message=f"Hint size: the range {excerpt(hint)} is empty.")
    above = operator.ge if words[0] == "[" else operator.gt
    below = operator.le if words[3] == "]" else operator.lt
    return lambda value: above(value, least) and below(value, most)


def _number(text: str) -> float:
    """A size in GiB."""
    digits = text.strip()
    # Numbers with too many digits cannot be converted.
    if not digits.isdecimal() or len(digits) > 18 or not int(digits):
        raise InvalidValue(message=f"Hint size must be a positive number of GiB, not {excerpt(text.strip())}.")
    return int(digits)


def _split(hint: str) -> tuple[str, str]:
    """Return the operator, empty without one, and the rest, in lower case."""
    text = hint.strip().lower()
    symbol = next((each for each in _OPERATORS if text.startswith(each)), "")
    return symbol, text[len(symbol) :].strip()
