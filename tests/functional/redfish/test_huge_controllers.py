"""Controllers that have no end: what an inspection reads of them, and what it keeps."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from baremetal_sched.drivers.redfish import connection, failures, transport
from baremetal_sched.drivers.redfish.documents import Documents
from baremetal_sched.drivers.redfish.driver_info import RedfishTarget
from baremetal_sched.drivers.redfish.inspect import RedfishInspect
from baremetal_sched.drivers.redfish.inspect import read as read_hardware
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.baremetal import ControllerError
from tests.redfish import machine, quick
from tests.redfish.raw import RawServer, document, raw, saying

pytestmark = pytest.mark.sqlite_only

ROOT = "/redfish/v1"
SYSTEM = f"{ROOT}/Systems/1"


def listing(key: str, path: str, count: int) -> dict[str, Any]:
    return {key: [{"@odata.id": f"{path}/{number}"} for number in range(count)]}


class Maze:
    """A machine with so many storages, each with so many drives; each of these has ``padding`` bytes more."""

    def __init__(self, storages: int = 256, drives: int = 1000, padding: int = 0) -> None:
        self._storages = storages
        self._drives = drives
        self._padding = {"Oem": {"words": ["x" * 90] * (padding // 94)}}
        self.asked: list[str] = []

    def find(self, path: str) -> dict[str, Any]:
        self.asked.append(path)
        end = path.rstrip("/").removeprefix(SYSTEM)
        named = {"Id": "1", "Name": "1", "@odata.id": path}
        if path.rstrip("/") == ROOT:
            return {**named, "Systems": {"@odata.id": f"{ROOT}/Systems"}, "RedfishVersion": "1.5.0"}
        if not end:
            return {**named, "PowerState": "On", "Storage": {"@odata.id": f"{SYSTEM}/Storage"}}
        if end == "/Storage":
            return {**named, **listing("Members", f"{SYSTEM}/Storage", self._storages)}
        if re.fullmatch("/Storage/[0-9]+", end):
            return {**named, **listing("Drives", f"{path}/Drives", self._drives), **self._padding}
        return {**named, "CapacityBytes": 2**40, "SerialNumber": "S" * 1000, **self._padding}

    def answer(self, server: RawServer, accepted: socket.socket) -> None:
        path = accepted.recv(65536).split(b" ", 2)[1].decode()
        accepted.sendall(document(json.dumps(self.find(path)).encode(), "Connection: close"))

    def documents(self) -> Documents:
        """Without a connection."""

        def get(path: str) -> Any:
            found = self.find(path)
            return SimpleNamespace(content=b"x", json=lambda: found, status_code=200, headers={})

        return Documents(SimpleNamespace(_conn=SimpleNamespace(get=get), json=self.find(SYSTEM)), ROOT)  # type: ignore[arg-type]


@pytest.fixture
def bounds(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Set other bounds than the usual ones, so that these are met sooner."""

    def change(**values: int) -> None:
        for name, value in values.items():
            monkeypatch.setattr(transport, name, value)

    yield change
    connection.close_all(1)


def inspect(url: str) -> ControllerError:
    """The error in which an inspection ends."""
    info = {"redfish_system_id": SYSTEM, "redfish_auth_type": "basic", "redfish_username": "a"}
    with pytest.raises(ControllerError) as raised:
        RedfishInspect().inspect_hardware(machine(url, settings=quick(), **info, redfish_password="secret-of-bmc"))
    return raised.value


def test_requests_are_counted(bounds: Callable[..., None]) -> None:
    bounds(MOST_REQUESTS=60)
    maze = Maze()
    with raw(maze.answer) as server:
        error = inspect(server.url)
    assert "has more than 60 resources to read" in str(error)
    assert len(maze.asked) == 60


def test_bytes_are_counted(bounds: Callable[..., None]) -> None:
    bounds(MOST_BYTES=1_000_000)
    maze = Maze(padding=20_000)
    with raw(maze.answer) as server:
        error = inspect(server.url)
    assert "answered more than 1000000 bytes in all" in str(error)
    assert 10 < len(maze.asked) < 50


def test_what_one_call_reads_does_not_count_for_the_next(bounds: Callable[..., None]) -> None:
    bounds(MOST_REQUESTS=8)
    with raw(Maze().answer) as server:
        target = machine(server.url, settings=quick(), redfish_auth_type="basic", redfish_system_id=SYSTEM)
        for _ in range(5):
            with connection.system(target) as system:
                system.refresh()


def test_members_are_counted(subtests: pytest.Subtests) -> None:
    """Of each list."""
    for storages, drives, read in [(1000, 1, 256), (1, 1000, 256), (3, 300, 768)]:
        with subtests.test(msg=repr((storages, drives, read))):
            hardware = read_hardware(Maze(storages, drives).documents())
            assert len(hardware.inventory["disks"]) == read
            assert {len(disk["serial"]) for disk in hardware.inventory["disks"]} == {255}


def test_disks_are_counted() -> None:
    """Those of simple storage need no request each."""
    device = {"Name": "d", "CapacityBytes": 2**40}

    def get(path: str) -> Any:
        found = listing("Members", path, 100) if path == "/s" else {"Devices": [device] * 100_000}
        return SimpleNamespace(content=b"x", json=lambda: found, status_code=200, headers={})

    system = SimpleNamespace(_conn=SimpleNamespace(get=get), json={"SimpleStorage": {"@odata.id": "/s"}})
    with pytest.raises(transport.Nonsense, match="has more than 1024 disks"):
        read_hardware(Documents(system, ROOT))  # type: ignore[arg-type]


def test_errors_have_no_names_of_pythons(subtests: pytest.Subtests) -> None:
    """They say nothing to people, and what they say of types is of no use either."""
    for error in [
        TypeError("'int' object has no attribute 'get'"),
        AttributeError("'NoneType' object has no attribute 'items'"),
        KeyError("Members"),
        RecursionError("maximum recursion depth exceeded"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        ValueError("no JSON, or too deep"),
        MemoryError(),
    ]:
        with subtests.test(msg=repr(error)):
            said = str(failures.translated(error, RedfishTarget.of(machine())))
            assert "answered nonsense" in said
            assert not re.search(r"[A-Z][a-z]+Error|object|attribute|recursion|codec|Members", said), said


def test_answers_that_break_off_have_no_names_of_pythons(subtests: pytest.Subtests) -> None:
    for answer in [
        document(b"{}").replace(b"Length: 2", b"Length: 20"),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        document(b"no gzip", "Content-Encoding: gzip"),
        b"HTTP/1.1 x OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
    ]:
        with subtests.test(msg=repr(answer)):
            with raw(saying(answer)) as server:
                target = machine(server.url, settings=quick(), redfish_auth_type="basic", redfish_system_id=SYSTEM)
                with pytest.raises(SchedulerError) as raised, connection.system(target):
                    pass
            assert not re.search(r"[A-Z][a-z]+(Error|Read|Length)|\w\('|\bb'|, error|\w\([0-9]", str(raised.value)), (
                raised.value
            )


# Not by getrusage, whose maximum includes that of the process which started this one.
_INSPECT = """
import re, sys
from pathlib import Path
from tests.functional.redfish.test_huge_controllers import inspect
print(inspect(sys.argv[1]))
print(re.search(r"VmHWM:\\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.slow
def test_a_conductor_keeps_its_memory(subtests: pytest.Subtests) -> None:
    """In a process of its own, which tells how much it had."""
    for storages, drives, padding in [(256, 1000, 0), (256, 1000, 47_000), (256, 0, 4_000_000)]:
        with subtests.test(msg=repr((storages, drives, padding))):
            maze = Maze(storages, drives, padding)
            with raw(maze.answer) as server:
                command: Sequence[str] = (sys.executable, "-c", _INSPECT, server.url)
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[3]
                )
            assert done.returncode == 0, done.stderr
            said, kibibytes = done.stdout.strip().rsplit("\n", 1)
            assert "no machine has so m" in said
            assert int(kibibytes) < 400 * 1024
            assert len(maze.asked) <= transport.MOST_REQUESTS
