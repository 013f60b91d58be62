"""Memory that request threads have freed is shared by all of them, and returned to the system."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci

#: Threads that allocate at the same time, as those of a server; then glibc says how many arenas there are.
_PROGRAM = """
import ctypes, sys, threading
from baremetal_sched.memory import limit_memory
limit_memory()
together = threading.Barrier(8)
def allocate():
    together.wait()
    data = [bytes(10_000 + number) for number in range(200)]
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="needs glibc")
@pytest.mark.parametrize(("variables", "most"), [({}, 2), ({"MALLOC_ARENA_MAX": "5"}, 5)])
def test_threads_share_few_arenas(tmp_path: Path, variables: dict[str, str], most: int) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC", "GLIBC"))}
    report = tmp_path / "malloc.xml"
    subprocess.run([sys.executable, "-c", _PROGRAM, report], check=True, env=environment | variables)
    assert report.read_text().count("<heap nr=") == most


#: Small blocks between the freed ones keep all of them in the process.
_FRAGMENTS = """
import time
from baremetal_sched import memory
memory._INTERVAL = 0.1
memory.limit_memory()
large, small = [], []
for number in range(2_000):
    large.append(b"x" * (100_000 + number))
    small.append(b"x" * (1_000 + number % 7))
grown = memory.resident()
large.clear()
until = time.monotonic() + 20
while memory.resident() > grown - 150 * 2**20 and time.monotonic() < until:
    time.sleep(0.1)
print(grown - memory.resident())
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="needs glibc")
def test_what_is_free_is_returned_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", _FRAGMENTS], check=True, capture_output=True, text=True)
    assert int(done.stdout) >= 150 * 2**20
