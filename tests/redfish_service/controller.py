"""The controller and its machine, and what a test can have them do."""

import json
import secrets
import threading
import time
from pathlib import Path
from typing import Any

from tests.redfish_service.bios import Bios
from tests.redfish_service.faults import Fault
from tests.redfish_service.sessions import Sessions
from tests.redfish_service.updates import Updates

_ON, _OFF = ("On", "ForceOn", "GracefulRestart", "ForceRestart", "PowerCycle"), ("ForceOff", "GracefulShutdown")
RESET_TYPES = (*_ON, *_OFF, "Nmi", "PushPowerButton")


class Controller:
    """A test changes its attributes while it serves. Every reader holds ``lock``.

    ``journal`` has a line for each request, ``POST /redfish/v1/…``, with its body, but not that of a log-in; so has the
    file ``journal_file``, if there is one. ``power_seconds`` is how long a change of power takes; with ``power_sticks``
    it never comes.
    """

    def __init__(self, journal_file: Path | None = None) -> None:
        self.lock = threading.RLock()
        self.username, self.password = "admin", secrets.token_urlsafe(12)
        self.journal: list[str] = []
        self.faults: list[Fault] = []
        self.sessions = Sessions()
        self.bios = Bios()
        self.updates = Updates()
        self.power_state = "Off"
        self.power_seconds = 0.0
        self.power_sticks = False
        self.has_sessions = True
        self.reset_types = list(RESET_TYPES)
        self.boot = {"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"}
        self.boot["BootSourceOverrideMode"] = "UEFI"
        #: Members of collections, by the names of these.
        self.collections: dict[str, list[Any]] = {
            "EthernetInterfaces": [
                {"Id": "NIC1", "MACAddress": "52:54:00:AA:00:01", "SpeedMbps": 10000, "Status": {"State": "Enabled"}},
                {"Id": "NIC2", "MACAddress": "52:54:00:aa:00:02", "Status": {"State": "Disabled"}},
            ],
            "Processors": [
                {
                    "Id": f"CPU{number}",
                    "ProcessorType": "CPU",
                    "ProcessorArchitecture": "x86",
                    "InstructionSet": "x86-64",
                    "Model": "Test CPU",
                    "MaxSpeedMHz": 3700,
                    "TotalCores": 8,
                    "TotalThreads": 16,
                }
                for number in (1, 2)
            ],
            "Drives": [
                {
                    "Id": f"Drive{number}",
                    "Name": f"Drive {number}",
                    "CapacityBytes": size * 2**30,
                    "Manufacturer": "Contoso",
                    "Model": "D100",
                    "SerialNumber": f"S{number}",
                    "MediaType": kind,
                }
                for number, size, kind in ((1, 480, "SSD"), (2, 4000, "HDD"))
            ],
        }
        self.system: dict[str, Any] = {
            "Manufacturer": "Contoso",
            "Model": "Server 1",
            "SerialNumber": "SN-1",
            "UUID": "38947555-7742-3448-3784-823347823834",
            "MemorySummary": {"TotalSystemMemoryGiB": 96},
        }
        self._journal_file = journal_file
        self._power_change: tuple[str, float] | None = None

    def note(self, method: str, path: str, body: Any) -> None:
        """Add to the journal."""
        line = f"{method} {path}" + (f" {json.dumps(body, sort_keys=True)}" if body and "Sessions" not in path else "")
        self.journal.append(line)
        if self._journal_file is not None:
            with self._journal_file.open("a") as file:
                file.write(f"{line}\n")

    def asked(self, beginning: str) -> int:
        """How many requests there were whose line in the journal begins so."""
        with self.lock:
            return sum(line.startswith(beginning) for line in self.journal)

    def reset(self, kind: str) -> None:
        """Switch the power."""
        if self.power_sticks:
            return
        boots = kind in _ON and (kind not in ("On", "ForceOn") or self.power_state == "Off")
        wanted = "On" if kind in _ON else "Off" if kind in _OFF else self.power_state
        self._power_change = (wanted, time.monotonic() + self.power_seconds)
        self.go_on(boots=boots)

    def go_on(self, *, boots: bool = False) -> None:
        """Let all due events happen."""
        change = self._power_change
        if change is not None and time.monotonic() >= change[1]:
            boots = boots or (self.power_state == "Off" and change[0] == "On")
            self.power_state, self._power_change = change[0], None
        if boots:
            self.bios.apply()
            self.updates.boot()
        was_away = self.updates.is_away
        self.updates.go_on()
        if self.updates.is_away and not was_away:
            self.sessions.close_all()
