"""The services that ``node_life`` measures, each with its conductor, and the processor that their processes use."""

import os
import pstats
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tests import slow_hardware
from tests.benchmarks.baremetal import original
from tests.benchmarks.servers import Client, Failed
from tests.benchmarks.stores import Store

_TICK = os.sysconf("SC_CLK_TCK")
#: Ironic 39 knows it, and so do we.
_HEADERS = {"X-OpenStack-Ironic-API-Version": "1.109"}

#: Makes each thread of a process write its profile, by its own processor time, when it ends; jobs are threads.
_PROFILED = '''"""Profiles each thread; found by Python as sitecustomize."""

import cProfile
import os
import threading
import time

run = threading.Thread.run


def profiled(self):
    profile = cProfile.Profile(time.thread_time)
    try:
        profile.runcall(run, self)
    finally:
        name = f"{self.name}-{os.getpid()}-{threading.get_ident()}-{time.monotonic_ns()}"
        profile.dump_stats(os.path.join(os.environ["LIFE_PROFILES"], name.replace("/", "_") + ".prof"))


threading.Thread.run = profiled
'''


@dataclass
class Side:
    """A service that runs: the process that began it, and a client of its bare metal API."""

    name: str
    process: int
    client: Client
    made: int = 0

    def processor(self) -> float:
        """Return the seconds of a processor that the process and all below it have used, those that ended included."""
        return sum(seconds for _, seconds in self._own().values())

    def memory(self) -> float:
        """Return the MiB of memory of the process and all below it; what is shared is divided (PSS)."""
        rollups = [Path(f"/proc/{process}/smaps_rollup").read_text() for process in self._own()]
        return sum(int(line.split()[1]) for text in rollups for line in text.splitlines() if line[:4] == "Pss:") / 1024

    def _own(self) -> dict[int, tuple[int, float]]:
        found = dict(_processes())
        own, size = {self.process}, 0
        while len(own) > size:
            size = len(own)
            own |= {process for process, (parent, _) in found.items() if parent in own}
        return {process: found[process] for process in own if process in found}

    def new_names(self, count: int) -> list[str]:
        """Return names that no node of this side has."""
        self.made += count
        return [f"{self.name}-{number}" for number in range(self.made - count, self.made)]


def _processes() -> Iterator[tuple[int, tuple[int, float]]]:
    """Yield each process with its parent and the seconds of a processor of it and of its children that ended."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            yield int(folder.name), (int(fields[1]), sum(map(int, fields[11:15])) / _TICK)


@contextmanager
def ours(
    name: str,
    store: Store,
    folder: Path,
    checkout: Path,
    python: Path,
    profiles: Path | None,
    options: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Side]:
    """Serve a checkout of ours with one worker and its conductor; with ``profiles`` if it is called us. ``options`` are
    variables of its environment."""
    environment = os.environ | {
        "OS_DEFAULT__ENABLED_HARDWARE_TYPES": "fake-hardware,slow-hardware",
        "PYTHONPATH": os.pathsep.join((str(checkout.absolute()), str(slow_hardware.FOLDER))),
        **options,
    }
    if profiles and name == "us":
        profiles.mkdir(parents=True, exist_ok=True)
        (folder / "sitecustomize.py").write_text(_PROFILED)
        environment["PYTHONPATH"] += f"{os.pathsep}{folder}"
        environment["LIFE_PROFILES"] = str(profiles.absolute())
    command = [python, "-m", "baremetal_sched", "serve", "--workers", "1", "--port", "0", "--database", store.url_of()]
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(part) for part in command], env=environment, cwd=folder, stdout=output, stderr=output
        )
    try:
        yield Side(name, process.pid, Client(_port(process, log), "/baremetal", _HEADERS))
    finally:
        process.terminate()
        process.wait(60)


def _port(process: "subprocess.Popen[bytes]", log: Path) -> int:
    """Return the port of a service, once it answers."""
    while process.poll() is None:
        for address in re.findall(r"http://127\.0\.0\.1:(\d+)", log.read_text(errors="replace")):
            with suppress(Failed):
                Client(int(address), "", {}).call("GET", "/healthcheck")
                return int(address)
        time.sleep(0.2)
    raise Failed(f"the service does not start: {log.read_text(errors='replace')[-2000:]}")


@contextmanager
def ironic(store: Store, folder: Path, python: Path, template: str = original.SETTINGS) -> Iterator[Side]:
    """Serve Ironic, API and conductor in one process; ``template`` is that of its settings."""
    original.make_schema(store, folder, python)
    with original.server(store, folder, python, _HEADERS, template) as server:
        yield Side("ironic", server.process.pid, server.client)


def show_profile(folder: Path, most: int = 40) -> None:
    """Print the functions with the most time of their own: in threads that did work, and in all threads."""
    for title, names in (("work of the conductor", "conductor-work*.prof"), ("all threads", "*.prof")):
        found = [str(path) for path in folder.glob(names)]
        print(f"{title}: {len(found)} threads", flush=True)
        if found:
            stats = pstats.Stats(*found)
            stats.files = []  # thousands of names
            stats.sort_stats("tottime").print_stats(most)
