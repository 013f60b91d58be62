"""An IPMI controller with one machine behind it: pyghmi's, as a process of its own (``ipmi_controller.py``).

with ipmi_bmc() as bmc:
    driver_info = bmc.driver_info()
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import wait_until

_PROGRAM = Path(__file__).with_name("ipmi_controller.py")
USERNAME, PASSWORD = "operator", "emulated-ipmi-1"


@dataclass
class IpmiBmc:
    """A controller that runs."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes]"

    def driver_info(self, **otherwise: Any) -> dict[str, Any]:
        """A node's ``driver_info`` about the controller; a value that is None is left out."""
        told = {
            "ipmi_address": "127.0.0.1",
            "ipmi_port": self.port,
            "ipmi_username": USERNAME,
            "ipmi_password": PASSWORD,
            **otherwise,
        }
        return {name: value for name, value in told.items() if value is not None}

    @property
    def power(self) -> str:
        """``on`` or ``off``."""
        return (self.folder / "power").read_text()

    @power.setter
    def power(self, state: str) -> None:
        (self.folder / "power").write_text(state)

    @property
    def boot(self) -> str:
        """The boot flags, in hexadecimal digits."""
        return (self.folder / "boot").read_text()

    @property
    def journal(self) -> list[str]:
        """Requests to the controller, other than reads."""
        return (self.folder / "journal").read_text().splitlines()

    def let_switching_take(self, seconds: float) -> None:
        """The machine takes so long to switch; a negative number: it is never done."""
        (self.folder / "takes").write_text(str(seconds))

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Meanwhile the controller answers nothing."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the controller."""
        self.process.kill()
        self.process.wait()


@contextmanager
def ipmi_bmc() -> Iterator[IpmiBmc]:
    """Start a controller on a free port of 127.0.0.1; the machine is off."""
    pytest.importorskip("pyghmi", reason="needs pyghmi: install the extra 'test'")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in (("power", "off"), ("boot", "0000000000"), ("journal", ""), ("takes", "0")):
            (folder / file).write_text(text)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(
                (sys.executable, str(_PROGRAM), str(port)),
                cwd=folder,
                env={**os.environ, "BMC_USERNAME": USERNAME, "BMC_PASSWORD": PASSWORD},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            ready = (folder / "ready").exists
            wait_until(lambda: ready() or process.poll() is not None, "the IPMI controller")
            assert process.poll() is None, (folder / "log").read_text()
            yield IpmiBmc(folder, port, process)
        finally:
            process.kill()
            process.wait()
            print((folder / "log").read_text()[-2000:])
