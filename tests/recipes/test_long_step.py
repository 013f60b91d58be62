"""The step that takes long, of the page for contributors, is a step that is polled until it is done."""

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from baremetal_sched.drivers.steps import steps_of
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import NOTHING, Effect
from tests.recipes.recipe import blocks


@pytest.fixture
def bios() -> Any:
    [block] = blocks("long_step")
    module = ModuleType("rack_bios")
    exec(compile(block.text, str(block.path), "exec"), module.__dict__)
    return module.RackBios()


def test_a_step_is_polled_until_it_is_done(bios: Any, tmp_path: Path) -> None:
    [step] = steps_of(bios, "bios", "clean")
    assert (step.step, step.requires_ramdisk) == ("factory_reset", False)
    progress = tmp_path / "progress"
    machine = SimpleNamespace(driver_info={"rack_progress": progress})
    begun = bios.factory_reset(machine)
    assert (
        begun
        == bios.poll(machine, "factory_reset", begun.remember)
        == Effect(poll_after=60, remember={"file": str(progress)})
    )
    progress.write_text("100")
    assert bios.poll(machine, "factory_reset", begun.remember) is NOTHING


def test_a_machine_says_where_the_progress_is(bios: Any) -> None:
    with pytest.raises(InvalidValue):
        bios.validate(SimpleNamespace(driver_info={}))
