"""A bare metal API with a machine of an emulator, and the agent that this machine boots."""

import base64
import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import requests
from pycdlib import PyCdlib

from tests.emulators import Emulator, ImageServer
from tests.emulators.stub_agent import StubAgent
from tests.waiting import wait_until

VERSION = "1.115"
_PATIENCE = 120
#: An operation that needs more heartbeats does not end.
_MOST_BEATS = 15
_FIELDS = (
    *("provision_state", "target_provision_state", "power_state", "target_power_state", "maintenance", "fault"),
    *("reservation", "clean_step", "deploy_step", "boot_mode", "deploy_interface"),
)


#: Other members of driver_internal_info and instance_info are internal to each service.
_HIDDEN = {
    # Ironic's
    *("agent_secret_token", "clean_step_index", "cleaning_disable_ramdisk", "declarative_cleaning"),
    *("deploy_step_index", "image_url", "is_whole_disk_image", "root_uuid_or_disk_id", "steps_validated"),
    *("agent_cached_deploy_steps_refreshed", "vmedia_transport_protocol"),
    # ours
    *("agent_changes", "agent_command", "image_state", "planned_with_agent"),
}
#: Ironic fills in what is not given for an image, and keeps what it knew of an agent.
_HIDDEN_OF_NODES = {
    *("agent_cached_clean_steps_refreshed", "agent_last_heartbeat", "agent_version", "configdrive"),
    *("ephemeral_format", "ephemeral_gb", "ephemeral_mb", "image_type"),
    *("preserve_ephemeral", "root_mb", "hardware_manager_version", "last_power_state_change"),
}
#: Ironic keeps them with the node, too; we add them to commands.
_ERASING = {
    *("agent_continue_if_ata_erase_failed", "agent_continue_if_secure_erase_failed", "agent_enable_ata_secure_erase"),
    *("agent_enable_nvme_secure_erase", "agent_erase_devices_iterations", "agent_erase_devices_zeroize"),
    *("agent_erase_skip_read_only", "disk_erasure_concurrency"),
}
#: Other members that Ironic's agents get: about the API, conductors and the database.
_UNTOLD_OF_NODE = {
    *("allocation_id", "automated_clean", "chassis_id", "clean_step", "conductor_affinity", "console_enabled"),
    *("created_at", "deploy_step", "fault", "health", "id", "inspection_finished_at", "inspection_started_at"),
    *("last_error", "maintenance_reason", "parent_node", "protected", "protected_reason", "provision_updated_at"),
    *("reservation", "retired", "retired_reason", "service_step", "shard", "target_power_state", "traits"),
    "updated_at",
}
_UNTOLD_OF_PORT = {
    *("available_for_dynamic_portgroup", "created_at", "id", "internal_info", "node_id", "portgroup_id", "updated_at"),
}


class Agent(StubAgent):
    """An agent that shuts its machine down when it is told to, and answers no longer when it is locked down."""

    def __init__(self, shut_down: Callable[[], None]) -> None:
        super().__init__()
        self._shut_down = shut_down
        self.before = self._break_off
        self.is_locked = False

    def _break_off(self, method: str, body: dict[str, Any] | None) -> None:
        if self.is_locked:
            raise ConnectionError

    def handle(self, method: str, target: str, body: bytes | None) -> tuple[int, bytes]:
        """See StubAgent; the machine is off, or the agent silent, after this answer."""
        before = len(self.executed)
        answer = super().handle(method, target, body)
        for name, _ in self.executed[before:]:
            if name == "standby.power_off":
                self._shut_down()
            elif name == "system.lockdown":
                self.is_locked = True
        return answer


@dataclass
class World:
    """Where the API is, the number of the emulator's system that the node is, its agent, and what has been seen.

    By the name of what was done: what must be equal (``seen``), and what people are told (``told``).
    """

    url: str
    emulator: Emulator
    system: int
    images: ImageServer
    agent: Agent
    port: int
    name: str
    seen: dict[str, Any] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    uuid: str = ""
    _token: str | None = None
    _resets: int = 0

    # -- requests ------------------------------------------------------------------------------------------------------

    def call(self, method: str, path: str, body: Any = None) -> requests.Response:
        """A request, of which nothing is noted."""
        headers = {"X-OpenStack-Ironic-API-Version": VERSION}
        return requests.request(method, f"{self.url}/v1{path}", json=body, headers=headers, timeout=_PATIENCE)

    def ask(self, name: str, method: str, path: str, body: Any = None) -> Any:
        """A request; its status is noted. Returns the document that is answered."""
        answer = self.call(method, path, body)
        self.note(f"{name}: status", answer.status_code)
        if answer.status_code >= 400:
            self.told[f"{name}: error"] = answer.text
        return answer.json() if answer.content and answer.status_code < 400 else None

    def node(self) -> dict[str, Any]:
        """The node as the API shows it."""
        document: dict[str, Any] = self.call("GET", f"/nodes/{self.name}").json()
        return document

    @property
    def mac(self) -> str:
        """The address of the machine."""
        number = self.system + 1
        return f"52:54:00:fa:{number >> 8:02x}:{number & 255:02x}"

    def provision(self, name: str, target: str, **more: Any) -> dict[str, Any]:
        """Ask for a verb, and note what the node is when nothing is being done any more."""
        self.ask(name, "PUT", f"/nodes/{self.name}/states/provision", {"target": target, **more})
        return self.look(name)

    # -- the agent -----------------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Have the agent send a heartbeat, if it runs, and wait until it has been worked on."""
        before = self.settle()
        self._notice_reset()
        if self._token is None:
            found = self.call("GET", f"/lookup?addresses={self.mac}")
            self._token = found.json()["config"]["agent_token"] if found.ok else "none"
        address = f"http://127.0.0.1:{self.port}"
        body = {"callback_url": address, "agent_token": self._token, "agent_version": "13.0.0"}
        answer = self.call("POST", f"/heartbeat/{before['uuid']}", body)
        assert answer.status_code == 202, answer.text
        with suppress(AssertionError):  # one that is not acted on is not noted
            wait_until(lambda: _last_heartbeat(self.node()) != _last_heartbeat(before), "the heartbeat", seconds=20)
        self.settle()

    def work(self, name: str) -> dict[str, Any]:
        """Have the agent send heartbeats until the machine waits for it no more; note the states that the node passes,
        the commands, and what the node is then."""
        begun, states = len(self.agent.executed), [self.node()["provision_state"]]
        beats = 0
        while states[-1].endswith(("wait", "wait call-back")) and beats < _MOST_BEATS:
            self.beat()
            beats += 1
            states.append(self.node()["provision_state"])
        passed = [state for number, state in enumerate(states) if number == 0 or states[number - 1] != state]
        self.note(f"{name}: states", passed)
        self._note_commands(name, begun)
        return self.look(name)

    def beat_once(self, name: str) -> dict[str, Any]:
        """Have the agent send one heartbeat, and note what comes of it."""
        begun = len(self.agent.executed)
        self.beat()
        self._note_commands(name, begun)
        return self.look(name)

    def _notice_reset(self) -> None:
        path = self.emulator.path(self.system)
        resets = sum(each.startswith(f"POST {path}/Actions/ComputerSystem.Reset") for each in self.emulator.asked())
        if resets != self._resets:
            self._resets, self._token = resets, None
            self.agent.restart()
            self.agent.is_locked = False

    def shut_down(self) -> None:
        """Switch the machine off, as its operating system does."""
        path = self.emulator.path(self.system)
        self.emulator.request("POST", f"{path}/Actions/ComputerSystem.Reset", {"ResetType": "ForceOff"})

    # -- observations --------------------------------------------------------------------------------------------------

    def settle(self) -> dict[str, Any]:
        """Wait until nothing is being done to the node; returns it."""

        def settled() -> dict[str, Any] | None:
            node = self.node()
            busy = node["reservation"] or node["target_power_state"] or node["provision_state"].endswith("ing")
            return None if busy else node

        node = wait_until(settled, "the node to settle", seconds=_PATIENCE)
        assert node is not None
        return node

    def look(self, name: str) -> dict[str, Any]:
        """Note what the node and the machine are, once nothing is being done."""
        node = self.settle()
        for key in _FIELDS:
            value = node[key]
            if key.endswith("_step"):
                value = f"{value['interface']}.{value['step']}" if value else None
            self.note(f"{name}: {key}", value)
        for key in ("driver_internal_info", "instance_info"):
            self.note(f"{name}: {key}", sorted(node[key].keys() - _HIDDEN - _HIDDEN_OF_NODES - _ERASING))
        self.note(f"{name}: complains", node["last_error"] is not None)
        if node["last_error"]:
            self.told[f"{name}: last_error"] = node["last_error"]
        path = self.emulator.path(self.system)
        system = self.emulator.get(path)
        self.note(f"{name}: machine", system["PowerState"])
        self.note(f"{name}: boots from", system["Boot"].get("BootSourceOverrideTarget"))
        self.note(f"{name}: disc", self.emulator.get(f"{path}/VirtualMedia/Cd").get("Inserted", False))
        return node

    def _note_commands(self, name: str, begun: int) -> None:
        done = self.agent.executed[begun:]
        self.note(f"{name}: commands", [each for each, _ in done])
        for place, (command, params) in enumerate(done):
            number = [each for each, _ in done[:place]].count(command) + 1
            self.note(f"{name}: {command} {number} keys", sorted(params))
            for key, value in params.items():
                self._note_parameter(f"{name}: {command} {number} {key}", value)

    def _note_parameter(self, name: str, value: Any) -> None:
        if name.endswith(" node"):
            for key in ("instance_info", "driver_internal_info"):
                hidden = _HIDDEN if " clean." in name else _HIDDEN | _ERASING
                if key == "instance_info":
                    hidden = hidden | _HIDDEN_OF_NODES
                self.note(f"{name} {key}", sorted((value.get(key) or {}).keys() - hidden))
            self.note(f"{name} fields", sorted(value.keys() - _UNTOLD_OF_NODE))
        elif name.endswith(" ports"):
            self.note(name, [sorted(port.keys() - _UNTOLD_OF_PORT) for port in value])
        elif name.endswith(" step"):
            arguments = dict(value.get("args") or {})
            self.note(
                f"{name} fields", {each: value[each] for each in ("interface", "step", "priority") if each in value}
            )
            for key, image in (arguments.pop("image_info", None) or {}).items():
                self.note(f"{name} image_info {key}", _comparable(image))
            self.note(f"{name} args", {key: _comparable(each) for key, each in sorted(arguments.items())})
        else:
            self.note(name, value)

    def note(self, name: str, value: Any) -> None:
        """The facts that must be equal in both worlds."""
        assert name not in self.seen, name
        self.seen[name] = self._plain(value)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._plain(each) for key, each in value.items()}
        return value.replace(self.uuid, "NODE") if isinstance(value, str) and self.uuid else value


def _last_heartbeat(node: dict[str, Any]) -> Any:
    return node["driver_internal_info"].get("agent_last_heartbeat"), node["provision_state"]


def _comparable(value: Any) -> Any:
    """A config drive is compared by its contents."""
    if not (isinstance(value, str) and value.startswith("H4sI")):
        return value
    disc = PyCdlib()
    disc.open_fp(BytesIO(gzip.decompress(base64.b64decode(value))))
    found = {}
    for folder, _, files in disc.walk(rr_path="/"):
        for file in files:
            content = BytesIO()
            disc.get_file_from_iso_fp(content, rr_path=f"{folder}/{file}")
            text = content.getvalue().decode()
            found[f"{folder}/{file}"] = json.loads(text) if file.endswith(".json") else text
    disc.close()
    return found
