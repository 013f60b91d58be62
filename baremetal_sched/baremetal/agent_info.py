"""What is known of the agent: a small system, booted on a machine, that works there for a conductor and reports.

It stands in ``driver_internal_info``, under keys of which all begin with ``agent_``.
"""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.baremetal import states
from baremetal_sched.db.models import Node
from baremetal_sched.db.sealing import readable
from baremetal_sched.documents.schema import parse_flag
from baremetal_sched.settings import Settings

#: What all keys begin with.
PREFIX = "agent_"
#: Where the agent can be reached, when it was heard of last (ISO 8601, UTC), and whether it is on fast track.
URL, LAST_HEARTBEAT, FAST = "agent_url", "agent_last_heartbeat", "agent_fast_track"

#: Where an agent that is on fast track may wait for work.
FAST_TRACK = frozenset({states.ENROLL, states.MANAGEABLE, states.AVAILABLE})
#: Where it is not left behind by what comes next.
KEPT = FAST_TRACK | {states.VERIFYING, states.CLEANING, states.INSPECTING}


def is_on_fast_track(driver_info: Mapping[str, Any], settings: Settings) -> bool:
    """May agents wait on such a machine while nothing is to be done? ``fast_track`` in its ``driver_info`` says so, or
    ``[deploy] fast_track``. Raises InvalidValue."""
    own = driver_info.get("fast_track")
    return bool(settings.deploy.fast_track) if own is None else parse_flag("fast_track", own)


def leave(node: Node) -> None:
    """Nobody waits for the agent on the machine any more. It is forgotten, unless it is on fast track and may be needed
    again."""
    if not readable(node.driver_internal_info).get(FAST) or node.provision_state not in KEPT:
        forget(node)


def forget(node: Node) -> None:
    """There is no agent on the machine any more."""
    known = readable(node.driver_internal_info)
    kept = {key: value for key, value in known.items() if not key.startswith(PREFIX)}
    if kept != known:
        node.driver_internal_info = kept
