"""A bare metal API with a machine of an emulator, and what is seen of both."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import requests

from tests.emulators import Emulator, ImageServer

VERSION = "1.115"
#: States that a node does not stay in by itself.
_PASSING = re.compile(r"ing$|wait$|^clean$|^deleted$|^servicing$")
_PATIENCE = 60
#: What the API shows of a node after each request.
_FIELDS = (
    *("provision_state", "target_provision_state", "power_state", "target_power_state", "maintenance", "fault"),
    *("boot_mode", "secure_boot", "clean_step", "deploy_step", "service_step", "instance_info", "properties"),
)


@dataclass
class World:
    """Where the API is, the number of the emulator's system that the node ``machine`` is, and what has been seen.

    By the name of what was done: what must be equal (``seen``), and what people are told (``told``).
    """

    url: str
    emulator: Emulator
    system: int
    images: ImageServer
    seen: dict[str, Any] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)

    def call(self, method: str, path: str, body: Any = None, version: str = VERSION) -> requests.Response:
        """A request, of which nothing is noted."""
        headers = {"X-OpenStack-Ironic-API-Version": version}
        return requests.request(method, f"{self.url}/v1{path}", json=body, headers=headers, timeout=_PATIENCE)

    def ask(self, name: str, method: str, path: str, body: Any = None) -> Any:
        """A request; its status and the error that it comes to are noted. Returns the document that is answered."""
        answer = self.call(method, path, body)
        self.note(f"{name}: status", answer.status_code)
        if answer.status_code >= 400:
            self.told[f"{name}: error"] = self.plain(answer.text)
        return answer.json() if answer.content and answer.status_code < 400 else None

    def do(self, name: str, path: str, body: Any, method: str = "PUT") -> dict[str, Any]:
        """A request to the node that a conductor does something about; what the node and the system are afterwards is
        noted."""
        self.ask(name, method, f"/nodes/machine{path}", body)
        return self.look(name)

    def look(self, name: str) -> dict[str, Any]:
        """Note what the node and the system are, once nothing is being done."""
        node = self.settle()
        # Ironic notes the vendor of every machine.
        properties = {key: value for key, value in node["properties"].items() if key != "vendor"}
        self.note(name, {key: node[key] for key in _FIELDS} | {"properties": properties})
        self.note(f"{name}: complains", node["last_error"] is not None)
        if node["last_error"]:
            self.told[f"{name}: last_error"] = self.plain(node["last_error"])
        system = self.emulator.get(self.emulator.path(self.system))
        override = {key: system.get("Boot", {}).get(key) for key in _BOOT}
        self.note(f"{name}: machine", {"PowerState": system["PowerState"], **override})
        return node

    def provision(self, name: str, target: str, **more: Any) -> dict[str, Any]:
        """Ask for a verb."""
        return self.do(name, "/states/provision", {"target": target, **more})

    def power(self, name: str, target: str, **more: Any) -> dict[str, Any]:
        """Switch the machine."""
        return self.do(name, "/states/power", {"target": target, **more})

    def change(self, name: str, **fields: Any) -> None:
        """Replace fields of the node; ``driver_info__redfish_password`` is one in a dictionary."""
        patch = [
            {"op": "add", "path": f"/{key.replace('__', '/')}", "value": value}
            if value is not None
            else {"op": "remove", "path": f"/{key.replace('__', '/')}"}
            for key, value in fields.items()
        ]
        self.ask(name, "PATCH", "/nodes/machine", patch)

    def validate(self, name: str) -> None:
        """Note which interfaces have what they need."""
        found = self.ask(name, "GET", "/nodes/machine/validate") or {}
        self.note(f"{name}: interfaces", {kind: each["result"] for kind, each in found.items()})
        for kind, each in found.items():
            if each.get("reason"):
                self.told[f"{name}: {kind}"] = self.plain(each["reason"])

    def settle(self) -> dict[str, Any]:
        """Wait until nothing is being done to the node, but not for ever; returns it."""
        deadline = time.monotonic() + _PATIENCE
        node: dict[str, Any] = {}
        while time.monotonic() < deadline:
            node = self.call("GET", "/nodes/machine").json()
            passing = _PASSING.search(node["provision_state"] or "")
            if not (node["reservation"] or node["target_power_state"] or passing):
                break
            time.sleep(0.1)
        return node

    def _comparable(self, value: Any) -> Any:
        """Documents without the URLs of what is in them, and without the name of the machine."""
        if isinstance(value, dict):
            return {key: self._comparable(each) for key, each in value.items() if key != "links"}
        if isinstance(value, list):
            return [self._comparable(each) for each in value]
        return value.replace(self.emulator.systems[self.system], "SYSTEM") if isinstance(value, str) else value

    def note(self, name: str, value: Any) -> None:
        """The facts that must be equal in both worlds."""
        assert name not in self.seen, name
        self.seen[name] = self._comparable(value)

    def plain(self, text: str) -> str:
        """A text without what differs from one machine to the other."""
        text = text.replace(self.emulator.systems[self.system], "SYSTEM").replace(self.emulator.url, "EMULATOR")
        return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UUID", text)


_BOOT = ("BootSourceOverrideTarget", "BootSourceOverrideMode")

#: Tells a part of the story.
Story = Callable[[World], None]
