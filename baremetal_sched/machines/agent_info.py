"""The known facts about the agent: a small system that is booted on a machine, works for a conductor and reports to it.

It is stored in ``driver_internal_info``, under keys that all begin with ``agent_``.
"""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.db.models import Node
from baremetal_sched.db.sealing import readable
from baremetal_sched.documents.schema import parse_flag
from baremetal_sched.machines import states
from baremetal_sched.machines.interface_types import StepKind
from baremetal_sched.settings import Settings

#: The prefix of all keys.
PREFIX = "agent_"
#: The agent's URL, when it was last heard from (ISO 8601, UTC), and whether it is on fast track.
URL, LAST_HEARTBEAT, FAST = "agent_url", "agent_last_heartbeat", "agent_fast_track"
#: The agent's token, and its certificate (PEM).
TOKEN, VERIFY_CA = "agent_secret_token", "agent_verify_ca"
#: The command that was sent, or was about to be, and whose end is waited for: see ``conductor.agent_commands``.
COMMAND = "agent_command"
#: The kind of steps whose plan has the agent's own ones.
PLANNED = "planned_with_agent"
#: Whether an agent was booted for a service of the machine, which so must be given back to its instance.
BOOTED_FOR_SERVICE = "booted_for_service"
#: The versions of the agent's hardware managers, which it sends with its steps, and wants to see with each step.
VERSION = "hardware_manager_version"
#: What has become of the image that is deployed: one of the following, in the words of messages.
IMAGE = "image_state"
NOT_BEGUN, PARTLY_WRITTEN, WRITTEN = "was not begun", "may be partly written", "is written"

#: Provision states in which an agent on fast track may wait for work.
FAST_TRACK = frozenset({states.ENROLL, states.MANAGEABLE, states.AVAILABLE})
#: Provision states from which the agent is kept for the next operation.
KEPT = FAST_TRACK | {states.VERIFYING, states.CLEANING, states.INSPECTING}


def steps_key(kind: StepKind) -> str:
    """Return the key of the agent's own steps of this kind, by interface."""
    return f"agent_cached_{kind}_steps"


def unknown_step(internal: Mapping[str, Any]) -> str | None:
    """Return the name of the step whose command may or may not have reached the agent; None if there is none."""
    command = internal.get(COMMAND) or {}
    return None if not command or command.get("id") else command["step_name"]


def said_of_image(internal: Mapping[str, Any]) -> str:
    """Return a sentence about the image that is deployed, with a blank before it; nothing if there is none."""
    state = internal.get(IMAGE)
    return f" The image {state}." if state else ""


def is_on_fast_track(driver_info: Mapping[str, Any], settings: Settings) -> bool:
    """Return whether agents may wait on the machine while it has nothing to do. ``fast_track`` in ``driver_info``
    decides, or else ``[deploy] fast_track``. Raises InvalidValue."""
    own = driver_info.get("fast_track")
    return bool(settings.deploy.fast_track) if own is None else parse_flag("fast_track", own)


def leave(node: Node) -> None:
    """Forget the agent on the machine, unless it is on fast track and may be needed again."""
    if not readable(node.driver_internal_info).get(FAST) or node.provision_state not in KEPT:
        forget(node)


def forget(node: Node) -> None:
    """Forget the agent on the machine."""
    known = readable(node.driver_internal_info)
    kept = {key: value for key, value in known.items() if not key.startswith(PREFIX)}
    if kept != known:
        node.driver_internal_info = kept
