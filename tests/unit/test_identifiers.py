"""What is well formed: UUIDs, names, groups, traits."""

import os_traits
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baremetal_sched.baremetal import identifiers
from baremetal_sched.baremetal.schemas import traits

UUID = "aaaaaaaa-0000-4000-8000-00000000000f"


@pytest.mark.parametrize("text", [UUID, UUID.upper(), UUID.replace("-", "")])
def test_a_uuid_becomes_lower_case_with_dashes(text: str) -> None:
    assert identifiers.canonical_uuid(text) == UUID


@pytest.mark.parametrize("text", ["", "x", "n1", UUID[:-1], UUID + "0", "{" + UUID + "}", "urn:uuid:" + UUID])
def test_what_is_no_uuid(text: str) -> None:
    assert identifiers.canonical_uuid(text) is None


@pytest.mark.parametrize("name", ["n1", "a.b", "a_b", "-a", "a~b", "12345", "x" * 255])
def test_names(name: str) -> None:
    assert identifiers.is_logical_name(name)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "é", "a%b", "x" * 256, UUID, UUID.replace("-", ""), "a\n"])
def test_what_is_no_name(name: str) -> None:
    assert not identifiers.is_logical_name(name)


@pytest.mark.parametrize(
    ("name", "good"), [("a.c", True), ("a_c", False), ("A~c", False), ("-a", False), ("a-b", True)]
)
def test_names_were_host_names_once(name: str, good: bool) -> None:
    assert identifiers.is_logical_name(name, hostname_only=True) is good


@pytest.mark.parametrize(
    ("group", "good"), [("", True), ("Rack_1.a-b", True), ("x" * 255, True), ("x" * 256, False), ("a b", False)]
)
def test_conductor_groups(group: str, good: bool) -> None:
    assert identifiers.is_conductor_group(group) is good


@pytest.mark.parametrize("name", os_traits.get_traits())
def test_every_standard_trait_is_a_trait(name: str) -> None:
    assert traits.is_trait(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "CUSTOM",
        "CUSTOM_",
        "CUSTOM_a",
        "custom_A",
        "CUSTOM-A",
        "HW_NOSUCH",
        " CUSTOM_A",
        "CUSTOM_A\n",
        "CUSTOM_É",
        "CUSTOM_" + "X" * 249,
    ],
)
def test_what_is_no_trait(name: str) -> None:
    assert not traits.is_trait(name)


@given(st.from_regex(r"CUSTOM_[A-Z0-9_]{1,248}", fullmatch=True))
def test_custom_traits(name: str) -> None:
    assert traits.is_trait(name)
