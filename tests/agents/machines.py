"""Emulated machines that run agents: each does what its emulated controller was told.

The emulator says what has changed. A machine that is on, and boots from the disc in its drive, runs an agent; one that
boots from its disk runs nothing; one that is off or restarts has none any more.
"""

import json
import queue
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.agents import isolation
from tests.agents.sandbox import ROOT
from tests.emulators import Emulator
from tests.processes import Program

_CONFIG = """[DEFAULT]
debug = true
api_url = {api}
listen_host = {address}
image_download_connection_retries = 0
lookup_interval = 1
ip_lookup_sleep = 1
"""


#: What agents log: commands of one kind when they begin, of the other when they are done.
_BEGUN = re.compile(r"(?:Asynchronous command (\w+) started|Synchronous command (\w+) completed)")
#: The one that the agent's own step write_image is made of.
_OWN = "prepare_image"
_STEP = re.compile(r"(?:Clean|Deploy) step completed: \{[^{}]*?'step': '(\w+)'")


@dataclass
class Machine:
    """One machine, with its disk and address."""

    name: str
    mac: str
    disk: str
    address: str
    #: The agents that it has booted, the last of which may run.
    agents: list[Program] = field(default_factory=list)

    @property
    def log(self) -> str:
        """The output of its agents."""
        return "".join(agent.output + agent.log for agent in self.agents)

    @property
    def commands(self) -> list[str]:
        """The commands that its agents were sent, in order, without commands that only read."""
        begun = [first or second for first, second in _BEGUN.findall(self.log)]
        return [name for name in begun if not name.startswith("get_") and name != _OWN]

    @property
    def steps(self) -> list[str]:
        """The steps that its agents have completed, in order."""
        return _STEP.findall(self.log)


class Machines:
    """All machines, by the UUID of their system at the emulator."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._folder = Path(settings["folder"])
        self._changes: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._machines: dict[str, Machine] = {}
        self._emulator: Emulator | None = None
        self._api = ""

    def connect(self, emulator: Emulator, api: str) -> list[Machine]:
        """Give each system of the emulator a disk; the bare metal API is at ``api``. Returns the machines."""
        self._emulator, self._api = emulator, api
        for number, (uuid, disk) in enumerate(zip(emulator.systems, self._settings["disks"], strict=True), 1):
            mac = f"52:54:00:fa:{number >> 8:02x}:{number & 255:02x}"
            self._machines[uuid] = Machine(f"m{number}", mac, disk, f"198.18.0.{10 + number}")
        return list(self._machines.values())

    def tell(self, system: dict[str, Any] | None) -> None:
        """Note what a system has become; None: no more will be said."""
        self._changes.put(system)

    def work(self) -> None:
        """Do what systems were told, until no more comes."""
        while (system := self._changes.get()) is not None:
            assert self._emulator is not None
            machine, pending = self._machines[system["uuid"]], system.get("pending_power")
            if system["power_state"] == "Off" or (pending and pending["power_state"] != "On"):
                self._end(machine)
            if pending:  # the change is made when the system is read
                self._emulator.get(self._emulator.path(system["uuid"]))
            elif system["power_state"] == "On":
                self._boot(system)

    def _boot(self, system: Mapping[str, Any]) -> None:
        machine = self._machines[system["uuid"]]
        if machine.agents and machine.agents[-1].process.poll() is None:
            return  # something else of the system has changed
        disc = (system.get("boot_image") or {}).get("Cd")
        if system.get("boot_device") == "Cd" and disc and disc[2]:
            machine.agents.append(self._agent(machine, system))

    def _end(self, machine: Machine) -> None:
        if machine.agents and machine.agents[-1].process.poll() is None:
            machine.agents[-1].close()

    def close(self) -> None:
        """End all agents that run, and what is left of the others."""
        for machine in self._machines.values():
            for agent in machine.agents[-1:]:
                agent.close()

    def _agent(self, machine: Machine, system: Mapping[str, Any]) -> Program:
        assert self._emulator is not None
        outside, programs, disks = (self._settings[name] for name in ("outside", "programs", "disks"))
        # The agent checks this again.
        assert not (found := isolation.flaws(outside, disks, Path(programs))), found
        name = f"{machine.name}-{len(machine.agents) + 1}"
        folder = self._folder / name
        folder.mkdir()
        told = {
            **{key: getattr(machine, key) for key in ("name", "mac", "disk", "address")},
            "outside": outside,
            "disks": list(disks),
            "folder": str(folder),
            "boot_mode": "bios" if system.get("boot_mode") == "Legacy" else "uefi",
        }
        (folder / "agent.json").write_text(json.dumps(told))
        (folder / "agent.conf").write_text(_CONFIG.format(api=self._api, address=machine.address))
        reset = f"{self._emulator.url}{self._emulator.path(system['uuid'])}/Actions/ComputerSystem.Reset"
        variables = {
            "PATH": programs,
            "PYTHONPATH": str(ROOT),
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "MACHINE_DISK": machine.disk,
            "MACHINE_ADDRESS": machine.address,
            "MACHINE_RESET": reset,
        }
        assigned = [f"{key}={value}" for key, value in variables.items()]
        python = self._settings["agent_python"]
        command = ("/usr/bin/env", "-i", *assigned, python, "-m", "tests.agents.agent")
        return Program((*command, str(folder / "agent.json"), str(folder / "agent.conf")), folder, name)


@contextmanager
def listening(machines: Machines) -> Iterator[str]:
    """Yield a URL that takes what the emulator says of its systems; the machines do that until this ends."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def do_PUT(self) -> None:
            machines.tell(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threads = [
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}),
            threading.Thread(target=machines.work),
        ]
        for thread in threads:
            thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            machines.tell(None)
            for thread in threads:
                thread.join()
            machines.close()
