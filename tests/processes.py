"""The service as processes of its own, as people run it.

What is started here is stopped here: each command is the head of a process group, and on the way out the whole group is
killed, whatever the test did with it. What the commands print goes to files; the end of each file is printed when the
test ends (requests that went well left out), so pytest shows it next to a failure.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import requests

from tests import fast_path
from tests.leaks import WATCH
from tests.waiting import PATIENCE, START, wait_until

#: Values of options by group: ``{"conductor": {"heartbeat_interval": 0.2}}``.
Values = Mapping[str, Mapping[str, Any]]

BAREMETAL_SCHED = (sys.executable, "-m", "baremetal_sched")
#: As the README starts it.
GUNICORN = (
    *(sys.executable, "-m", "gunicorn", "-c", "python:baremetal_sched.gunicorn_config"),
    "baremetal_sched.wsgi:app",
)
#: gunicorn does not start without a strategy.
OPEN: Values = {"api": {"auth_strategy": "none"}}
_READY = "baremetal-sched is ready at "
_LINES_SHOWN = 30


# What a shell starts in the background ignores SIGINT, and so would all that we start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Program:
    """A command that runs: its process, what it printed, and ways to end it."""

    def __init__(self, command: tuple[str, ...], folder: Path, name: str, settings: Values | None = None) -> None:
        self.name = name
        WATCH.told(settings or {})
        self._out = folder / f"{name}.out"
        self._log = folder / f"{name}.log"
        with self._out.open("w") as out, self._log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment(settings),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        """Its output so far."""
        return self._out.read_text()

    @property
    def log(self) -> str:
        """Its log so far."""
        return self._log.read_text()

    def wait_for(self, text: str, read: Callable[[], str], seconds: float = START) -> None:
        """Wait until ``text`` is in what ``read`` returns; fails if the program ends before."""

        def said() -> bool:
            ended = self.process.poll() is not None
            if text in read():
                return True
            assert not ended, f"{self.name} ended with status {self.process.returncode}:\n{self.output}{self.log}"
            return False

        wait_until(said, f"{self.name} to say {text!r}", seconds=seconds)

    def end(self, number: signal.Signals = signal.SIGTERM, seconds: float = PATIENCE) -> int:
        """Send a signal to the process (not to its group) and wait for its end; returns the exit status."""
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def group_exists(self) -> bool:
        """Is any process of the group left? Asked after the head has ended."""
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def assert_group_gone(self) -> None:
        """No process of the group is left. (One that has ended counts until init has seen it.)"""
        wait_until(lambda: not self.group_exists(), "the last process of the group to be gone")

    def close(self) -> None:
        """Kill whatever is left, and print the end of what was printed and logged."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)
        for kind, text in (("output", self.output), ("log", self.log)):
            lines = [line for line in text.splitlines() if '"status": 2' not in line]
            print(f"--- {self.name}: {kind} ---", *lines[-_LINES_SHOWN:], sep="\n")
        WATCH.assert_silent(f"log of {self.name}", self.log)


class Client:
    """The APIs over HTTP, on one connection that is kept. Not to be shared between threads.

    ``headers`` come with every request: a token, for example.
    """

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        self._url = url
        self._session = requests.Session()
        self._session.headers.update(headers or {})
        self._session.trust_env = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()

    def baremetal(self, method: str, path: str, body: Any = None, version: str = "1.115") -> requests.Response:
        """A request to ``/baremetal/v1<path>``."""
        headers = {"X-OpenStack-Ironic-API-Version": version}
        return self._session.request(
            method, f"{self._url}/baremetal/v1{path}", json=body, headers=headers, timeout=START
        )

    def placement(self, method: str, path: str, body: Any = None, version: str = "1.39") -> requests.Response:
        """A request to ``/placement<path>``."""
        headers = {"OpenStack-API-Version": f"placement {version}"}
        return self._session.request(method, f"{self._url}/placement{path}", json=body, headers=headers, timeout=START)

    def compute(self, method: str, path: str, body: Any = None, version: str = "2.100") -> requests.Response:
        """A request to ``/compute/v2.1<path>``."""
        headers = {"OpenStack-API-Version": f"compute {version}"}
        return self._session.request(
            method, f"{self._url}/compute/v2.1{path}", json=body, headers=headers, timeout=START
        )

    def image(self, method: str, path: str, body: Any = None) -> requests.Response:
        """A request to ``/image/v2<path>``."""
        return self._session.request(method, f"{self._url}/image/v2{path}", json=body, timeout=START)

    def scheduling(self, method: str, path: str, body: Any = None) -> requests.Response:
        """A request to ``/scheduling/v1<path>``."""
        return self._session.request(method, f"{self._url}/scheduling/v1{path}", json=body, timeout=START)

    def healthcheck(self) -> requests.Response:
        """GET /healthcheck"""
        return self._session.get(f"{self._url}/healthcheck", timeout=START)

    def live(self) -> requests.Response:
        """GET /healthcheck/live"""
        return self._session.get(f"{self._url}/healthcheck/live", timeout=START)


def environment(settings: Values | None = None) -> dict[str, str]:
    """Our own environment without what configures OpenStack's clients or the service, and with ``settings``."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OS_", "BAREMETAL_SCHED_"))}
    inherited |= fast_path.ENVIRONMENT
    options = {
        f"OS_{group.upper()}__{option.upper()}": str(value)
        for group, values in (settings or {}).items()
        for option, value in values.items()
    }
    return inherited | options


@contextmanager
def program(command: tuple[str, ...], folder: Path, name: str, settings: Values | None = None) -> Iterator[Program]:
    """Any command, in ``folder``. This does not wait until it is ready."""
    running = Program(command, folder, name, settings)
    try:
        yield running
    finally:
        running.close()


@contextmanager
def serve(
    folder: Path, *options: str, settings: Values | None = None, command: tuple[str, ...] = BAREMETAL_SCHED
) -> Iterator[tuple[Program, str]]:
    """``baremetal-sched serve`` on a free port, ready; yields the program and the URL that it printed."""
    with program((*command, "serve", "--port", "0", *options), folder, "serve", settings) as running:
        running.wait_for(_READY, lambda: running.output)
        yield running, running.output.split(_READY)[1].split()[0]


@contextmanager
def conductor(folder: Path, host: str, *options: str, settings: Values | None = None) -> Iterator[Program]:
    """``baremetal-sched conductor`` under the name ``host``, registered."""
    named = {**(settings or {}), "DEFAULT": {**(settings or {}).get("DEFAULT", {}), "host": host}}
    with program((*BAREMETAL_SCHED, "conductor", *options), folder, host, named) as running:
        running.wait_for("conductor registered", lambda: running.log)
        yield running


def run(folder: Path, *arguments: str, settings: Values | None = None) -> subprocess.CompletedProcess[str]:
    """A command of ``baremetal-sched`` that is expected to end by itself, with what it printed."""
    with program((*BAREMETAL_SCHED, *arguments), folder, arguments[0], settings) as running:
        status = running.process.wait(START)
        return subprocess.CompletedProcess(running.process.args, status, running.output, running.log)


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
