"""The service of the demo: separate processes, on a free port and a temporary database, with logs in files."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from baremetal_sched.cli.demo.client import DemoClient, DemoFailed

T = TypeVar("T")

#: Host names of the conductors, and the group that each serves. The first is the embedded conductor of ``serve``.
CONDUCTORS = {
    "conductor-a-1": "rack-a",
    "conductor-a-2": "rack-a",
    "conductor-b-1": "rack-b",
    "conductor-edge-1": "edge",
}

#: So that nobody waits long for what comes back by itself.
_SETTINGS = {"OS_SCHEDULING__SWEEP_INTERVAL": "0.5"}

_READY = re.compile(r"^baremetal-sched is ready at (\S+)\n", re.MULTILINE)
_HARMLESS = re.compile(r'"level": "(info|debug)"')
_SETTING = re.compile(r"OS_\w*__\w+", re.IGNORECASE)
#: Seconds for which a start may take, while its processes live, and between two lines that say so.
_START_SECONDS = 300
_SAID_EVERY = 10
_PAUSE = 0.1
_STOP_SECONDS = 15
_LINES_SHOWN = 15


@dataclass
class Process:
    """A process of the service, and the files to which it writes."""

    name: str
    popen: subprocess.Popen[bytes]
    output: Path
    log: Path

    def require_alive(self) -> None:
        """Raise DemoFailed with the end of the log if the process has ended."""
        status = self.popen.poll()
        if status is not None:
            raise DemoFailed(f"{self.name} ended with status {status}. The end of its log:\n{self.log_end()}")

    def log_end(self) -> str:
        """Return the last lines of the log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_LINES_SHOWN:]) or "(empty)"


@dataclass
class Service:
    """The running service: its processes, the folder of their files, and the URL, which is known once the service is
    ready. ``port``: 0 is any free one."""

    folder: Path
    port: int = 0
    #: Is called every ten seconds with the event that the service waits for.
    say: Callable[[str], None] = print
    url: str = ""
    processes: list[Process] = field(default_factory=list)

    def require_alive(self) -> None:
        """Raise DemoFailed if one of the processes has ended."""
        for process in self.processes:
            process.require_alive()

    def start(self) -> None:
        """Start all processes and wait until they are ready. Raises DemoFailed."""
        database = f"sqlite:///{self.folder / 'demo.sqlite'}"
        (first, group), *others = CONDUCTORS.items()
        settings = {"OS_DEFAULT__HOST": first, **_SETTINGS}
        api = self._run(
            "serve", ("serve", "--port", str(self.port), "--group", group, "--database", database), settings
        )
        self.url = self._await(lambda: _READY.search(api.output.read_text(encoding="utf-8")), "serve")[1]
        for host, group in others:
            self._run(host, ("conductor", "--host", host, "--group", group, "--database", database))
        client = DemoClient(self.url)
        self._await(lambda: _alive(client) == set(CONDUCTORS), "the conductors")

    def _await(self, condition: Callable[[], T | None], what: str) -> T:
        """Wait until ``condition`` returns a true value, and return it.

        Raises DemoFailed if a process has ended, or after ``_START_SECONDS``.
        """
        began = time.monotonic()
        said = 0
        while not (result := condition()):
            self.require_alive()
            waited = time.monotonic() - began
            if waited >= _START_SECONDS:
                log = self.processes[0].log_end()
                raise DemoFailed(
                    f"Waited {_START_SECONDS} seconds for {what}, which had not ended. The machine may be too busy. "
                    f"The end of the log of serve:\n{log}"
                )
            if waited >= said + _SAID_EVERY:
                said = int(waited)
                self.say(f"Waiting for {what} to start, for {said} seconds now. A busy machine takes longer.")
            time.sleep(_PAUSE)
        return result

    def _run(self, name: str, arguments: tuple[str, ...], settings: dict[str, str] | None = None) -> Process:
        output, log = self.folder / f"{name}.out", self.folder / f"{name}.log"
        with output.open("wb") as out, log.open("wb") as err:
            popen = subprocess.Popen(  # noqa: S603 - our own command
                (sys.executable, "-m", "baremetal_sched", *arguments),
                env=_environment() | {"BAREMETAL_SCHED_CONFIG": os.devnull} | (settings or {}),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        process = Process(name, popen, output, log)
        self.processes.append(process)
        return process

    def complaints(self) -> str:
        """Return the log messages above the level INFO."""
        found = []
        for process in self.processes:
            lines = process.log.read_text(encoding="utf-8", errors="replace").splitlines()
            found += [f"{process.name}: {line}" for line in lines if not _HARMLESS.search(line)]
        return "\n".join(found[-_LINES_SHOWN:])

    def stop(self) -> None:
        """Stop every process; kill any that does not stop in time."""
        for process in self.processes:
            process.popen.terminate()
        until = time.monotonic() + _STOP_SECONDS
        for process in self.processes:
            try:
                process.popen.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.popen.kill()
                process.popen.wait()
        self.processes.clear()


@contextmanager
def running(port: int = 0, say: Callable[[str], None] = print) -> Iterator[Service]:
    """Yield the service, to be started with ``start``; on exit, stop it and remove its folder.

    ``say`` prints the event that it waits for.

    The processes stay in this process group, so that signals to the whole group (Ctrl-C, ``timeout``) reach them,
    too.
    """
    with tempfile.TemporaryDirectory(prefix="baremetal-sched-demo-") as folder:
        service = Service(Path(folder).resolve(), port, say)
        try:
            yield service
        finally:
            with _undisturbed():
                service.stop()


def _environment() -> dict[str, str]:
    """Return the environment without settings of the service (``OS_<GROUP>__<OPTION>``), which would change the
    demo."""
    return {name: value for name, value in os.environ.items() if not _SETTING.fullmatch(name)}


def _alive(client: DemoClient) -> set[str]:
    answer = client.baremetal("GET", "/conductors")
    if answer.status != 200:
        raise DemoFailed(f"GET /v1/conductors: {answer.status} {answer.message}")
    return {conductor["hostname"] for conductor in answer.body["conductors"] if conductor["alive"]}


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C during the clean-up, which takes moments and would otherwise leave processes behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
