"""Types of events: what a row of the closed list says, and the members of ``data`` that rows name.

The rows are in ``placement.events`` and ``baremetal.events``, beside what writes these events.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

#: The columns of nodes that their events repeat.
NODE_COLUMNS = (
    *("name", "provision_state", "power_state", "maintenance"),
    *("owner", "lessee", "resource_class", "conductor_group"),
)
#: The members that say which node it is, and in which state.
OF_NODE = ("uuid", *NODE_COLUMNS)

#: The member that says who made the change: of events of all types.
USER = "user_id"

_TEXT_OR_NULL = {"type": ["string", "null"]}

#: The schemas of all members.
MEMBERS: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(OF_NODE, _TEXT_OR_NULL),
    "uuid": {"type": "string", "format": "uuid", "description": "UUID of the node, if the event is about one."},
    "provision_state": {
        **_TEXT_OR_NULL,
        "description": "Like the others, as it is after the change. Events of claims and releases have only uuid and "
        "name.",
    },
    "maintenance": {"type": "boolean"},
    "changed": {
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"before": {}, "after": {}}},
        "description": "The fields of the node that the change has changed. Of properties and the like there are no "
        "values: read the node.",
    },
    USER: {
        **_TEXT_OR_NULL,
        "description": "The user of the request that made the change; null if the service made it. Left out if that is "
        "unknown, as of events from before this was written, or if it is hidden.",
    },
    "consumer": {
        "type": ["object", "null"],
        "description": "The consumer that claims a machine or gives it back; null if it is hidden.",
    },
    "claim": {"type": "object", "description": "The claim that waits, or has waited."},
    "end": {"type": "object", "description": "The end of the claim."},
    "booking": {"type": "object", "description": "The booking, with the machines that came and went."},
    "hold": {"type": "object", "description": "The hold. Its actors are null if they are hidden."},
    "allocation": {"type": "object", "description": "The allocation."},
}


@dataclass(frozen=True)
class EventType:
    """A type of events.

    ``name``: its first two words are the area and what the event is about. ``sentence``: what has happened.
    ``subject``: whose UUID the subject is. ``members``: those that ``data`` of each such event has; ``optional``: those
    that some have besides.
    """

    name: str
    sentence: str
    subject: str
    members: Collection[str]
    optional: Collection[str] = ()
