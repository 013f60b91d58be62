"""Extra specs of flavors: refusals, their messages, and that the page about them says the same."""

import re
from pathlib import Path

import pytest

from baremetal_sched.compute.flavors.extra_specs import REFUSED_NAMESPACES, check, forbidden_anywhere
from baremetal_sched.errors.compute import InvalidExtraSpec
from baremetal_sched.image.properties import REFUSED

PAGE = (Path(__file__).parents[2] / "api-ref" / "compute" / "extra_specs.rst").read_text()
_FORMS = "Write resources[S]:CLASS=N or trait[S]:NAME=required|forbidden"


def test_accepted(subtests: pytest.Subtests) -> None:
    for extra_specs in [
        {},
        {"foo": "bar", "foo:bar": "baz", "root_required:CUSTOM_T": "required", "quota:cpu_shares": "10"},
        {"resources:CUSTOM_GOLD": "1", "resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"},
        {
            "resources:CUSTOM_GOLD": "007",
            "trait:CUSTOM_NOT_ON_ANY_NODE": "required",
            "trait:HW_CPU_X86_VMX": "forbidden",
        },
        {"resources_NET-1:CUSTOM_NIC": "1", "trait_NET-1:CUSTOM_PHYS": "required"},
        {"resources1:CUSTOM_NIC": "1", "resources2:CUSTOM_NIC": "1", "group_policy": "isolate"},
        {"resources1:CUSTOM_NIC": "1", "resources2:CUSTOM_NIC": "0"},
        {"group_policy": "none"},
        {"resourcesssd:CUSTOM_DISK": "1", "traitssd:CUSTOM_FAST": "required"},
        {"capabilities:boot_mode": "uefi", "capabilities:a:b": "", "capabilities:s": "s3", "capabilities:x": "so"},
        {f"resources{'x' * 64}:VCPU": "1"},
    ]:
        with subtests.test(extra_specs=extra_specs):
            check(extra_specs)


def test_refused(subtests: pytest.Subtests) -> None:
    for key, value, said in [
        ("resources:GOLD", "1", "'GOLD' is not a resource class. Did you mean CUSTOM_GOLD?"),
        ("resources:custom_gold", "1", "Did you mean CUSTOM_GOLD?"),
        ("resources:CPU", "1", "Did you mean VCPU?"),
        ("resources:", "1", "'' is not a resource class. It is not one of"),
        ("resources:CUSTOM_", "1", "'CUSTOM_' is not a resource class. It is not one of"),
        ("resources:CUSTOM_" + "X" * 300, "1", "is not a resource class"),
        ("resources:CUSTOM_A", "-1", "must be a number in decimal digits, such as 0 or 1, not '-1'"),
        ("resources:CUSTOM_A", "", "not ''"),
        ("resources:CUSTOM_A", " 2 ", "decimal digits"),
        ("resources:CUSTOM_A", "1_000", "decimal digits"),
        ("resources:CUSTOM_A", "+3", "decimal digits"),
        ("resources:CUSTOM_A", "1.5", "decimal digits"),
        ("resources:CUSTOM_A", "٣", "decimal digits"),
        ("trait:AVX2", "required", "Did you mean CUSTOM_AVX2 or HW_CPU_X86_AVX2?"),
        ("trait:", "required", "'' is not a valid trait"),
        ("trait:CUSTOM_T:x", "required", "'CUSTOM_T:x' is not a valid trait"),
        ("trait:CUSTOM_T", "preferred", "its value must be required or forbidden, not 'preferred'"),
        ("trait1:CUSTOM_T", "Required", "not 'Required'"),
        ("traits:CUSTOM_T", "required", _FORMS),
        ("traits_1:CUSTOM_T", "required", _FORMS),
        ("resource:VCPU", "1", _FORMS),
        ("resources.1:VCPU", "1", _FORMS),
        (f"resources{'x' * 65}:VCPU", "1", _FORMS),
        ("Resources:VCPU", "1", _FORMS),
        (" resources:VCPU", "1", _FORMS),
        ("resources", "VCPU", _FORMS),
        ("traits_required", "CUSTOM_T", _FORMS),
        ("ressources:VCPU", "1", "did you mean 'resources'?"),
        ("trat:CUSTOM_T", "required", "did you mean 'trait'?"),
        ("group_policy", "all", "its value must be none or isolate, not 'all'"),
        ("group-policy", "none", "did you mean 'group_policy'? Write group_policy=none|isolate."),
        ("group_policy:none", "1", "did you mean 'group_policy'?"),
        ("capabilities:", "x", "Write capabilities:NAME=VALUE."),
        ("capability:boot_mode", "uefi", "Write capabilities:NAME=VALUE."),
        ("capabilities:boot_mode", "<in> uefi", "the operator '<in>' is not supported"),
        ("capabilities:boot_mode", "s== uefi", "the operator 's==' is not supported"),
        ("capabilities:ram", ">= 5", "the operator '>=' is not supported"),
        ("capabilities:ram", "<or> 1 <or> 2", "the operator '<or>' is not supported"),
        ("capabilities:ram", "= 5", "the operator '=' is not supported"),
        ("hw:cpu_policy", "dedicated", "it describes a virtual machine"),
        ("hw:mem_encryption", "true", "it describes a virtual machine"),
        ("hw:pmem", "6GB", "it describes a virtual machine"),
        ("hw:tpm_version", "2.0", "it describes a virtual machine"),
        ("hw:maxphysaddr_mode", "emulate", "it describes a virtual machine"),
        ("hw:pci_numa_affinity_policy", "socket", "it describes a virtual machine"),
        ("os:secure_boot", "required", "it describes a virtual machine"),
        ("accel:device_profile", "p", "there are no device profiles"),
        ("pci_passthrough:alias", "gpu:1", "devices belong to the node"),
        ("aggregate_instance_extra_specs:ssd", "true", "there are no host aggregates"),
    ]:
        with subtests.test(key=key, value=value):
            with pytest.raises(InvalidExtraSpec) as error:
                check({"resources:CUSTOM_GOLD": "1", key: value})
            assert str(error.value).startswith(f"Extra spec '{key}' is not valid: ")
            assert said in str(error.value)


def test_what_does_not_go_together(subtests: pytest.Subtests) -> None:
    for extra_specs, key, said in [
        ({"trait1:CUSTOM_T": "required"}, "trait1:CUSTOM_T", "Add resources1:CLASS=N, with N of at least 1."),
        (
            {"resources1:CUSTOM_A": "0", "trait1:CUSTOM_T": "forbidden"},
            "trait1:CUSTOM_T",
            "a group needs resources too",
        ),
        (
            {"resources1:CUSTOM_A": "1", "resources2:CUSTOM_A": "1"},
            "group_policy",
            "it is missing, and there is more than one group (resources1, resources2). Add group_policy=none",
        ),
    ]:
        with subtests.test(extra_specs=extra_specs):
            with pytest.raises(InvalidExtraSpec) as error:
                check(extra_specs)
            assert str(error.value).startswith(f"Extra spec '{key}' is not valid: ")
            assert said in str(error.value)


def test_traits_that_any_group_forbids() -> None:
    extra_specs = {"trait:CUSTOM_A": "forbidden", "trait1:CUSTOM_B": "forbidden", "trait:CUSTOM_C": "required"}
    assert forbidden_anywhere(extra_specs) == {"CUSTOM_A", "CUSTOM_B"}


def test_what_is_refused_by_name_is_listed() -> None:
    for namespace in REFUSED_NAMESPACES:
        assert f"``{namespace}:*``" in PAGE
    listed = re.findall(r"``((?:hw|os)_\w+)``", PAGE.partition("Image properties that become")[2])
    assert listed[: len(REFUSED)] == list(REFUSED)


def test_the_example_is_a_flavor_for_bare_metal() -> None:
    specs = dict(re.findall(r"--property (\S+)=(\d)", PAGE))
    assert set(specs.values()) == {"0", "1"}
    check(specs)
