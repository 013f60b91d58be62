"""sushy-emulator as a process of its own, on a free port of 127.0.0.1, with its own folder for what it remembers."""

import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import bcrypt
import pytest
import requests

from tests.certificates import Certificate
from tests.processes import Program, program
from tests.waiting import wait_until

_LAUNCH = Path(__file__).with_name("launch.py")
_READY = re.compile(r"Running on (https?://127\.0\.0\.1:\d+)")
_SECONDS = 10
#: The machine of ``test:///default``.
_DEFAULT_DOMAIN = "6695eb01-f6a4-8304-79aa-97f2502e193f"


@dataclass(frozen=True)
class Emulator:
    """An emulator that runs, with the identifiers of its systems."""

    url: str
    program: Program
    username: str | None = None
    password: str | None = None
    certificate: Path | None = None
    systems: tuple[str, ...] = ()

    def path(self, system: int | str = 0) -> str:
        """Where a system is, by its number or identifier."""
        return f"/redfish/v1/Systems/{self.systems[system] if isinstance(system, int) else system}"

    def driver_info(self, system: int | str = 0, **otherwise: Any) -> dict[str, Any]:
        """A node's ``driver_info`` about a system; a value that is None is left out."""
        told = {
            "redfish_address": self.url,
            "redfish_system_id": self.path(system),
            "redfish_username": self.username,
            "redfish_password": self.password,
            "redfish_verify_ca": str(self.certificate) if self.certificate else None,
            **otherwise,
        }
        return {name: value for name, value in told.items() if value is not None}

    def get(self, path: str) -> dict[str, Any]:
        """The resource at a path: ``emulator.path() + "/BIOS"``."""
        document: dict[str, Any] = self.request("GET", path).json()
        return document

    def request(self, method: str, path: str, body: Any = None) -> requests.Response:
        """Any request, past the service; fails if it is refused."""
        response = requests.request(
            method,
            f"{self.url}{path}",
            json=body,
            auth=(self.username, self.password) if self.username and self.password else None,
            verify=str(self.certificate) if self.certificate else True,
            timeout=_SECONDS,
        )
        response.raise_for_status()
        return response

    def asked(self) -> list[str]:
        """The requests that it has had (``GET /redfish/v1/ 200``), the oldest first."""
        # Colours surround the lines of refused requests, in a terminal or not.
        plain = re.sub(r"\x1b\[\d*m", "", self.program.log)
        return [" ".join(found) for found in re.findall(r'"([A-Z]+ \S+) HTTP/1\.\d" (\d+)', plain)]


@contextmanager
def fake_systems(
    count: int = 1,
    *,
    users: Mapping[str, str] | None = None,
    tls: Certificate | None = None,
    power_seconds: tuple[int, int] = (0, 0),
    notified: str | None = None,
    **settings: Any,
) -> Iterator[Emulator]:
    """``--fake`` with ``count`` systems, all off, one network interface each. Power, boot device and mode, secure boot,
    LED, virtual media; no BIOS, processors, storage, firmware, sessions.

    ``users`` with their passwords, everybody if None; ``tls``: served with this certificate; a change of power shows
    after ``power_seconds``, at random between the two; ``notified``: a URL that is told of each change by PUT;
    ``settings``: others of sushy-emulator, without ``SUSHY_EMULATOR_``.
    """
    settings["FAKE_SYSTEMS"] = [
        {
            "uuid": f"{number:08x}-0000-4000-8000-00000000fa4e",
            "name": f"fake-{number}",
            "power_state": "Off",
            "external_notifier": notified is not None,
            "nics": [{"mac": f"52:54:00:fa:{number >> 8:02x}:{number & 255:02x}", "ip": "192.0.2.1"}],
        }
        for number in range(1, count + 1)
    ]
    others = {"EXTERNAL_NOTIFICATION_URL": notified} if notified else {}
    with _emulator(("--fake",), settings, users=users, tls=tls, power_seconds=power_seconds, others=others) as emulator:
        yield emulator


@contextmanager
def libvirt_systems(
    xml: Path | None = None,
    *,
    users: Mapping[str, str] | None = None,
    tls: Certificate | None = None,
    **settings: Any,
) -> Iterator[Emulator]:
    """``--libvirt-uri`` with libvirt's test driver: the one domain of ``test:///default``, which is on, or those of
    the file ``xml``. BIOS, processors, memory, firmware by SimpleUpdate, a drive. Boot mode and secure boot answer 500.

    Skips the test if libvirt-python is not there.
    """
    if find_spec("libvirt") is None:
        pytest.skip("libvirt-python is missing: apt install libvirt-dev, and pip install libvirt-python of its version")
    uuids = re.findall(r"<uuid>([^<]+)</uuid>", xml.read_text()) if xml else [_DEFAULT_DOMAIN]
    options = ("--libvirt-uri", f"test://{xml or '/default'}")
    with _emulator(options, {**_storage(uuids), **settings}, users=users, tls=tls) as emulator:
        yield emulator


def _storage(uuids: Iterable[str]) -> dict[str, Any]:
    """A controller with a drive for each of these domains: libvirt knows of none."""
    controller = {"MemberId": "0", "Name": "Controller", "SpeedGbps": 12}
    storage = {"Id": "1", "Name": "Local storage", "StorageControllers": [controller], "Drives": ["drive-1"]}
    drive = {"Id": "drive-1", "Name": "Drive", "CapacityBytes": 899527000000, "Protocol": "SAS"}
    return {
        "STORAGE": {uuid: [storage] for uuid in uuids},
        "DRIVES": {(uuid, "1"): [drive] for uuid in uuids},
        "VOLUMES": {(uuid, "1"): [] for uuid in uuids},
    }


@contextmanager
def minimum(
    count: int = 1, *, users: Mapping[str, str] | None = None, power_seconds: tuple[int, int] = (0, 0)
) -> Iterator[Emulator]:
    """``--fake --feature-set minimum``: controllers with power and boot devices, and little else."""
    with fake_systems(count, users=users, power_seconds=power_seconds, FEATURE_SET="minimum") as emulator:
        yield emulator


@contextmanager
def ironic_cloud(url: str, **settings: Any) -> Iterator[Emulator]:
    """``--ironic-cloud``: the nodes of the bare metal API at ``url`` (which asks nobody for a password) as systems."""
    clouds = f"clouds:\n  ironic:\n    auth_type: none\n    auth: {{endpoint: '{url}'}}\n"
    with _emulator(("--ironic-cloud", "ironic"), settings, files={"clouds.yaml": clouds}) as emulator:
        yield emulator


@contextmanager
def _emulator(
    options: tuple[str, ...],
    settings: Mapping[str, Any],
    *,
    users: Mapping[str, str] | None = None,
    tls: Certificate | None = None,
    power_seconds: tuple[int, int] = (0, 0),
    files: Mapping[str, str] | None = None,
    others: Mapping[str, str] | None = None,
) -> Iterator[Emulator]:
    """The emulator with these options and settings, which answers; ``files`` are in the folder where it runs.

    ``others`` are settings whose names do not begin with ``SUSHY_EMULATOR_``.
    """
    folder = Path(tempfile.mkdtemp(prefix="emulator-"))
    try:
        # Port 0 is a free one: no other process can take it before the emulator does.
        told = {"LISTEN_IP": "127.0.0.1", "LISTEN_PORT": 0, "STATE_DIR": str(folder / "state"), **settings}
        if users is not None:
            told["AUTH_FILE"] = str(_htpasswd(folder, users))
        if tls is not None:
            told |= {"SSL_CERT": str(tls.certificate), "SSL_KEY": str(tls.key)}
        named = {f"SUSHY_EMULATOR_{name}": value for name, value in told.items()} | dict(others or {})
        lines = (f"{name} = {value!r}" for name, value in named.items())
        for name, text in {"emulator.conf": "\n".join(lines), **(files or {})}.items():
            (folder / name).write_text(text)
        # TMPDIR: the images that it downloads are kept there, for ever.
        command = ("env", f"TMPDIR={folder}", "PYTHONWARNINGS=ignore", sys.executable, str(_LAUNCH))
        seconds = tuple(str(each) for each in power_seconds)
        with program((*command, *seconds, "--config", "emulator.conf", *options), folder, "emulator") as running:
            username, password = next(iter((users or {}).items()), (None, None))
            url = _address(running)
            emulator = Emulator(url, running, username, password, tls.certificate if tls else None)
            members = emulator.get("/redfish/v1/Systems")["Members"]
            systems = sorted(member["@odata.id"].rpartition("/")[2] for member in members)
            yield Emulator(url, running, username, password, emulator.certificate, tuple(systems))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _htpasswd(folder: Path, users: Mapping[str, str]) -> Path:
    """A file with the users, their passwords digested cheaply: each request has one checked."""
    digests = {name: bcrypt.hashpw(word.encode(), bcrypt.gensalt(4)).decode() for name, word in users.items()}
    path = folder / "htpasswd"
    path.write_text("".join(f"{name}:{digest}\n" for name, digest in digests.items()))
    return path


def _address(running: Program) -> str:
    """Where it says that it listens."""

    def said() -> str | None:
        assert running.process.poll() is None, f"the emulator ended:\n{running.output}{running.log}"
        found = _READY.search(running.log)
        return found.group(1) if found else None

    return wait_until(said, "the emulator to listen") or ""
