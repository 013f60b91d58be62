"""Clients that keep nodes busy, each its own: they provision, write, and remember what they were told."""

import random
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from requests import Response

from tests.processes import Client

#: What a client may ask for, by state. Failures are left behind by asking again, or for the way back.
VERBS: Mapping[str, tuple[str, ...]] = {
    "enroll": ("manage",),
    "manageable": ("provide", "provide", "clean", "inspect"),
    "available": ("active", "active", "active", "manage"),
    "active": ("deleted", "deleted", "rebuild", "rescue", "service"),
    "rescue": ("unrescue", "deleted"),
    "deploy failed": ("deleted", "active"),
    "clean failed": ("manage",),
    "inspect failed": ("manage", "inspect"),
    "rescue failed": ("unrescue", "deleted"),
    "unrescue failed": ("unrescue", "deleted"),
    "service failed": ("service", "deleted"),
    "error": ("deleted",),
}
#: The way from any of these states to "available".
HOME: Mapping[str, str] = dict.fromkeys(VERBS, "deleted") | {
    "enroll": "manage",
    "manageable": "provide",
    "clean failed": "manage",
    "inspect failed": "manage",
}
_STEPS = [{"interface": "vendor", "step": "log_passthrough"}, {"interface": "bios", "step": "factory_reset"}]
_BODIES: Mapping[str, dict[str, Any]] = {
    "clean": {"clean_steps": _STEPS},
    "service": {"service_steps": _STEPS[:1]},
    "rescue": {"rescue_password": "secret"},
}
#: What may be answered besides 2xx: nobody serves the group (400, 404), somebody is at the node (409), not now (503), a
#: conductor that was asked is gone (504).
_PATIENCE = (400, 404, 409, 503, 504)


@dataclass
class Tenant:
    """One client and its nodes. ``failures`` is what it should not have met."""

    number: int
    nodes: list[str]
    verbs: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: VERBS)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    #: By node: the last number that it wrote and that was confirmed, and the last that it tried to write.
    confirmed: dict[str, int] = field(default_factory=dict)
    tried: dict[str, int] = field(default_factory=dict)
    #: The nodes as they were when it looked last.
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)

    def live(self, url: str, stop: threading.Event, pause: float) -> None:
        """Do something at random, again and again."""
        self._random = random.Random(self.number)
        with Client(url) as self._client:
            while not stop.wait(pause):
                self._act(self._random.choice(self.nodes))

    def go_home(self, url: str, seconds: float) -> None:
        """Make every node available; what is not after ``seconds`` is a failure."""
        until = time.monotonic() + seconds
        left = list(self.nodes)
        with Client(url) as self._client:
            while left and time.monotonic() < until:
                left = [uuid for uuid in left if not self._send_home(uuid)]
                time.sleep(0.1)
        self.failures += [f"node {uuid} is not available in the end: {self.seen.get(uuid)}" for uuid in left]

    def check_writes(self, url: str) -> None:
        """Confirmed changes are there, or later ones."""
        with Client(url) as self._client:
            for uuid, confirmed in self.confirmed.items():
                node = self._look(uuid)
                written = node and node["extra"].get("serial")
                if written not in range(confirmed, self.tried[uuid] + 1):
                    self.failures.append(f"node {uuid}: {confirmed} was written, {written} is there")

    def _act(self, uuid: str) -> None:
        node = self._look(uuid)
        if node is None or node["reservation"]:
            return
        if node["maintenance"]:
            self._call("maintenance", "DELETE", f"/nodes/{uuid}/maintenance")
        kind = self._random.random()
        if kind < 0.2:
            self._write(uuid)
        elif kind < 0.3:
            target = self._random.choice(["power on", "power off", "rebooting"])
            self._call("power", "PUT", f"/nodes/{uuid}/states/power", {"target": target})
        elif node["provision_state"] in self.verbs:
            self._order(node, self._random.choice(self.verbs[node["provision_state"]]))

    def _send_home(self, uuid: str) -> bool:
        node = self._look(uuid)
        if node is None or node["reservation"]:
            return False
        if node["maintenance"]:
            self._call("maintenance", "DELETE", f"/nodes/{uuid}/maintenance")
            return False
        state = node["provision_state"]
        if state != "available" and state in HOME:
            self._order(node, HOME[state])
        return bool(state == "available")

    def _look(self, uuid: str) -> dict[str, Any] | None:
        fields = "uuid,provision_state,reservation,maintenance,extra,last_error"
        response = self._call("look", "GET", f"/nodes/{uuid}?fields={fields}")
        if response.status_code != 200:
            return None
        node: dict[str, Any] = response.json()
        self.seen[uuid] = node
        return node

    def _order(self, node: dict[str, Any], verb: str) -> None:
        before, path = node["provision_state"], f"/nodes/{node['uuid']}"
        body = {"target": verb, **_BODIES.get(verb, {})}
        if self._call(verb, "PUT", f"{path}/states/provision", body).status_code != 202:
            return
        after = self._look(node["uuid"])
        # Some ways lead back to where they began.
        if verb not in ("rebuild", "service", "manage", "inspect", "clean") and after:
            failed = before.endswith("failed") or after["last_error"]
            if after["provision_state"] == before and not failed:
                self.failures.append(f"{verb} of node {node['uuid']} was accepted in {before}, and that was lost")

    def _write(self, uuid: str) -> None:
        self.tried[uuid] = serial = self.tried.get(uuid, 0) + 1
        patch = [{"op": "add", "path": "/extra/serial", "value": serial}]
        if self._call("write", "PATCH", f"/nodes/{uuid}", patch).status_code == 200:
            self.confirmed[uuid] = serial

    def _call(self, name: str, method: str, path: str, body: Any = None) -> Response:
        response = self._client.baremetal(method, path, body)
        status = response.status_code
        self.statuses[name, status] += 1
        if status >= 400 and (status not in _PATIENCE or (status in (400, 404) and "serve" not in response.text)):
            self.failures.append(f"{name} {path}: {status} {response.text[:300]}")
        if status == 503:
            if "Retry-After" in response.headers:
                self.failures.append(f"{name}: 503 with Retry-After")
            time.sleep(0.2)
        return response
