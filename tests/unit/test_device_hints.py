"""Which disks hints ask for."""

from typing import Any

import pytest

from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import device_hints

GIB = 2**30
DISKS = [
    {"name": "/dev/sda", "size": 100 * GIB, "vendor": "ACME", "model": "Fast Disk 1", "rotational": False},
    {"name": "/dev/sdb", "size": 200 * GIB, "vendor": "acme", "model": "Slow Disk 2", "rotational": True},
    {"name": "/dev/sdc", "size": 50.5 * GIB, "serial": "S3", "model": "", "vendor": None, "rotational": "x"},
    {"name": "/dev/sdd", "size": None, "model": 4, "rotational": "off"},
]


def letters(hints: Any) -> str:
    return "".join(disk["name"][-1] for disk in device_hints.matching(DISKS, hints))


def test_disks_that_are_meant(subtests: pytest.Subtests) -> None:
    for name, hint, expected in [
        ("size", 100, "a"),
        ("size", "100", "a"),
        ("size", "== 200", "b"),
        ("size", "!= 200", "ac"),
        ("size", ">= 100", "ab"),
        ("size", "= 100", "ab"),
        ("size", "> 100", "b"),
        ("size", "<= 100", "ac"),
        ("size", "<100", "c"),
        ("size", "<or> 100 <or> 200", "ab"),
        ("size", "<range-in> [ 100 200 )", "a"),
        ("size", "<range-in> ( 50 200 ]", "abc"),
        ("size", "<range-in> ( 100 200 ]", "b"),
        ("vendor", "Acme", "ab"),
        ("vendor", "s== acme", "ab"),
        ("vendor", "s!= acme", ""),
        ("vendor", "none", ""),
        ("model", "fast disk 1", "a"),
        ("model", "<in> disk", "ab"),
        ("model", "<in> Disk 2", "b"),
        ("model", "<all-in> 1 disk", "a"),
        ("model", "<or> fast disk 1 <or> slow disk 2", "ab"),
        ("model", "<or> disk", ""),
        ("name", "s>= /dev/sdc", "cd"),
        ("name", "s> /dev/sdc", "d"),
        ("name", "s<= /dev/sdb", "ab"),
        ("name", "s< /dev/sdb", "a"),
        ("rotational", True, "b"),
        ("rotational", "no", "ad"),
        ("serial", "s3", "c"),
        ("wwn", "x", ""),
    ]:
        with subtests.test(name=name, hint=hint):
            assert letters({name: hint}) == expected


def test_all_hints_count() -> None:
    assert letters({"vendor": "acme", "rotational": "true"}) == "b"


def test_hints_that_are_refused(subtests: pytest.Subtests) -> None:
    for hints, text in [
        (None, "Hints must be an object"),
        ({}, "Hints must be an object"),
        ("sda", "Hints must be an object"),
        ({"colour": "red"}, "Unknown hint 'colour'. Hints are: by_path, hctl, model"),
        ({"size": "big"}, "positive number of GiB, not 'big'"),
        ({"size": 0}, "positive number"),
        ({"size": "-1"}, "positive number"),
        ({"size": "9" * 5000}, "positive number"),
        ({"size": ""}, "positive number"),
        ({"size": ">="}, "positive number"),
        ({"size": "<or>"}, "positive number"),
        ({"size": "<or> 1 <or> x"}, "not 'x'"),
        ({"size": "s== 10"}, "a number, which s== does not compare"),
        ({"size": "<range-in> 1 2"}, "is not a range"),
        ({"size": "<range-in> { 1 2 ]"}, "is not a range"),
        ({"size": "<range-in> [ 2 1 ]"}, "is empty"),
        ({"size": "<range-in> [ 1 x ]"}, "not 'x'"),
        ({"model": 5}, "model must be a string"),
        ({"model": " "}, "model is empty"),
        ({"model": "<in>"}, "model is empty"),
        ({"model": "<or> <or>"}, "model is empty"),
        ({"model": ">= 5"}, "is text, which >= does not compare"),
        ({"rotational": "perhaps"}, "Invalid rotational"),
    ]:
        with subtests.test(hints=hints), pytest.raises(InvalidValue, match=text):
            letters(hints)
