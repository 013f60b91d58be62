"""Values of Placement's query parameters."""

import re

import pytest

from baremetal_sched.errors.placement import BadQuery
from baremetal_sched.placement.query_values import parse_member_of, parse_required, parse_resources

UUID = "aaaaaaaa-0000-4000-8000-000000000001"


def test_resources() -> None:
    assert parse_resources("VCPU:1,MEMORY_MB: 2 ,VCPU:3") == {"VCPU": 3, "MEMORY_MB": 2}


def test_bad_resources(subtests: pytest.Subtests) -> None:
    for text, message in [
        ("", "Badly formed resources parameter"),
        ("VCPU", "Badly formed resources parameter"),
        ("VCPU:1:2", "Badly formed resources parameter"),
        ("VCPU:x", "expected positive integer amount. Got: x"),
        ("VCPU:0", "requires amount >= 1. Got: 0"),
    ]:
        with subtests.test(text=text), pytest.raises(BadQuery, match=message):
            parse_resources(text)


def test_required_traits() -> None:
    conditions = parse_required(["A,!B", "in:C,D"], 39)
    assert conditions.required == [frozenset({"A"}), frozenset({"C", "D"})]
    assert conditions.forbidden == {"B"}
    assert parse_required(["A", "B"], 38).required == [frozenset({"B"})]
    # However many marks there are, they are one; blanks around a name do not count.
    assert parse_required(["!!!B, A "], 22) == parse_required(["A,!B"], 22)


def test_contradictions_are_traits_that_cannot_be_right() -> None:
    assert parse_required(["A,B,!B"], 39).contradictions() == {"B"}
    assert parse_required(["in:A,B", "!A"], 39).contradictions() == set()
    assert parse_required(["in:A,B", "!A,!B"], 39).contradictions() == {"A", "B"}


def test_bad_required_traits(subtests: pytest.Subtests) -> None:
    for text, version, message in [
        ("A,", 39, "Got an empty trait in: A,"),
        ("!", 39, "Got an empty trait in: !"),
        ("!A", 21, "HW_CPU_X86_VMX,CUSTOM_MAGIC. Got: !A"),
        ("in:A", 38, "only supported since microversion 1.39"),
        ("in:A,", 39, "Got an empty trait in: in:A,"),
        ("in:A,!B", 39, "does not support forbidden traits"),
    ]:
        with subtests.test(text=text), pytest.raises(BadQuery, match=re.escape(message)):
            parse_required([text], version)


def test_aggregates() -> None:
    conditions = parse_member_of("member_of", [UUID, f"in:{UUID}", f"!{UUID}"], 32)
    assert conditions.member_of == [frozenset({UUID}), frozenset({UUID})]
    assert conditions.forbidden == {UUID}


def test_bad_aggregates(subtests: pytest.Subtests) -> None:
    for values, version, message in [
        (["x"], 32, "contain valid UUID"),
        ([f"{UUID},{UUID}"], 32, "must be prefixed with the 'in:'"),
        ([UUID, UUID], 23, "Multiple member_of parameters are not supported"),
        ([f"!{UUID}"], 31, "Forbidden member_of parameters are not supported"),
    ]:
        with subtests.test(values=values), pytest.raises(BadQuery, match=message):
            parse_member_of("member_of", values, version)
