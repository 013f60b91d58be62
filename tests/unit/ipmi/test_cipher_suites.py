"""Cipher suites that a controller lacks, in the words of ipmitool 1.8.19. A script stands for it."""

from pathlib import Path

import pytest

from baremetal_sched.drivers.ipmi import ipmitool
from baremetal_sched.errors.baremetal import ControllerError
from tests.unit.ipmi.machines import machine
from tests.unit.ipmi.test_ipmitool import INFO, clock, commands, fails, folder, put

__all__ = ["clock", "folder"]

_NO_SESSION = "Error: Unable to establish IPMI v2 / RMCP+ session"
#: What ipmitool says of the statuses 04h, 05h, 06h, 07h, 10h and 11h of an answer to the request for a session.
STATUSES = (
    "invalid authentication algorithm",
    "invalid integrity algorithm",
    "no matching authentication algorithm",
    "no matching integrity payload",
    "invalid confidentiality algorithm",
    "no matching cipher suite",
)


def _said(status: str) -> str:
    return fails(
        f"Unable to Get Channel Cipher Suites\nError in open session response message : {status}\n{_NO_SESSION}"
    )


@pytest.mark.parametrize("status", STATUSES)
def test_a_suite_that_the_controller_lacks_is_final_and_named(folder: Path, status: str) -> None:
    put(folder, _said(status))
    with pytest.raises(ControllerError) as refused:
        ipmitool.run(machine({**INFO, "ipmi_cipher_suite": 17}, command_retry_timeout=60), "power", "status")
    assert len(commands(folder)) == 1
    assert str(refused.value).startswith(
        "The management controller at 10.0.0.1 does not accept cipher suite 17. Set driver_info/ipmi_cipher_suite to "
        f"one that it has. It says: Error in open session response message : {status}"
    )


@pytest.mark.parametrize("status", STATUSES)
def test_the_next_suite_is_tried(folder: Path, status: str) -> None:
    put(folder, _said(status))
    with pytest.raises(ControllerError, match=r"does not accept cipher suite 3\."):
        ipmitool.run(machine(INFO, cipher_suite_versions=["3", "17"]), "power", "status")
    assert [command.partition(" -C ")[2].split(" ")[0] for command in commands(folder)] == ["", "17", "3"]


def test_a_suite_that_ipmitool_chose(folder: Path) -> None:
    put(folder, _said(STATUSES[0]))
    with pytest.raises(ControllerError, match="does not accept the cipher suite that ipmitool has chosen"):
        ipmitool.run(machine(INFO), "power", "status")


def test_what_stands_in_front_of_every_refusal_is_left_out(folder: Path) -> None:
    """A controller need not list its suites."""
    put(folder, fails("Unable to Get Channel Cipher Suites\nPower command failed: Invalid command"))
    with pytest.raises(ControllerError) as refused:
        ipmitool.run(machine(INFO), "power", "status")
    assert str(refused.value).endswith("refuses a command: Power command failed: Invalid command")
