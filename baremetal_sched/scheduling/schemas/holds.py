"""Schemas of requests for holds, and of holds."""

from typing import Any

from baremetal_sched.baremetal.holds.hold_list import MOST_NODES
from baremetal_sched.baremetal.holds.rules import BUILT_IN, SCOPES, TYPES
from baremetal_sched.compute.schemas.form import Form, closed
from baremetal_sched.scheduling.capacity import COLUMNS
from baremetal_sched.scheduling.schemas.answers import (
    FLAG,
    TEXT,
    TEXT_OR_NULL,
    UUID,
    UUID_OR_NULL,
    array,
    component,
    fields,
    said,
)

#: The states of a hold, as clients see them.
PLANNED, DRAINING, ACTIVE = "planned", "draining", "active"
STATES = (PLANNED, DRAINING, ACTIVE)

_TIME: dict[str, Any] = {**TEXT_OR_NULL, "format": "date-time", "maxLength": 64}
_NAME: dict[str, Any] = {**TEXT, "minLength": 1, "maxLength": 255}

_HOLD: dict[str, Any] = {
    "type": said("Why the machine is not to be used.", {**TEXT, "enum": list(TYPES)}),
    "reason": said("A text for people.", {**TEXT_OR_NULL, "maxLength": 4000}),
    "extra": said("Anything, such as the number of a ticket.", {"type": ["object", "null"]}),
    "starts_at": said("When it starts, with a time zone. By default now.", _TIME),
    "ends_at": said("When it ends, with a time zone. By default when it is released.", _TIME),
    "drain": said(
        "Begin when the machine has no consumer and no work is under way. New claims are refused from the start.", FLAG
    ),
    "drain_deadline": said("When to begin at the latest, with a time zone. Only with drain.", _TIME),
}
_FILTER: dict[str, Any] = {
    **closed(
        {
            "nodes": said(
                "UUIDs or names of nodes.", {**array(_NAME), "minItems": 1, "maxItems": MOST_NODES, "uniqueItems": True}
            ),
            **{name: said(f"Nodes with this {name.replace('_', ' ')}.", _NAME) for name in COLUMNS},
        }
    ),
    "minProperties": 1,
}

NEW_HOLD = Form(closed(_HOLD, "type"))
CHANGES = Form(
    {
        **closed(
            {
                "ends_at": said("When it ends, with a time zone; null: when it is released.", _TIME),
                "reason": _HOLD["reason"],
                "extra": said("Replaces the whole object; null: by an empty one.", _HOLD["extra"]),
            }
        ),
        "minProperties": 1,
    }
)
NEW_HOLDS = Form(
    closed(
        {
            **_HOLD,
            "filter": said("The nodes: all conditions must be met.", _FILTER),
            "dry_run": said("Show which nodes would be refused, and change nothing.", FLAG),
            "skip_refused": said("Hold the other nodes if some are refused. By default none is held then.", FLAG),
        },
        "type",
        "filter",
    )
)

HOLD = fields(
    {
        "uuid": UUID,
        "node_uuid": UUID,
        "node_name": TEXT_OR_NULL,
        "type": said("Why the machine is not to be used.", {"enum": [*BUILT_IN, *TYPES]}),
        "reason": TEXT_OR_NULL,
        "scope": said("The relation of its asserter to the node.", {"enum": list(SCOPES)}),
        "asserted_by": said("A user; null if it is hidden from the caller.", TEXT_OR_NULL),
        "asserted_by_project": said(
            "A project, empty if the service asserted it; null if it is hidden from the caller.", TEXT_OR_NULL
        ),
        "asserted_at": said("By the clock of the database.", {**TEXT, "format": "date-time"}),
        "extra": {"type": "object"},
        "starts_at": said("The planned start.", _TIME),
        "ends_at": said("The planned end, exclusive.", _TIME),
        "drain": FLAG,
        "drain_deadline": _TIME,
        "begun_at": said("Since when the node is in maintenance for it.", _TIME),
        "acknowledged_at": said("Of a lockout: since when no driver is at work on the machine.", _TIME),
        "state": said("Whether the hold has begun, is planned, or waits until the node rests.", {"enum": list(STATES)}),
        "links": array(fields({"rel": TEXT, "href": said("An absolute URL.", {**TEXT, "format": "uri"})})),
    }
)
_ENTRIES = said("The holds, the oldest first.", array(component("Hold")))

NODE_HOLDS = fields({"maintenance": _ENTRIES})
HOLDS = fields(
    {
        "maintenance": _ENTRIES,
        "maintenance_links": said(
            "The link to the next page. Only if there may be one.",
            array(fields({"rel": TEXT, "href": said("An absolute URL.", {**TEXT, "format": "uri"})})),
        ),
    },
    {"maintenance_links"},
)
MADE_HOLDS = fields(
    {
        "maintenance": said("The new holds; none of a dry run.", array(component("Hold"))),
        "nodes": said(
            "Of a dry run, and with skip_refused: the nodes.",
            array(
                fields(
                    {
                        "uuid": UUID,
                        "name": TEXT_OR_NULL,
                        "hold": said("UUID of its new hold; null if it has none.", UUID_OR_NULL),
                        "refusal": said("Why it is refused, or would be; null if not.", TEXT_OR_NULL),
                    }
                )
            ),
        ),
    },
    {"nodes"},
)
