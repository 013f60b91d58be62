"""Formats of images that agents would find, and not write, are refused when a node is validated."""

from dataclasses import replace

import pytest

from baremetal_sched.drivers.agent import images
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import load
from tests.unit.test_image_info import WHOLE, with_image


def _validate(disk_format: str | None, **conductor: object) -> None:
    machine = with_image(WHOLE if disk_format is None else WHOLE | {"image_disk_format": disk_format})
    images.validate(replace(machine, settings=load(overrides={"conductor": conductor})))


def test_a_format_that_is_not_permitted(subtests: pytest.Subtests) -> None:
    for name in ("vmdk", "vhd", "vhdx", "vdi", "luks"):
        with subtests.test(msg=name):
            with pytest.raises(InvalidValue) as refused:
                _validate(name)
            assert f"image_disk_format is {name}, but [conductor] permitted_image_formats has only raw" in str(
                refused.value
            )
    with pytest.raises(InvalidValue, match="add qcow2 to the option"):
        _validate("qcow2", permitted_image_formats=["raw"])


def test_other_formats(subtests: pytest.Subtests) -> None:
    for name in ("raw", "qcow2", "iso", "ami", "own", None):
        with subtests.test(msg=str(name)):
            _validate(name)
    _validate("vmdk", permitted_image_formats=["raw", "vmdk"])
