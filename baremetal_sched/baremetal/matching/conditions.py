"""Conditions on machines, as clients see them, and the ones of which SQL knows nothing: capabilities.

``suffix`` is that of the group, where a request has several: ids say which one they are of.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

#: What ids of conditions on classes begin with, and those of conditions between groups.
CLASS = "class:"
ISOLATE = "group_policy:isolate"
SAME_SUBTREE = "same_subtree:"

_CAPABILITY = "capabilities:"


class Kind(StrEnum):
    """What a condition is about: what was asked for, whether a machine is free, or whether a conductor serves it."""

    REQUEST = "request"
    AVAILABILITY = "availability"
    SERVICE = "service"


@dataclass(frozen=True)
class Condition:
    """A condition, as clients see it.

    ``part_of``: the id of the condition of the request on which this one depends. ``counts``: whether a machine that
    fails it is ruled out; otherwise it is only reported. ``failure``: the text about one machine that fails it, and
    about several; None: the opposite of ``text``, which is about a machine that meets it.
    """

    id: str
    text: str
    kind: Kind = Kind.REQUEST
    part_of: str | None = None
    counts: bool = True
    failure: tuple[str, str] | None = None


def of_class(name: str, amount: int, suffix: str = "") -> Condition:
    """Return the condition that a provider could give the amount if all of it were free."""
    return Condition(f"class{suffix}:{name}", f"can give {amount} of {name}")


def of_free(name: str, amount: int, suffix: str = "") -> Condition:
    """Return the condition that the amount is free now; it is part of that of the class."""
    asked = of_class(name, amount, suffix).id
    less = f"less than {amount} of {name} free"
    return Condition(
        f"availability{suffix}:{name}",
        f"has {amount} of {name} free",
        Kind.AVAILABILITY,
        asked,
        failure=(f"has {less}", f"have {less}"),
    )


def of_traits(wanted: frozenset[str], suffix: str = "") -> Condition:
    """Return the condition of having one of the traits."""
    return Condition(f"trait{suffix}:{_any_of(wanted)}", f"has {' or '.join(sorted(wanted))}")


def of_forbidden(name: str, suffix: str = "") -> Condition:
    """Return the condition of not having the trait."""
    return Condition(f"trait{suffix}:!{name}", f"does not have {name}")


def of_root_traits(wanted: frozenset[str]) -> Condition:
    """Return the condition that the root has one of the traits."""
    return Condition(f"root:{_any_of(wanted)}", f"the root of its tree has {' or '.join(sorted(wanted))}")


def of_root_forbidden(name: str) -> Condition:
    """Return the condition that the root does not have the trait."""
    return Condition(f"root:!{name}", f"the root of its tree does not have {name}")


def of_aggregates(wanted: Iterable[frozenset[str]], suffix: str = "") -> Condition:
    """Return the condition of being in one aggregate of each set."""
    named = ";".join(map(_any_of, wanted))
    return Condition(f"aggregate{suffix}:{named}", f"is in aggregate {named}")


def of_forbidden_aggregate(uuid: str, suffix: str = "") -> Condition:
    """Return the condition of not being in the aggregate."""
    return Condition(f"aggregate{suffix}:!{uuid}", f"is not in aggregate {uuid}")


def of_tree(uuid: str, suffix: str = "") -> Condition:
    """Return the condition of being in the tree of the provider."""
    return Condition(f"tree{suffix}:{uuid}", f"is in the tree of {uuid}")


def of_capability(name: str, value: str) -> Condition:
    """Return the condition that a node has the capability with this value."""
    return Condition(f"capability:{name}={value}", f"has the capability {name}={value}")


def of_subtree(suffixes: Iterable[str]) -> Condition:
    """Return the condition that the providers of the groups are in one subtree."""
    named = ",".join(sorted(suffixes))
    return Condition(f"{SAME_SUBTREE}{named}", f"of the groups {named} one has a provider above the others")


def _any_of(names: frozenset[str]) -> str:
    return next(iter(names)) if len(names) == 1 else f"in:{','.join(sorted(names))}"


# -- capabilities ------------------------------------------------------------------------------------------------------


def wanted_capabilities(extra_specs: Mapping[str, str]) -> dict[str, str]:
    """Return the capabilities that a flavor asks for, in its order. A name may have colons."""
    return {key.removeprefix(_CAPABILITY): value for key, value in extra_specs.items() if key.startswith(_CAPABILITY)}


def capabilities_of(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the capabilities in a node's ``properties``: ``name:value,name:value``, or an object.

    A value may have colons. What has no name, or no colon, is left out.
    """
    capabilities = properties.get("capabilities")
    if isinstance(capabilities, Mapping):
        return {str(name): str(value) for name, value in capabilities.items()}
    if not isinstance(capabilities, str):
        return {}
    pairs = (item.partition(":") for item in capabilities.split(","))
    return {name.strip(): value.strip() for name, colon, value in pairs if colon and name.strip()}


def unmet_capabilities(extra_specs: Mapping[str, str], properties: Mapping[str, Any]) -> list[str]:
    """Return the names of the capabilities that a flavor asks for and a node with these ``properties`` lacks.

    Values are compared as text.
    """
    has = capabilities_of(properties)
    return [name for name, value in wanted_capabilities(extra_specs).items() if has.get(name) != value]
