"""Capabilities that a flavor asks for, and those of a node."""

import pytest

from baremetal_sched.baremetal.matching.capabilities import capabilities_of, required_capabilities, unmet_capabilities


def test_wanted() -> None:
    assert required_capabilities({"capabilities:boot_mode": "uefi", "x": "y", "capabilities:a:b": "v"}) == {
        "boot_mode": "uefi",
        "a:b": "v",
    }


def test_capabilities_of_a_node(subtests: pytest.Subtests) -> None:
    for properties, capabilities in [
        ({}, {}),
        ({"capabilities": None}, {}),
        ({"capabilities": ""}, {}),
        ({"capabilities": "boot_mode:uefi, secure_boot: true"}, {"boot_mode": "uefi", "secure_boot": "true"}),
        ({"capabilities": "disk_label:a:b,nonsense,:x,"}, {"disk_label": "a:b"}),
        ({"capabilities": {"boot_mode": "uefi", "cores": 4}}, {"boot_mode": "uefi", "cores": "4"}),
        ({"capabilities": ["boot_mode:uefi"]}, {}),
    ]:
        with subtests.test(properties=properties):
            assert capabilities_of(properties) == capabilities


def test_unmet() -> None:
    extra_specs = {"capabilities:boot_mode": "uefi", "capabilities:cores": "4", "trait:CUSTOM_A": "required"}
    assert unmet_capabilities(extra_specs, {"capabilities": "boot_mode:uefi,cores:4"}) == []
    assert unmet_capabilities(extra_specs, {"capabilities": "boot_mode:UEFI,cores:4.0"}) == ["boot_mode", "cores"]
    assert unmet_capabilities(extra_specs, {}) == ["boot_mode", "cores"]
    assert unmet_capabilities({}, {}) == []
