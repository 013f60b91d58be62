"""How ipmitool is run: secrets, time, retries, turns. A script stands for it."""

import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from baremetal_sched.drivers.ipmi import ipmitool, process
from baremetal_sched.drivers.ipmi.hardware import IpmitoolPower
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.errors.baremetal import ControllerError, MachineUnreachable
from tests.unit.ipmi.machines import machine, put_program
from tests.waiting import PATIENCE, wait_until

PASSWORD, KG_KEY = "Pa$$ w0rd'\"", "6b67734b6579"
INFO = {"ipmi_address": "10.0.0.1", "ipmi_username": "admin", "ipmi_password": PASSWORD, "ipmi_hex_kg_key": KG_KEY}

#: Writes down how it was called: its command line, what it reads as the password, its environment.
NOTES = """
tr '\\0' ' ' < /proc/$$/cmdline >> "$NOTES/commands"; echo >> "$NOTES/commands"
while [ $# -gt 0 ]; do
  if [ "$1" = -f ]; then cat "$2" > "$NOTES/password"; fi
  shift
done
env > "$NOTES/environment"
"""


class Clock:
    """The clock of the retries: it runs only while a caller sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(ipmitool, "time", clock)
    monkeypatch.setattr(ipmitool, "_SHORTEST_RUN", PATIENCE)  # for each of our scripts
    return clock


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("OS_DATABASE__CONNECTION", "postgresql://a:planted@b/c")
    return tmp_path


def put(folder: Path, text: str) -> None:
    put_program(folder, (NOTES + text).replace("$NOTES", str(folder)))


def commands(folder: Path) -> list[str]:
    return (folder / "commands").read_text().splitlines()


def fails(text: str, status: int = 1) -> str:
    return f"echo '{text}' >&2; exit {status}"


@pytest.mark.parametrize("in_environment", [False, True])
def test_secrets_are_not_on_the_command_line(folder: Path, in_environment: bool) -> None:
    put(folder, "echo 'Chassis Power is on'")
    opened = len(list(Path("/dev/fd").iterdir()))
    assert ipmitool.run(machine(INFO, store_cred_in_env=in_environment), "power", "status") == "Chassis Power is on\n"
    (command,) = commands(folder)
    assert command.split("ipmitool ", 1)[1].startswith(
        "-v -I lanplus -H 10.0.0.1 -L ADMINISTRATOR -U admin -R 1 -N 1 -K"
    )
    assert command.rstrip().endswith("power status")
    assert PASSWORD not in command
    assert KG_KEY not in command
    environment = (folder / "environment").read_text()
    assert "IPMI_KGKEY=kgsKey" in environment
    assert "planted" not in environment
    if in_environment:
        assert f"IPMI_PASSWORD={PASSWORD}" in environment
    else:
        assert (folder / "password").read_text() == PASSWORD
        assert "IPMI_PASSWORD" not in environment
    assert len(list(Path("/dev/fd").iterdir())) == opened


def test_an_empty_password_is_no_empty_file(folder: Path) -> None:
    put(folder, "")
    ipmitool.run(machine({"ipmi_address": "10.0.0.1"}), "power", "status")
    assert (folder / "password").read_bytes() == b"\0"


def test_what_it_says_is_shown_without_secrets_shortened_and_on_one_line(folder: Path) -> None:
    said = "Loading IANA PEN Registry...\\n> login of admin with kgsKey and Pa$$ w0rd refused: password=other \\x1b[1m"
    put(folder, f"printf '{said}' >&2; head -c 999 /dev/zero | tr '\\\\0' x >&2; exit 1")
    with pytest.raises(SchedulerError) as error:
        ipmitool.run(machine({**INFO, "ipmi_password": "Pa$$ w0rd"}, command_retry_timeout=1), "power", "status")
    text = str(error.value)
    assert "login of admin with ****** and ****** refused: password=***" in text
    assert "\n" not in text
    assert "\x1b" not in text
    assert "IANA" not in text
    assert len(text) < 500


def test_nonsense(subtests: pytest.Subtests, folder: Path) -> None:
    for text, said in [
        ("yes", "answers without end"),
        ("while :; do echo x >&2; done", "answers without end"),
        ("head -c 2000 /dev/urandom", "does not say whether the power is on"),
        ("echo 'Chassis Power is perhaps'", "does not say whether the power is on"),
        ("", "does not say whether the power is on"),
        ("kill -9 $$", "ended with status -9"),
    ]:
        with subtests.test(text=text):
            put(folder, text)
            with pytest.raises(ControllerError, match=said):
                IpmitoolPower().get_power_state(machine(INFO, command_retry_timeout=1))


def is_gone(number: Path) -> bool:
    """Whether the process whose number is in a file has ended; its new parent may not have looked yet."""
    try:
        return "State:\tZ" in Path("/proc", number.read_text().strip(), "status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_what_hangs_is_killed_with_all_that_it_began(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, f"sleep 600 & echo $! > {folder}/child; echo $$ > {folder}/parent; wait")
    parent = folder / "parent"

    def monotonic() -> float:
        return time.monotonic() + (120 if parent.exists() and parent.read_text() else 0)  # two minutes go by at once

    for module in (ipmitool, process):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=monotonic))
    with pytest.raises(MachineUnreachable, match="ipmitool did not end in time"):
        ipmitool.run(machine(INFO, command_retry_timeout=50), "power", "status")
    for number in (folder / "child", parent):
        wait_until(lambda number=number: is_gone(number), number.name)


def test_what_leaves_a_process_behind_does_not_hang(folder: Path) -> None:
    put(folder, f"sleep 600 & echo $! > {folder}/child; echo 'Chassis Power is off'")
    assert IpmitoolPower().get_power_state(machine(INFO)) == "power off"
    wait_until(lambda: is_gone(folder / "child"), "the child to be gone")


def test_what_is_tried_again(subtests: pytest.Subtests, folder: Path) -> None:
    """Credentials that are refused are not: a controller may lock the user out."""
    for message, tries, error in [
        ("Get Auth Capabilities error\nError: Unable to establish IPMI v2 / RMCP+ session", 3, MachineUnreachable),
        ("Unable to send command: Node busy", 3, ControllerError),
        ("Error in open session response message : insufficient resources for session", 3, ControllerError),
        ("something that nobody has heard of", 3, ControllerError),
        ("> RAKP 2 HMAC is invalid\nError: Unable to establish IPMI v2 / RMCP+ session", 1, MachineUnreachable),
        ("RAKP 2 message indicates an error : unauthorized name", 1, MachineUnreachable),
        ("Address lookup for nowhere failed\nCould not open socket!\nUnable to establish", 1, MachineUnreachable),
        ("Unable to send RAW command (netfn=0x30 rsp=0xc1): Invalid command", 1, ControllerError),
        ("Set Chassis Power Control to Soft failed: Command not supported in present state", 1, ControllerError),
        ("Unable to send RAW command: Invalid command, says ACME", 3, ControllerError),
    ]:
        with subtests.test(message=message):
            (folder / "commands").unlink(missing_ok=True)
            put(folder, f"[ $(wc -l < {folder}/commands) -lt 3 ] || exit 0; {fails(message)}")
            asked = machine(INFO, additional_retryable_ipmi_errors=["says ACME"])
            if tries == 3:
                ipmitool.run(asked, "power", "status")
            else:
                with pytest.raises(error):
                    ipmitool.run(asked, "power", "status")
            assert len(commands(folder)) == tries


def test_what_must_happen_once_is_tried_again_only_if_it_was_not_begun(subtests: pytest.Subtests, folder: Path) -> None:
    for message, tries in [("Unable to establish session", 3), ("Node busy", 3), ("no answer to that", 1)]:
        with subtests.test(message=message):
            (folder / "commands").unlink(missing_ok=True)
            put(folder, f"[ $(wc -l < {folder}/commands) -lt 3 ] || exit 0; {fails(message)}")
            try:
                ipmitool.run(machine(INFO), "power", "reset", only_once=True)
            except SchedulerError:
                assert tries == 1
            assert len(commands(folder)) == tries


def test_trying_again_comes_to_an_end(folder: Path, clock: Clock) -> None:
    put(folder, fails("Error: Unable to establish IPMI v2 / RMCP+ session"))
    with pytest.raises(MachineUnreachable, match=r"10\.0\.0\.1: Error: Unable to establish"):
        ipmitool.run(machine(INFO, command_retry_timeout=2), "power", "status")
    assert clock.now == 1002
    assert len(commands(folder)) == 5


def test_or_ipmitool_tries_again(folder: Path) -> None:
    put(folder, fails("Error: Unable to establish IPMI v2 / RMCP+ session"))
    with pytest.raises(MachineUnreachable):
        ipmitool.run(
            machine(
                {"ipmi_address": "10.0.0.79"},
                use_ipmitool_retries=True,
                command_retry_timeout=60,
                min_command_interval=5,
            ),
            "a",
        )
    (command,) = commands(folder)
    assert " -R 7 -N 5 " in command  # 5 + 6 + 7 + 8 + 9 + 10 + 11 seconds


def test_cipher_suites_are_tried_from_the_last_one(folder: Path) -> None:
    said = fails("Error in open session response message : no matching cipher suite")
    put(folder, f'[[ "$COMMAND" == *"-C 3"* ]] || {{ {said}; }}'.replace("$COMMAND", f"$(tail -n 1 {folder}/commands)"))
    ipmitool.run(machine(INFO, cipher_suite_versions=["1", "3", "17"]), "power", "status")
    suites = [command.partition(" -C ")[2].split(" ")[0] for command in commands(folder)]
    assert suites == ["", "17", "3"]
    with pytest.raises(SchedulerError):
        ipmitool.run(machine({**INFO, "ipmi_cipher_suite": 17}, cipher_suite_versions=["3"]), "power", "status")


def test_a_controller_is_asked_one_thing_at_a_time_with_pauses(folder: Path) -> None:
    put(folder, f"echo begin $(date +%s%N) >> {folder}/times; sleep 0.02; echo end $(date +%s%N) >> {folder}/times")
    asked: Any = machine({"ipmi_address": "10.0.0.77"}, min_command_interval=0.08, command_retry_timeout=30)
    threads = [threading.Thread(target=ipmitool.run, args=(asked, "power", "status")) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [line.split() for line in (folder / "times").read_text().splitlines()]
    assert [kind for kind, _ in lines] == ["begin", "end"] * 3
    moments = [int(moment) for _, moment in lines]
    assert all(moments[number + 1] - moments[number] > 0.07e9 for number in (1, 3))


def test_others_are_not_waited_for_longer_than_for_the_controller(folder: Path) -> None:
    put(folder, f"while [ ! -e {folder}/go ]; do sleep 0.02; done")
    info = {"ipmi_address": "10.0.0.78"}
    thread = threading.Thread(target=ipmitool.run, args=(machine(info, command_retry_timeout=30), "power", "status"))
    thread.start()
    try:
        wait_until(lambda: (folder / "commands").exists(), "the first command")
        with pytest.raises(MachineUnreachable, match="other commands have kept its controller busy for too long"):
            ipmitool.run(machine(info, command_retry_timeout=0.1), "power", "status")
    finally:
        (folder / "go").touch()
        thread.join()


def test_an_ipmitool_that_cannot_be_run(folder: Path) -> None:
    (folder / "ipmitool").write_bytes(b"\x7fELF")
    (folder / "ipmitool").chmod(0o755)
    with pytest.raises(InvalidValue, match="ipmitool cannot be run on the node's conductor: Exec format error"):
        ipmitool.run(machine(INFO), "power", "status")


def test_names_beyond_ascii_in_any_locale(folder: Path) -> None:
    put(folder, "")
    ipmitool.run(machine({"ipmi_address": "10.0.0.1", "ipmi_username": "bjørn€"}), "power", "status")
    assert " -U bjørn€ " in commands(folder)[0]


def test_without_ipmitool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidValue, match="ipmitool is not installed on the node's conductor"):
        IpmitoolPower().validate(machine(INFO))
