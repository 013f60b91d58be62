"""What is known about the agent: a small system that is booted on a machine, works for a conductor and reports to it.

It is stored in ``driver_internal_info``, under keys that all begin with ``agent_``.
"""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.db.models import Node
from baremetal_sched.db.sealing import readable
from baremetal_sched.documents.schema import parse_flag
from baremetal_sched.machines import states
from baremetal_sched.settings import Settings

#: The prefix of all keys.
PREFIX = "agent_"
#: The agent's URL, when it was last heard from (ISO 8601, UTC), and whether it is on fast track.
URL, LAST_HEARTBEAT, FAST = "agent_url", "agent_last_heartbeat", "agent_fast_track"

#: Provision states in which an agent on fast track may wait for work.
FAST_TRACK = frozenset({states.ENROLL, states.MANAGEABLE, states.AVAILABLE})
#: Provision states from which the agent is kept for the next operation.
KEPT = FAST_TRACK | {states.VERIFYING, states.CLEANING, states.INSPECTING}


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
