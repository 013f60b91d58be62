"""Requests of random flavors and images, against a second builder that is written as naively as can be."""

from collections.abc import Mapping
from string import ascii_letters, digits
from urllib.parse import parse_qsl

from hypothesis import given, settings
from hypothesis import strategies as st

from baremetal_sched.compute.flavors.resource_request import FlavorSpec, build
from tests.examples import examples

SUFFIX_LETTERS = ascii_letters + digits + "_-"
STANDARD = ["VCPU", "PCPU", "MEMORY_MB", "DISK_GB", "VGPU"]
TREE = "cccccccc-0000-4000-8000-000000000001"

_suffixes = st.sampled_from(["", "", "1", "2", "10", "0", "_NET-1", "s", ".1", "é", "x" * 64, "x" * 65])
_classes = st.sampled_from([*STANDARD, "CUSTOM_A", "CUSTOM_B", "CUSTOM_", "CUSTOM_a!", "GOLD", "custom_a", "", "A:B"])
_traits = st.sampled_from(["CUSTOM_T", "CUSTOM_U", "HW_CPU_X86_VMX", "nonsense", "", "A:B"])
_words = st.sampled_from(["resources", "resources", "trait", "trait", "Resources", "traits", "resource", "foo"])
_amounts = st.sampled_from(["0", "1", "2", "007", " 2 ", "+3", "1_000", "-1", "1.5", "", "abc", "99999999999"])
_trait_values = st.sampled_from(["required", "required", "forbidden", "Required", " required", ""])
_keys = st.builds(lambda word, suffix, name: f"{word}{suffix}:{name}", _words, _suffixes, _classes | _traits)
_extra_specs = st.dictionaries(_keys, _amounts | _trait_values, max_size=8) | st.fixed_dictionaries(
    {"group_policy": st.sampled_from(["none", "isolate", "None", ""])},
    optional={"resources1:CUSTOM_A": _amounts, "resources2:CUSTOM_A": _amounts, "resources:VCPU": _amounts},
)
_small = st.integers(0, 5)
_flavors = st.builds(FlavorSpec, _small, _small, _small, _small, st.integers(0, 3000), _extra_specs)
_images = st.dictionaries(
    st.builds(lambda word, name: word + name, st.sampled_from(["trait:", "trait1:", "resources:", ""]), _traits),
    _trait_values,
    max_size=3,
)


class Line:
    """One wish: so much of a class, or a trait, for the group with a suffix."""

    def __init__(self, suffix: str, what: str, name: str, amount: int = 0) -> None:
        self.suffix, self.what, self.name, self.amount = suffix, what, name, amount


def naive(flavor: FlavorSpec, image: Mapping[str, str], *, volume: bool, tree: str | None) -> list[tuple[str, str]]:
    """The parameters in order, from a list of wishes."""
    lines = [line for key, value in flavor.extra_specs.items() for line in wishes(key, value)]
    for key, value in image.items():
        if key[:6] == "trait:" and value == "required":
            lines.append(Line("", "required", key[6:]))
    named = [line.name for line in lines if line.what == "resource"]
    if "VCPU" not in named and "PCPU" not in named:
        lines.append(Line("", "resource", "VCPU", flavor.vcpus))
    if "MEMORY_MB" not in named:
        lines.append(Line("", "resource", "MEMORY_MB", flavor.memory_mb))
    if "DISK_GB" not in named:
        swap = len(range(0, flavor.swap_mb, 1024))
        disks = [flavor.ephemeral_gb, swap] if volume else [flavor.ephemeral_gb, swap, flavor.root_gb]
        lines.append(Line("", "resource", "DISK_GB", sum(disks)))
    lines = [line for line in lines if line.what != "resource" or line.amount > 0]
    suffixes = {line.suffix for line in lines}
    pairs = [("limit", "7")]
    if flavor.extra_specs.get("group_policy") in ("none", "isolate"):
        pairs.append(("group_policy", flavor.extra_specs["group_policy"]))
    if tree is not None:
        suffixes.add("")
        pairs.append(("in_tree", tree))
    for suffix in suffixes:
        mine = [line for line in lines if line.suffix == suffix]
        resources = sorted(f"{line.name}:{line.amount}" for line in mine if line.what == "resource")
        required = sorted({line.name for line in mine if line.what == "required"})
        forbidden = ["!" + name for name in sorted({line.name for line in mine if line.what == "forbidden"})]
        pairs.append((f"resources{suffix}", ",".join(resources)))
        if ",".join(required + forbidden):
            pairs.append((f"required{suffix}", ",".join(required + forbidden)))
    return sorted(pairs)


def wishes(key: str, value: str) -> list[Line]:
    """The request of an extra spec, if any."""
    for word in ("resources", "trait"):
        if not key.startswith(word) or ":" not in key:
            continue
        colon = key.index(":")
        suffix, name = key[len(word) : colon], key[colon + 1 :]
        if len(suffix) > 64 or any(letter not in SUFFIX_LETTERS for letter in suffix):
            continue
        if word == "trait":
            return [Line(suffix, value, name)] if value in ("required", "forbidden") else []
        if name not in STANDARD and not name.startswith("CUSTOM_"):
            return []
        try:
            return [Line(suffix, "resource", name, int(value))] if int(value) >= 0 else []
        except ValueError:
            return []
    return []


@settings(max_examples=examples(500), deadline=None)
@given(_flavors, _images, st.booleans(), st.none() | st.just(TREE))
def test_both_builders_agree(flavor: FlavorSpec, image: dict[str, str], volume: bool, tree: str | None) -> None:
    request = build(flavor, image, boot_from_volume=volume, in_tree=tree, limit=7)
    assert request.pairs() == naive(flavor, image, volume=volume, tree=tree)
    assert parse_qsl(request.query(), keep_blank_values=True) == request.pairs()


def test_building_changes_nothing() -> None:
    """A request may be built twice of one flavor."""
    flavor = FlavorSpec(1, 1, extra_specs={"resources:CUSTOM_A": "1", "trait:CUSTOM_T": "forbidden"})
    first = build(flavor, {"trait:CUSTOM_U": "required"}, in_tree=TREE).query()
    assert build(flavor, {}).query() == "required=%21CUSTOM_T&resources=CUSTOM_A%3A1%2CMEMORY_MB%3A1%2CVCPU%3A1"
    assert build(flavor, {"trait:CUSTOM_U": "required"}, in_tree=TREE).query() == first


def test_conditions_on_hardware() -> None:
    """Flavor and image may ask for them; the flavor is first."""

    def query(extra_specs: dict[str, str], image: dict[str, str] | None = None) -> dict[str, str]:
        return dict(build(FlavorSpec(4, 0, extra_specs=extra_specs), image or {}).pairs())

    dedicated = {"hw:cpu_policy": "dedicated"}
    assert query(dedicated) == {"resources": "PCPU:4"}
    assert query({**dedicated, "hw:emulator_threads_policy": "isolate"}) == {"resources": "PCPU:5"}
    assert query({"hw:cpu_policy": "shared"}, {"hw_cpu_policy": "dedicated"}) == {"resources": "VCPU:4"}
    assert query({}, {"hw_cpu_policy": "dedicated"}) == {"resources": "PCPU:4"}
    assert query({"hw:cpu_thread_policy": "require"})["required"] == "HW_CPU_HYPERTHREADING"
    assert query({"hw:tpm_version": "1.2"})["required"] == "COMPUTE_SECURITY_TPM_1_2,COMPUTE_SECURITY_TPM_TIS"
    assert query({}, {"os_secure_boot": "required"})["required"] == "COMPUTE_SECURITY_UEFI_SECURE_BOOT"
    assert query({"os:secure_boot": "disabled"}, {"os_secure_boot": "required"}) == {"resources": "VCPU:4"}
    pmem = query({"hw:pmem": "6GB, 6gb,16-GB,"})["resources"]
    assert pmem == "CUSTOM_PMEM_NAMESPACE_16_GB:1,CUSTOM_PMEM_NAMESPACE_6GB:2,VCPU:4"
