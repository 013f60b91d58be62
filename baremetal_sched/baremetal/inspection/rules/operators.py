"""The operators of conditions. Each takes its arguments, with fields filled in, and returns a boolean."""

import ipaddress
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from baremetal_sched.baremetal.inspection.rules import patterns
from baremetal_sched.baremetal.inspection.rules.limits import RuleFailed
from baremetal_sched.baremetal.inspection.rules.values import Signature


@dataclass(frozen=True)
class Operator(Signature):
    """An operator: its arguments, and its test."""

    holds: Callable[..., bool]


def _equal(one: Any, other: Any) -> bool:
    # A value from the inventory may be a number where the rule has text.
    if isinstance(one, str) is not isinstance(other, str):
        return str(one) == str(other)
    return bool(one == other)


def _less(one: Any, other: Any) -> bool:
    try:
        return float(one) < float(other)
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        return bool(one < other)
    except TypeError:
        raise RuleFailed(message=f"{type(one).__name__} and {type(other).__name__} cannot be compared") from None


def _comparison(
    compare: Callable[[Any, Any], bool], compare_strings: Callable[[str, str], bool]
) -> Callable[..., bool]:
    """Return the test of an operator that compares each of several values with the next."""

    def holds(values: Any, force_strings: Any = False) -> bool:
        if not isinstance(values, list):
            raise RuleFailed(message=f"Expected list for 'values', got: {type(values).__name__}")
        if force_strings:
            return all(compare_strings(one, other) for one, other in pairwise(map(str, values)))
        return all(compare(one, other) for one, other in pairwise(values))

    return holds


def _in_net(address: Any, subnet: Any) -> bool:
    try:
        network = ipaddress.ip_network(str(subnet), strict=False)
        return ipaddress.ip_address(str(address)) in network
    except ValueError as error:
        raise RuleFailed(message=f"invalid value: {error}") from None


def _matches(value: Any, regex: Any) -> bool:
    return patterns.matches(regex, str(value))


def _one_of(value: Any, values: Any = ()) -> bool:
    if isinstance(values, str):
        return str(value) in values
    if not isinstance(values, list | tuple | dict | None):
        raise RuleFailed(message=f"Expected list for 'values', got: {type(values).__name__}")
    return any(_equal(value, one) for one in values or ())


def _is_true(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() in ("yes", "true")
    return isinstance(value, int | float) and bool(value)


def _is_false(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() in ("no", "false")
    return value is None or (isinstance(value, int | float) and not value)


OPERATORS: Mapping[str, Operator] = {
    "eq": Operator(("values",), ("force_strings",), ("values",), _comparison(_equal, operator.eq)),
    "lt": Operator(("values",), ("force_strings",), ("values",), _comparison(_less, operator.lt)),
    "gt": Operator(
        ("values",), ("force_strings",), ("values",), _comparison(lambda one, other: _less(other, one), operator.gt)
    ),
    "is-empty": Operator(("value",), (), ("value",), lambda value: str(value) in ("", "None", "[]", "{}")),
    "in-net": Operator(("address", "subnet"), (), ("address", "subnet"), _in_net),
    "matches": Operator(("value", "regex"), (), ("value",), _matches),
    "contains": Operator(("value", "regex"), (), ("value",), lambda value, regex: patterns.contains(regex, str(value))),
    "one-of": Operator(("value",), ("values",), ("value", "values"), _one_of),
    "is-none": Operator(("value",), (), ("value",), lambda value: value is None),
    "is-true": Operator(("value",), (), ("value",), _is_true),
    "is-false": Operator(("value",), (), ("value",), _is_false),
}
