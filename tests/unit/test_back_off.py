"""Which addresses are left alone, and for how long."""

from types import SimpleNamespace
from typing import Any

import pytest

from baremetal_sched.conductor.outage import BackOff, addresses_of


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def machine(**driver_info: Any) -> Any:
    return SimpleNamespace(uuid="u1", driver_info=driver_info)


def test_where_a_machine_is_managed(subtests: pytest.Subtests) -> None:
    for driver_info, addresses in [
        ({}, {"u1"}),
        ({"ipmi_address": None, "address": "x", "ipmi_username": "a"}, {"u1"}),
        ({"ipmi_address": "10.0.0.1", "redfish_address": "https://10.0.0.1"}, {"10.0.0.1", "https://10.0.0.1"}),
        ({"snmp_address": 7}, {"7"}),
    ]:
        with subtests.test(driver_info=driver_info):
            assert addresses_of(machine(**driver_info)) == addresses


def test_pauses_grow_until_there_is_an_answer() -> None:
    clock = Clock()
    back_off = BackOff(clock)
    for pause in (60, 120, 240):
        assert back_off.is_due({"a", "b"})
        back_off.note_silence({"a"}, 60)
        clock.now += pause - 1
        assert (back_off.is_due({"a", "b"}), back_off.is_due({"b"})) == (False, True)
        clock.now += 1
    back_off.note_answer({"a"})
    back_off.note_silence({"a"}, 60)
    clock.now += 60
    assert back_off.is_due({"a"})


def test_machines_that_share_a_controller_are_one_failure() -> None:
    clock = Clock()
    back_off = BackOff(clock)
    for _ in range(3):
        back_off.note_silence({"chassis"}, 60)
    clock.now += 60
    assert back_off.is_due({"chassis"})


def test_no_pause_is_longer_than_an_hour() -> None:
    clock = Clock()
    back_off = BackOff(clock)
    for _ in range(2000):
        back_off.note_silence({"a"}, 60)
    clock.now += 3600
    assert back_off.is_due({"a"})
