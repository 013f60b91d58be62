"""The members of the documents at /scheduling, for commands, which import nothing of the service.

``python -m tests.members`` writes the tables below from those in ``scheduling/schemas``. Change them there.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Members(NamedTuple):
    """The members of one kind: ``types`` in the order of answers, and ``columns``: titles in lists, in their order.

    ``words``: those of a closed list; ``new_words``: those of them that a new thing can have.
    """

    types: Mapping[str, str]
    columns: Mapping[str, str]
    words: Mapping[str, tuple[str, ...]] = {}
    new_words: Mapping[str, tuple[str, ...]] = {}

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of ``columns``."""
        return tuple(self.columns.values())


BOOKING = Members(
    types={
        "uuid": "string",
        "name": "string",
        "state": "string",
        "starts_at": "time",
        "ends_at": "time",
        "resource_class": "string",
        "count": "integer",
        "short_by": "integer",
        "spread": "object",
        "pack": "object",
        "machines": "array",
        "request": "object",
        "project_id": "string",
        "user_id": "string",
        "created_at": "time",
        "links": "array",
    },
    columns={
        "uuid": "Booking",
        "name": "Name",
        "state": "State",
        "resource_class": "Class",
        "count": "Machines",
        "starts_at": "Starts At",
        "ends_at": "Ends At",
        "short_by": "Short By",
        "project_id": "Project",
    },
    words={
        "state": ("planned", "running", "over"),
    },
)
CLAIM = Members(
    types={
        "uuid": "string",
        "kind": "string",
        "state": "string",
        "resource_class": "string",
        "request": "object",
        "priority": "integer",
        "position": "integer",
        "allocations": "object",
        "count": "integer",
        "machines": "array",
        "reason": "string",
        "planned_start": "time",
        "planned_reason": "string",
        "consumer": "object",
        "asked_at": "time",
        "deadline": "time",
        "until": "time",
        "for": "number",
        "end": "string",
        "late_since": "time",
        "late_reason": "string",
        "booking": "string",
        "decided_at": "time",
    },
    columns={
        "uuid": "Claim",
        "kind": "Kind",
        "state": "State",
        "resource_class": "Class",
        "position": "Position",
        "asked_at": "Asked At",
        "deadline": "Deadline",
        "consumer": "Project",
        "allocations": "Machine",
        "reason": "Reason",
        "until": "Until",
        "end": "End",
    },
    words={
        "kind": ("claim", "allocation", "server", "placement"),
        "state": ("waiting", "claimed", "timed_out", "failed", "released"),
    },
)
DOMAIN = Members(
    types={
        "uuid": "string",
        "name": "string",
        "level": "string",
        "parent": "string",
        "nodes": "integer",
        "from_property": "string",
        "created_at": "time",
        "updated_at": "time",
        "links": "array",
    },
    columns={
        "uuid": "UUID",
        "level": "Level",
        "name": "Name",
        "parent": "Parent",
        "nodes": "Nodes",
        "from_property": "From Property",
    },
)
HOLD = Members(
    types={
        "uuid": "string",
        "node_uuid": "string",
        "node_name": "string",
        "type": "string",
        "reason": "string",
        "scope": "string",
        "asserted_by": "string",
        "asserted_by_name": "string",
        "asserted_by_project": "string",
        "asserted_at": "time",
        "extra": "object",
        "starts_at": "time",
        "ends_at": "time",
        "drain": "boolean",
        "drain_deadline": "time",
        "begun_at": "time",
        "acknowledged_at": "time",
        "state": "string",
        "links": "array",
    },
    columns={
        "uuid": "Hold",
        "node_name": "Node",
        "type": "Type",
        "scope": "Scope",
        "state": "State",
        "starts_at": "Starts At",
        "ends_at": "Ends At",
        "asserted_by": "Asserted By",
        "asserted_by_project": "Project",
        "reason": "Reason",
    },
    words={
        "type": ("legacy", "fault", "hardware_failure", "operator_hold", "lockout", "window"),
        "scope": ("lessee", "owner", "system"),
        "state": ("planned", "draining", "active"),
    },
    new_words={
        "type": ("hardware_failure", "operator_hold", "lockout", "window"),
    },
)
WEBHOOK = Members(
    types={
        "uuid": "string",
        "name": "string",
        "url": "string",
        "types": "array",
        "nodes": "array",
        "domain": "string",
        "project_id": "string",
        "user_id": "string",
        "state": "string",
        "cursor": "string",
        "behind": "integer",
        "failing_since": "time",
        "last_status": "integer",
        "last_error": "string",
        "attempts": "array",
        "previous_secret_until": "time",
        "created_at": "time",
        "links": "array",
    },
    columns={
        "uuid": "UUID",
        "name": "Name",
        "state": "State",
        "behind": "Behind",
        "failing_since": "Failing Since",
        "last_error": "Last Error",
    },
    words={
        "state": ("active", "parked"),
    },
)
