"""The conditions of a query of allocation candidates, as clients see them.

``suffix`` is that of the group, where a request has several: ids say which one they are of.
"""

from collections.abc import Iterable

from baremetal_sched.baremetal.matching.masks import Condition, Kind

ISOLATE = "group_policy:isolate"
SAME_SUBTREE = "same_subtree:"


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
