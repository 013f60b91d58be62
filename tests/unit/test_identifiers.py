"""Well-formed UUIDs, names, groups and traits, and proposals for a name that is not that of a trait."""

import os_traits
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baremetal_sched.baremetal import identifiers
from baremetal_sched.baremetal.schemas import traits

UUID = "aaaaaaaa-0000-4000-8000-00000000000f"


def test_uuids() -> None:
    """They become lower case with dashes; None for a text that is no UUID."""
    right = dict.fromkeys((UUID, UUID.upper(), UUID.replace("-", "")), UUID)
    wrong = dict.fromkeys(["", "x", "n1", UUID[:-1], UUID + "0", "{" + UUID + "}", "urn:uuid:" + UUID])
    assert {text: identifiers.canonical_uuid(text) for text in right | wrong} == right | wrong


def test_names() -> None:
    right = dict.fromkeys(["n1", "a.b", "a_b", "-a", "a~b", "12345", "x" * 255], True)
    bad = ["", "a b", "a/b", "é", "a%b", "x" * 256, UUID, UUID.replace("-", ""), "a\n"]
    wrong = dict.fromkeys(bad, False)
    assert {name: identifiers.is_logical_name(name) for name in right | wrong} == right | wrong


def test_names_were_host_names_once() -> None:
    rows = {"a.c": True, "a_c": False, "A~c": False, "-a": False, "a-b": True}
    assert {name: identifiers.is_logical_name(name, hostname_only=True) for name in rows} == rows


def test_conductor_groups() -> None:
    rows = {"": True, "Rack_1.a-b": True, "x" * 255: True, "x" * 256: False, "a b": False}
    assert {group: identifiers.is_conductor_group(group) for group in rows} == rows


def test_traits() -> None:
    """Every standard trait is one, and so is every well-formed custom name."""
    bad = ["", "CUSTOM", "CUSTOM_", "CUSTOM_a", "custom_A", "CUSTOM-A", "HW_NOSUCH", " CUSTOM_A", "CUSTOM_A\n"]
    bad += ["CUSTOM_É", "CUSTOM_" + "X" * 249]
    rows = dict.fromkeys(os_traits.get_traits(), True) | dict.fromkeys(bad, False)
    assert len(rows) > 300
    assert {name: traits.is_trait(name) for name in rows} == rows


@given(st.from_regex(r"CUSTOM_[A-Z0-9_]{1,248}", fullmatch=True))
def test_custom_traits(name: str) -> None:
    assert traits.is_trait(name)


def test_proposals(subtests: pytest.Subtests) -> None:
    for name, meant in [
        ("NVME", ["CUSTOM_NVME"]),
        ("nvme-ssd v1", ["CUSTOM_NVME_SSD_V1"]),
        ("custom_nvme", ["CUSTOM_NVME"]),
        ("CUSTOM_NVME\n", ["CUSTOM_NVME"]),
        ("hw_cpu_x86_avx2", ["HW_CPU_X86_AVX2"]),
        ("AVX2", ["CUSTOM_AVX2", "HW_CPU_X86_AVX2"]),
        ("STORAGE_DISC_SSD", ["STORAGE_DISK_SSD", "STORAGE_DISK_HDD", "CUSTOM_STORAGE_DISC_SSD"]),
        ("CUSTOM_", []),
        ("!", []),
        ("é", []),
        ("x" * 250, []),
    ]:
        with subtests.test(name=name):
            assert traits.proposals(name) == meant
            assert all(traits.is_trait(trait) for trait in meant)


def test_a_complaint_is_a_sentence() -> None:
    assert traits.complaint("NVME") == (
        "'NVME' is not a valid trait. Did you mean CUSTOM_NVME? It is not one of os-traits, and does not match "
        "'^CUSTOM_[A-Z0-9_]+$'."
    )
    assert "Did you mean STORAGE_DISK_SSD or STORAGE_DISK_HDD or" in traits.complaint("STORAGE_DISC_SSD")
    assert "mean" not in traits.complaint("!")
