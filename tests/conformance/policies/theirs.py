"""The world on the side of a real Ironic, in a process of a Python that has it."""

import http.client
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.benchmarks.baremetal import original
from tests.conformance.policies import world
from tests.conformance.policies.callers import KINDS, SYSTEM_ADMIN, Caller
from tests.conformance.policies.cases import LATEST, Case
from tests.waiting import PATIENCE

_SCRIPT = Path(__file__).with_name("ironic_served.py")
_PATIENCE = 60
_ATTEMPTS = 20
#: Versions of Ironic's objects, which its rows carry.
_VERSIONS = {"bios_settings": "1.1", "firmware_information": "1.0", "node_history": "1.0", "node_inventory": "1.0"}


@dataclass
class Answer:
    """The answer."""

    status_code: int
    text: str


class Theirs:
    """A running Ironic with the world in it."""

    def __init__(
        self, process: subprocess.Popen[str], log: Path, headers: Callable[[Caller], Mapping[str, str]]
    ) -> None:
        self._headers = headers
        assert process.stdin
        assert process.stdout
        self._to: IO[str] = process.stdin
        self._from: IO[str] = process.stdout
        self._log = log
        self._port = self._ready()

    def build(self, projects: Mapping[str, str] | None) -> None:
        """Make the world, and remember it. ``projects``: see ``world.build``."""
        world.build(self._make, self._settle, projects)
        self._tell({"rows": list(_rows()), "save": True})

    def send(self, case: Case, caller: Caller) -> Answer:
        """Send the request as ``caller``; what it changed is put back."""
        path = case.path + (case.query and f"?{case.query}")
        answer = self._call(case.route.method, path, case.body, case.version, self._headers(caller))
        if case.route.method not in ("GET", "HEAD") and answer.status_code < 400:
            self._tell({"restore": True})
        return answer

    def _make(self, method: str, path: str, body: Any, version: int = LATEST) -> Any:
        for _ in range(_ATTEMPTS):
            answer = self._call(method, path, body, version, self._headers(SYSTEM_ADMIN))
            if answer.status_code != 500 or "locked" not in answer.text:
                break  # the conductor was not writing to the same SQLite file
        if answer.status_code >= 400:
            raise RuntimeError(f"{method} {path} {body}: {answer.status_code} {answer.text}")
        return json.loads(answer.text) if answer.text else None

    def _settle(self) -> None:
        """Wait until each node has its power on, and each allocation its node."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            nodes = self._make("GET", "/v1/nodes/detail", None)["nodes"]
            claims = self._make("GET", "/v1/allocations", None)["allocations"]
            if all(node["power_state"] == "power on" and not node["reservation"] for node in nodes) and all(
                claim["state"] == "active" for claim in claims
            ):
                return
            time.sleep(0.05)
        raise RuntimeError(f"Ironic does not come to rest: {nodes} {claims}")

    def _call(self, method: str, path: str, body: Any, version: int, headers: Mapping[str, str]) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE)
        try:
            document = None if body is None else json.dumps(body).encode()
            common = {"X-OpenStack-Ironic-API-Version": f"1.{version}", "Accept": "application/json"}
            kind = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path, document, {**common, **kind, **headers})
            response = connection.getresponse()
            return Answer(response.status, response.read().decode())
        finally:
            connection.close()

    def _tell(self, what: dict[str, Any]) -> None:
        self._to.write(json.dumps(what) + "\n")
        self._to.flush()
        self._ready()

    def _ready(self) -> int:
        line = self._from.readline()
        if not line.startswith("ready "):
            raise RuntimeError(f"Ironic does not start: {self._log.read_text()[-3000:]}")
        return int(line.split()[1])


def _rows() -> Iterator[dict[str, Any]]:
    for kind in KINDS:
        node = world.uuid_of(kind, "node")
        word = json.dumps({"word": world.word(kind)})
        event = {"event": world.word(kind), "event_type": "provision", "severity": "INFO"}
        rows = {
            "bios_settings": world.ROWS["bios_settings"],
            "firmware_information": world.ROWS["firmware_components"],
            "node_history": {**event, "uuid": world.uuid_of(kind, "event")},
            "node_inventory": {"inventory_data": word, "plugin_data": word},
        }
        for table, values in rows.items():
            yield {"table": table, "node": node, "version": _VERSIONS[table], **values}


@contextmanager
def served(
    python: str,
    folder: Path,
    headers: Callable[[Caller], Mapping[str, str]] = Caller.headers,
    *,
    elevated: bool = False,
    keystone: Mapping[str, str] | None = None,
    projects: Mapping[str, str] | None = None,
) -> Iterator[Theirs]:
    """Run Ironic with the world in it. ``headers`` identify a caller.

    ``keystone``: options of ``[keystone_authtoken]``; without them headers of the strategy ``noauth2`` are believed.
    """
    settings = folder / "ironic.conf"
    settings.write_text(_settings(folder, elevated, keystone))
    dbsync = Path(python).with_name("ironic-dbsync")
    subprocess.run([dbsync, "--config-file", settings, "create_schema"], check=True, capture_output=True)
    log = folder / "served.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [python, _SCRIPT, settings], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            theirs = Theirs(process, log, headers)
            theirs.build(projects)
            yield theirs
        finally:
            process.kill()
            process.wait(PATIENCE)


def _settings(folder: Path, elevated: bool, keystone: Mapping[str, str] | None) -> str:
    text = original.SETTINGS.format(folder=folder, connection=f"sqlite:///{folder}/ironic.sqlite")
    strategy = f"auth_strategy = keystone\nrbac_service_role_elevated_access = {elevated}"
    text = text.replace("auth_strategy = noauth", strategy)
    # The conductor does not die while the database is put back.
    text = text.replace("[conductor]", "[conductor]\nheartbeat_timeout = 86400")
    text += "\n[oslo_policy]\npolicy_file = /nonexistent/policy.yaml\n"
    if keystone:
        text += "\n[keystone_authtoken]\n" + "".join(f"{name} = {value}\n" for name, value in keystone.items())
    return text
