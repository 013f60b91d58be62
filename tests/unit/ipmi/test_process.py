"""Output of commands: all of it is read, also what is printed just before a command ends."""

import os
import selectors
import subprocess
from pathlib import Path
from typing import Any

import pytest

from baremetal_sched.drivers.ipmi import process

_ENVIRONMENT = {"PATH": os.environ["PATH"]}


def test_output_that_is_printed_between_a_look_at_the_pipes_and_one_at_the_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first look finds nothing; then the command prints and ends, before it is asked whether it has ended."""
    begun: list[subprocess.Popen[bytes]] = []
    looks = []
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    class Process(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            begun.append(self)

    class Selector(selectors.DefaultSelector):  # type: ignore[valid-type, misc]
        def select(self, timeout: float | None = None) -> Any:
            looks.append(timeout)
            if len(looks) > 1:
                return super().select(timeout)
            gate.write_bytes(b"go on")
            os.waitid(os.P_PID, begun[0].pid, os.WEXITED | os.WNOWAIT)
            return []

    monkeypatch.setattr(process.subprocess, "Popen", Process)
    monkeypatch.setattr(process.selectors, "DefaultSelector", Selector)
    ended = process.run(
        ["/bin/sh", "-c", f"read -r _ < {gate}; echo Chassis Power is on; echo and more >&2"], 60, _ENVIRONMENT
    )
    assert (ended.status, ended.output, ended.errors) == (0, "Chassis Power is on\n", "and more\n")


def test_an_output_that_others_hold_open_is_not_waited_for() -> None:
    """The command has ended; what it left behind is killed."""
    ended = process.run(["/bin/sh", "-c", "sleep 600 & echo $!"], 60, _ENVIRONMENT)
    assert (ended.status, ended.was_late) == (0, False)
    with pytest.raises(ProcessLookupError):
        _wait_until_gone(int(ended.output))


def _wait_until_gone(pid: int) -> None:
    """Raise ProcessLookupError as soon as there is no such process, or only its remains."""
    while True:
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ProcessLookupError(pid) from None
        if text.rpartition(")")[2].split()[0] == "Z":
            raise ProcessLookupError(pid)
        os.sched_yield()
