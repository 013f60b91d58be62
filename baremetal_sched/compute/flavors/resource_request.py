"""Flavor and image as a request to placement, exactly as Nova builds it.

This module is pure and lenient: like Nova's scheduler it ignores what it does not understand. ``extra_specs`` and
``image_properties`` decide before which requests are allowed at all.

1. Extra specs ``resources[S]:CLASS=N`` and ``trait[S]:NAME=required|forbidden`` make groups by suffix S.
2. ``trait:NAME=required`` of the image joins the request group without a suffix, as do those of ``pinning`` and
   ``devices``.
3. VCPU, MEMORY_MB and DISK_GB of the flavor join it too, unless some group names the class, with 0 for instance.
4. Amounts of 0 vanish, and groups that are empty then.
5. A tree and aggregates are conditions of the request group without a suffix, which comes into being again if it must.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

import os_resource_classes as orc


@dataclass
class Conditions:
    """A group of a request: amounts by class, required traits and forbidden traits."""

    resources: dict[str, int] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)


def pinning(vcpus: int, extra_specs: Mapping[str, str], image_properties: Mapping[str, str]) -> Conditions:
    """Return the request of CPU and thread policies: PCPU instead of VCPU, and hyperthreading or its absence."""
    conditions = Conditions()
    if _setting("cpu_policy", extra_specs, image_properties) == "dedicated":
        emulator = extra_specs.get("hw:emulator_threads_policy") == "isolate"
        conditions.resources[orc.PCPU] = vcpus + emulator
    match _setting("cpu_thread_policy", extra_specs, image_properties):
        case "require":
            conditions.required.add("HW_CPU_HYPERTHREADING")
        case "isolate":
            conditions.forbidden.add("HW_CPU_HYPERTHREADING")
    return conditions


def devices(extra_specs: Mapping[str, str], image_properties: Mapping[str, str]) -> Conditions:
    """Return the requests of persistent memory, TPM, PCI affinity and secure boot."""
    conditions = Conditions()
    labels = filter(None, (label.strip() for label in extra_specs.get("hw:pmem", "").split(",")))
    conditions.resources = dict(Counter(orc.normalize_name(f"PMEM_NAMESPACE_{label}") for label in labels))
    if version := _setting("tpm_version", extra_specs, image_properties):
        conditions.required.add("COMPUTE_SECURITY_TPM_1_2" if version == "1.2" else "COMPUTE_SECURITY_TPM_2_0")
        model = _setting("tpm_model", extra_specs, image_properties)
        conditions.required.add("COMPUTE_SECURITY_TPM_CRB" if model == "tpm-crb" else "COMPUTE_SECURITY_TPM_TIS")
    if _setting("pci_numa_affinity_policy", extra_specs, image_properties) == "socket":
        conditions.required.add("COMPUTE_SOCKET_PCI_NUMA_AFFINITY")
    if (extra_specs.get("os:secure_boot") or image_properties.get("os_secure_boot")) == "required":
        conditions.required.add("COMPUTE_SECURITY_UEFI_SECURE_BOOT")
    return conditions


def _setting(name: str, extra_specs: Mapping[str, str], image_properties: Mapping[str, str]) -> str | None:
    """Return the flavor's value, or the image's if the flavor has none."""
    return extra_specs.get(f"hw:{name}") or image_properties.get(f"hw_{name}")


GROUP_POLICIES = ("none", "isolate")

_KEY = re.compile(r"(resources|trait)([A-Za-z0-9_-]{1,64})?:(.*)$")
_IMAGE_TRAIT = "trait:"
_MIB_PER_GIB = 1024


@dataclass(frozen=True)
class FlavorSpec:
    """The part of a flavor that matters to scheduling. Memory and swap are in MiB, disks in GiB."""

    vcpus: int
    memory_mb: int
    root_gb: int = 0
    ephemeral_gb: int = 0
    swap_mb: int = 0
    extra_specs: Mapping[str, str] = field(default_factory=dict)

    def disk_gb(self, *, boot_from_volume: bool = False) -> int:
        """Return the space that the flavor needs on a local disk; swap counts in whole GiB."""
        root_gb = 0 if boot_from_volume else self.root_gb
        return root_gb + self.ephemeral_gb + -(-self.swap_mb // _MIB_PER_GIB)


@dataclass
class ResourceGroup:
    """Everything that is requested under one suffix; only the group without one may name a tree and aggregates."""

    suffix: str
    resources: dict[str, int] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)
    aggregates: Sequence[Collection[str]] = ()
    forbidden_aggregates: Collection[str] = ()
    in_tree: str | None = None

    @property
    def has_traits(self) -> bool:
        """Return whether the group requires or forbids a trait."""
        return bool(self.required or self.forbidden)

    def pairs(self) -> Iterable[tuple[str, str]]:
        """Yield the group's parameters. ``resources`` is always there, even if it is empty."""
        resources = ",".join(sorted(f"{name}:{amount}" for name, amount in self.resources.items()))
        yield f"resources{self.suffix}", resources
        if traits := _trait_list(self.required, self.forbidden):
            yield f"required{self.suffix}", traits
        for members in self.aggregates:
            yield f"member_of{self.suffix}", "in:" + ",".join(sorted(members))
        if self.forbidden_aggregates:
            yield f"member_of{self.suffix}", "!in:" + ",".join(sorted(self.forbidden_aggregates))
        if self.in_tree:
            yield f"in_tree{self.suffix}", self.in_tree


@dataclass(frozen=True)
class ResourceRequest:
    """Groups by suffix, and the conditions on all of them."""

    groups: Mapping[str, ResourceGroup]
    limit: int | None = None
    group_policy: str | None = None
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    same_subtrees: Sequence[Collection[str]] = ()

    def pairs(self) -> list[tuple[str, str]]:
        """Return the parameters of ``GET /allocation_candidates``, sorted as text."""
        found = [pair for group in self.groups.values() for pair in group.pairs()]
        if self.limit is not None:
            found.append(("limit", str(self.limit)))
        if self.group_policy is not None:
            found.append(("group_policy", self.group_policy))
        if root := _trait_list(self.root_required, self.root_forbidden):
            found.append(("root_required", root))
        found += [("same_subtree", ",".join(sorted(suffixes))) for suffixes in self.same_subtrees]
        return sorted(found)

    def query(self) -> str:
        """Return the query string, encoded as in a form."""
        return urlencode(self.pairs())

    def merged_resources(self) -> dict[str, int]:
        """Return the amounts by class, those of all groups added up."""
        return merged_resources(self.groups.values())


def build(
    flavor: FlavorSpec,
    image_properties: Mapping[str, str],
    *,
    boot_from_volume: bool = False,
    in_tree: str | None = None,
    aggregates: Sequence[Collection[str]] = (),
    forbidden_aggregates: Collection[str] = (),
    limit: int | None = None,
    root_required: Collection[str] = (),
    root_forbidden: Collection[str] = (),
    same_subtrees: Sequence[Collection[str]] = (),
) -> ResourceRequest:
    """Return the request to placement for a server of this flavor and image.

    A provider must be in one of each of ``aggregates``, and in none of ``forbidden_aggregates``. ``limit`` None means
    that the query has none. A boot gives no root traits and no subtrees.
    """
    groups = groups_of(flavor.extra_specs)
    unsuffixed = groups.setdefault("", ResourceGroup(""))
    unsuffixed.required |= required_by_image(image_properties)
    _add(unsuffixed, pinning(flavor.vcpus, flavor.extra_specs, image_properties))
    _add_base(groups, flavor, boot_from_volume=boot_from_volume)
    _add(unsuffixed, devices(flavor.extra_specs, image_properties))
    groups = without_zeros(groups)
    if in_tree or aggregates or forbidden_aggregates:
        unsuffixed = groups.setdefault("", ResourceGroup(""))
        unsuffixed.in_tree = in_tree
        unsuffixed.aggregates, unsuffixed.forbidden_aggregates = aggregates, forbidden_aggregates
    policy = flavor.extra_specs.get("group_policy")
    return ResourceRequest(
        groups,
        limit,
        policy if policy in GROUP_POLICIES else None,
        frozenset(root_required),
        frozenset(root_forbidden),
        same_subtrees,
    )


def parse_key(key: str) -> tuple[str, str, str] | None:
    """Return kind (``resources`` or ``trait``), suffix and name of an extra spec; None if it requests nothing."""
    match = _KEY.match(key)
    if match is None:
        return None
    kind, suffix, name = match.groups()
    return kind, suffix or "", name


def groups_of(extra_specs: Mapping[str, str]) -> dict[str, ResourceGroup]:
    """Return the groups that extra specs make, by suffix, amounts of 0 included. Malformed specs are left out."""
    groups: dict[str, ResourceGroup] = {}
    for key, value in extra_specs.items():
        parsed = parse_key(key)
        if parsed is None:
            continue
        kind, suffix, name = parsed
        amount = _amount(name, value) if kind == "resources" else None
        if amount is not None:
            groups.setdefault(suffix, ResourceGroup(suffix)).resources[name] = amount
        elif kind == "trait" and value == "required":
            groups.setdefault(suffix, ResourceGroup(suffix)).required.add(name)
        elif kind == "trait" and value == "forbidden":
            groups.setdefault(suffix, ResourceGroup(suffix)).forbidden.add(name)
    return groups


def without_zeros(groups: Mapping[str, ResourceGroup]) -> dict[str, ResourceGroup]:
    """Return the groups that ask for something; amounts of 0 are removed from them."""
    for group in groups.values():
        group.resources = {name: amount for name, amount in group.resources.items() if amount}
    return {suffix: group for suffix, group in groups.items() if group.resources or group.has_traits}


def required_by_image(image_properties: Mapping[str, str]) -> set[str]:
    """Return the traits that an image requires."""
    return {
        key.removeprefix(_IMAGE_TRAIT)
        for key, value in image_properties.items()
        if key.startswith(_IMAGE_TRAIT) and value == "required"
    }


def merged_resources(groups: Iterable[ResourceGroup]) -> dict[str, int]:
    """Return the amounts by class, those of all groups added up; a class with 0 in all of them is there too."""
    merged: Counter[str] = Counter()
    for group in groups:
        merged.update(group.resources)
    return dict(merged)


def _amount(resource_class: str, text: str) -> int | None:
    """Return the amount as Python reads it; None if the text is not an amount, or the name not a resource class."""
    if not (resource_class in orc.STANDARDS or orc.is_custom(resource_class)):
        return None
    try:
        amount = int(text)
    except ValueError:
        return None
    return amount if amount >= 0 else None


def _add(group: ResourceGroup, conditions: Conditions) -> None:
    group.resources |= conditions.resources
    group.required |= conditions.required
    group.forbidden |= conditions.forbidden


def _add_base(groups: Mapping[str, ResourceGroup], flavor: FlavorSpec, *, boot_from_volume: bool) -> None:
    """Add the flavor's own amounts of the classes that no group names."""
    named = merged_resources(groups.values())
    own = groups[""].resources
    if orc.VCPU not in named and orc.PCPU not in named:
        own[orc.VCPU] = flavor.vcpus
    if orc.MEMORY_MB not in named:
        own[orc.MEMORY_MB] = flavor.memory_mb
    if orc.DISK_GB not in named:
        own[orc.DISK_GB] = flavor.disk_gb(boot_from_volume=boot_from_volume)


def _trait_list(required: Iterable[str], forbidden: Iterable[str]) -> str:
    return ",".join([*sorted(required), *(f"!{name}" for name in sorted(forbidden))])
