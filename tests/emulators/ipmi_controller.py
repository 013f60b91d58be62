"""An IPMI controller: ``python ipmi_controller.py PORT``, with BMC_USERNAME and BMC_PASSWORD in the environment.

The machine is files of the working directory: ``power`` (on or off), ``boot`` (its boot flags) and ``takes``, how many
seconds it takes to switch; a negative number: it never does. ``journal`` has what was asked, other than questions.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

from pyghmi.ipmi import bmc

_POWER, _BOOT, _TAKES, _JOURNAL = Path("power"), Path("boot"), Path("takes"), Path("journal")
_NOT_IN_THIS_STATE = 0xD5


class Controller(bmc.Bmc):
    """Keeps everything in files."""

    _due: tuple[float, str] | None = None

    def get_power_state(self) -> str:
        if self._due is not None and self._due[0] <= time.monotonic():
            _POWER.write_text(self._due[1])
            self._due = None
        return _POWER.read_text()

    def _switch(self, asked: str, meanwhile: str, finally_: str) -> None:
        self._note(asked)
        takes = float(_TAKES.read_text())
        if takes >= 0:
            _POWER.write_text(meanwhile if takes else finally_)
            self._due = (time.monotonic() + takes, finally_) if takes else None

    def _note(self, asked: str) -> None:
        with _JOURNAL.open("a") as journal:
            journal.write(f"{asked}\n")

    def power_on(self) -> None:
        self._switch("on", _POWER.read_text(), "on")

    def power_off(self) -> None:
        self._switch("off", _POWER.read_text(), "off")

    def power_shutdown(self) -> None:
        self._switch("soft", _POWER.read_text(), "off")

    def power_reset(self) -> int:
        if _POWER.read_text() == "off":
            return _NOT_IN_THIS_STATE
        self._switch("reset", "off", "on")
        return 0

    def pulse_diag(self) -> None:
        self._note("diag")

    def cold_reset(self) -> int:
        self._note("cold reset")
        return 0

    def set_system_boot_options(self, request: Any, session: Any) -> None:
        parameter, *data = request["data"]
        self._note(f"boot option {parameter}: {bytes(data).hex()}")
        if parameter == 5:
            _BOOT.write_text(bytes(data).hex())
        session.send_ipmi_response()

    def get_system_boot_options(self, request: Any, session: Any) -> None:
        if request["data"][0] == 5:
            session.send_ipmi_response(data=[1, 5, *bytes.fromhex(_BOOT.read_text())])
        else:
            session.send_ipmi_response(code=0x80)

    def handle_raw_request(self, request: Any, session: Any) -> None:
        if (request["netfn"], request["command"]) == (6, 3):
            self._note("warm reset")
            session.send_ipmi_response()
        elif request["netfn"] == 0x30:  # a vendor's: the command is the completion code that is wanted
            self._note(f"raw {request['command']}: {bytes(request['data']).hex()}")
            session.send_ipmi_response(code=request["command"])
        else:
            super().handle_raw_request(request, session)


if __name__ == "__main__":
    users = {os.environ["BMC_USERNAME"]: os.environ["BMC_PASSWORD"]}
    controller = Controller(users, int(sys.argv[1]), address="127.0.0.1")
    Path("ready").touch()
    controller.listen()
