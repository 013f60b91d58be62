"""Extra specs of flavors: which are accepted, and which names of resource classes.

Nova checks them from microversion 2.86 on, and its scheduler ignores what it does not understand. Here they are checked
at every microversion, and nothing that would restrict the choice of a node is ignored:

- ``resources[S]:CLASS=N``, ``trait[S]:NAME=required|forbidden`` and ``group_policy`` must be right, and a key that
  looks like a slip of one of these is refused.
- ``capabilities:NAME`` is compared with the node's capabilities; values with an operator are refused.
- Namespaces of features that no bare metal node has are refused.

All other keys are accepted; they mean nothing here.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches

from baremetal_sched.baremetal.schemas.traits import complaint, is_trait
from baremetal_sched.compute.flavors import resource_request
from baremetal_sched.compute.flavors.resource_request import (
    GROUP_POLICIES,
    FlavorSpec,
    ResourceRequest,
    groups_of,
    parse_key,
    required_by_image,
    without_zeros,
)
from baremetal_sched.errors.compute import InvalidExtraSpec, NothingRequested, TraitConflict
from baremetal_sched.image import properties as properties_of_images
from baremetal_sched.placement.names import NAME_LENGTH, STANDARD_CLASSES, is_custom

_CUSTOM = "CUSTOM_"
_NOT_ALLOWED = re.compile(r"[^A-Z0-9_]+")
_CLASSES_ALIKE = 0.8
CAPABILITY = "capabilities:"
POLICY = "group_policy"
TRAIT_VALUES = ("required", "forbidden")

#: Namespaces that Nova turns into conditions which no bare metal node meets, with what to do instead.
REFUSED_NAMESPACES = {
    "hw": "it describes a virtual machine. Require a trait of the node instead (trait:NAME=required).",
    "os": "it describes a virtual machine. Require a trait of the node instead (trait:NAME=required).",
    "accel": "there are no device profiles. Ask for the devices of a node by class (resources1:CUSTOM_NAME=1).",
    "pci_passthrough": "devices belong to the node. Ask for them by class (resources1:CUSTOM_NAME=1).",
    "aggregate_instance_extra_specs": "there are no host aggregates. Require a trait instead (trait:NAME=required).",
}

_DIGITS = re.compile(r"[0-9]+")
_OPERATOR = re.compile(r"\s*(<(in|all-in|or|range-in)>|s?(==|!=|<=|>=|<|>)|=)")
_REQUEST_WORD = re.compile(r"\s*(resource|trait)", re.IGNORECASE)
#: Suffix ``s``: ``traits:X`` is a slip, though it is well formed.
_PLURAL = re.compile(r"s([^A-Za-z].*)?")
#: How similar a namespace must be to be taken for a slip: one letter of five.
_ALIKE = 0.85

_FORMS = "Write resources[S]:CLASS=N or trait[S]:NAME=required|forbidden; S is at most 64 letters, digits, '_' and '-'."


def check(extra_specs: Mapping[str, str]) -> None:
    """Check all extra specs of a flavor. Raises InvalidExtraSpec for the first that is refused."""
    for key, value in extra_specs.items():
        check_one(key, value)
    check_groups(extra_specs)


def check_one(key: str, value: str) -> None:
    """Check an extra spec by itself. Raises InvalidExtraSpec."""
    namespace, colon, name = key.partition(":")
    if reason := REFUSED_NAMESPACES.get(namespace.strip().lower()) if colon else None:
        raise InvalidExtraSpec(key=key, reason=reason)
    if key == POLICY:
        _check_policy(key, value)
    elif _REQUEST_WORD.match(namespace):
        _check_request(key, value)
    elif key.startswith(CAPABILITY):
        _check_capability(key, name, value)
    else:
        _check_similar(key, namespace)


def check_groups(extra_specs: Mapping[str, str]) -> None:
    """Check what extra specs ask for together. Each is right by itself.

    Raises InvalidExtraSpec for a group of traits only, and for several groups without a policy.
    """
    groups = without_zeros(groups_of(extra_specs))
    for suffix, group in groups.items():
        if suffix and not group.resources:
            name = min(group.required | group.forbidden)
            raise InvalidExtraSpec(
                key=f"trait{suffix}:{name}",
                reason=f"a group needs resources too. Add resources{suffix}:CLASS=N, with N of at least 1.",
            )
    suffixes = sorted(filter(None, groups))
    if len(suffixes) > 1 and POLICY not in extra_specs:
        named = ", ".join(f"resources{suffix}" for suffix in suffixes)
        raise InvalidExtraSpec(
            key=POLICY,
            reason=f"it is missing, and there is more than one group ({named}). Add {POLICY}=none, or {POLICY}=isolate "
            "if a different provider must serve each group.",
        )


def check_together(extra_specs: Mapping[str, str], properties: Mapping[str, str]) -> None:
    """Check an image against a flavor. Both are right by themselves.

    Raises TraitConflict if the image requires a trait that the flavor forbids in the request group without a suffix:
    traits of images go there. Another request group may forbid it, since another provider may serve that.
    """
    unsuffixed = groups_of(extra_specs).get("")
    conflicts = required_by_image(properties) & unsuffixed.forbidden if unsuffixed else ()
    if conflicts:
        raise TraitConflict(traits=", ".join(sorted(conflicts)))


def forbidden_anywhere(extra_specs: Mapping[str, str]) -> set[str]:
    """Return the traits that some group of a flavor forbids: a server cannot be rebuilt with an image that requires
    one."""
    return {name for group in groups_of(extra_specs).values() for name in group.forbidden}


def _check_policy(key: str, value: str) -> None:
    if value not in GROUP_POLICIES:
        raise InvalidExtraSpec(key=key, reason=f"its value must be {' or '.join(GROUP_POLICIES)}, not '{value}'.")


def _check_request(key: str, value: str) -> None:
    parsed = parse_key(key)
    if parsed is None or _PLURAL.fullmatch(parsed[1]):
        raise InvalidExtraSpec(key=key, reason=f"it is not understood. {_FORMS}")
    kind, _, name = parsed
    if kind == "trait":
        if not is_trait(name):
            raise InvalidExtraSpec(key=key, reason=complaint(name))
        if value not in TRAIT_VALUES:
            raise InvalidExtraSpec(key=key, reason=f"its value must be {' or '.join(TRAIT_VALUES)}, not '{value}'.")
        return
    if name not in STANDARD_CLASSES and not is_custom(name):
        raise InvalidExtraSpec(key=key, reason=not_a_class(name))
    if _DIGITS.fullmatch(value) is None:
        raise InvalidExtraSpec(
            key=key, reason=f"the amount must be a number in decimal digits, such as 0 or 1, not '{value}'."
        )


def _check_capability(key: str, name: str, value: str) -> None:
    if not name:
        raise InvalidExtraSpec(key=key, reason="a name is missing. Write capabilities:NAME=VALUE.")
    if match := _OPERATOR.match(value):
        raise InvalidExtraSpec(
            key=key,
            reason=f"the operator '{match[0].strip()}' is not supported. Give the text that the capability of the "
            "node must equal.",
        )


def _check_similar(key: str, namespace: str) -> None:
    """Refuse ``group-policy`` and ``ressources:``, which cannot be meant for anything else."""
    plain = re.sub(r"[^a-z]+", "_", namespace.strip().lower())
    known = (POLICY, "resources", "trait") if ":" in key else (POLICY,)
    if close := get_close_matches(plain, known, n=1, cutoff=_ALIKE):
        hint = f"Write {POLICY}=none|isolate." if close[0] == POLICY else _FORMS
        raise InvalidExtraSpec(key=key, reason=f"it is not understood; did you mean '{close[0]}'? {hint}")
    if plain.startswith("capabilit"):
        raise InvalidExtraSpec(key=key, reason="it is not understood. Write capabilities:NAME=VALUE.")


def not_a_class(name: str) -> str:
    """Return a sentence that proposes similar names; ``name`` is not a resource class."""
    meant = _proposal(name)
    return (
        f"'{name}' is not a resource class.{f' Did you mean {meant}?' if meant else ''} It is not one of "
        "os-resource-classes, and does not match '^CUSTOM_[A-Z0-9_]+$'."
    )


def _proposal(name: str) -> str | None:
    plain = _NOT_ALLOWED.sub("_", name.strip().upper()).strip("_")
    if plain in ("", _CUSTOM.rstrip("_")):
        return None
    close: list[str] = get_close_matches(plain, STANDARD_CLASSES, n=1, cutoff=_CLASSES_ALIKE)
    if close:
        return close[0]
    custom = plain if plain.startswith(_CUSTOM) else _CUSTOM + plain
    return custom if len(custom) <= NAME_LENGTH else None


def build_checked(
    flavor: FlavorSpec,
    properties: Mapping[str, str],
    *,
    boot_from_volume: bool = False,
    limit: int | None = None,
) -> ResourceRequest:
    """Return the request of this flavor and the properties of this image.

    Raises InvalidExtraSpec, InvalidImageProperty, TraitConflict, and NothingRequested if the flavor asks for nothing,
    or only for resources in groups with a suffix, while there are traits outside these groups.
    """
    check(flavor.extra_specs)
    properties_of_images.check_bootable(properties)
    check_together(flavor.extra_specs, properties)
    request = resource_request.build(flavor, properties, boot_from_volume=boot_from_volume, limit=limit)
    if not request.groups:
        raise NothingRequested(
            message="The flavor asks for nothing. Add resources:CUSTOM_NAME=1, where CUSTOM_NAME is the resource class "
            "of the nodes that it is for."
        )
    unsuffixed = request.groups.get("")
    if unsuffixed is not None and not unsuffixed.resources:
        traits = ", ".join(sorted(unsuffixed.required | unsuffixed.forbidden))
        raise NothingRequested(
            message=f"{traits}: traits without a suffix, and those of an image, need resources without a suffix. Add "
            "resources:CUSTOM_NAME=1 to the flavor, where CUSTOM_NAME is the resource class of the nodes."
        )
    return request
