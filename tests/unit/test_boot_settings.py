"""How a machine is to boot, as node and instance say it."""

from dataclasses import replace
from typing import Any

import pytest

from baremetal_sched.drivers import boot_settings
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import NOTHING, Effect, Machine, together
from tests.redfish import machine

MACHINE = machine()


class Management:
    """Says what it is asked for, and remembers the last of it."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def set_boot_device(self, machine: Machine, device: str, *, persistent: bool) -> Effect:
        self.asked.append((device, persistent))
        return Effect(internal={"device": device})

    def set_boot_mode(self, machine: Machine, mode: str) -> Effect:
        self.asked.append(mode)
        return Effect(fields={"boot_mode": mode})

    def set_secure_boot(self, machine: Machine, enabled: bool) -> Effect:
        self.asked.append(enabled)
        return Effect(fields={"secure_boot": enabled})


@pytest.fixture
def management(monkeypatch: pytest.MonkeyPatch) -> Management:
    found = Management()
    monkeypatch.setattr(boot_settings.Driver, "__getattr__", lambda self, name: found)
    return found


def test_the_boot_mode(subtests: pytest.Subtests) -> None:
    for instance_info, properties, mode in [
        ({}, {}, None),
        ({}, {"capabilities": "boot_mode:bios,a:b"}, "bios"),
        ({}, {"capabilities": {"boot_mode": "uefi"}}, "uefi"),
        ({"capabilities": '{"boot_mode": "uefi"}'}, {"capabilities": "boot_mode:bios"}, "uefi"),
        ({"deploy_boot_mode": "uefi"}, {"capabilities": "boot_mode:bios"}, "uefi"),
        ({"capabilities": {"boot_mode": "bios"}, "deploy_boot_mode": "uefi"}, {}, "bios"),
        ({"capabilities": {"secure_boot": "True", "boot_mode": "bios"}}, {}, "uefi"),
        ({"capabilities": "[" * 100_000}, {"capabilities": 7}, None),
        ({"capabilities": [1]}, {"capabilities": None}, None),
    ]:
        with subtests.test(instance_info=instance_info, properties=properties):
            assert (
                boot_settings.required_mode(replace(MACHINE, instance_info=instance_info, properties=properties))
                == mode
            )


def test_what_is_no_boot_mode(subtests: pytest.Subtests) -> None:
    for mode in ["legacy", 7, ["uefi"], {"a": 1}]:
        with subtests.test(mode=mode):
            for info in ({"capabilities": {"boot_mode": mode}}, {"deploy_boot_mode": mode}):
                with pytest.raises(InvalidValue, match="must be one of bios, uefi"):
                    boot_settings.required_mode(replace(MACHINE, instance_info=info))


def test_only_what_differs_is_set(management: Management) -> None:
    secure = replace(MACHINE, instance_info={"capabilities": {"secure_boot": "true"}})
    done = boot_settings.apply(secure, "cdrom", persistent=True)
    assert management.asked == ["uefi", True, ("cdrom", True)]
    assert done == Effect(fields={"boot_mode": "uefi", "secure_boot": True}, internal={"device": "cdrom"})
    management.asked.clear()
    boot_settings.apply(replace(secure, boot_mode="uefi", secure_boot=True), "cdrom", persistent=False)
    assert management.asked == [("cdrom", False)]


def test_secure_boot_is_taken_back_if_it_was_asked_for(management: Management) -> None:
    wanted = replace(MACHINE, instance_info={"capabilities": {"secure_boot": True}})
    for machine_without in (MACHINE, replace(MACHINE, secure_boot=True), wanted):
        assert boot_settings.take_back(machine_without) is None
    assert boot_settings.take_back(replace(wanted, secure_boot=True)) is not None
    assert management.asked == [False]


def test_effects_together() -> None:
    assert together() is NOTHING
    assert together(None, NOTHING) == NOTHING
    one = Effect(fields={"a": 1}, internal={"b": 1, "c": 1})
    assert together(one, None, Effect(internal={"b": 2}, waits=True)) == Effect(
        fields={"a": 1}, internal={"b": 2, "c": 1}, waits=True
    )
