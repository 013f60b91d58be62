"""Members of bodies and answers that say until when a request has its machine."""

from typing import Any

from baremetal_sched.compute.schemas.form import Form, closed
from baremetal_sched.placement.ends import ENDING, LATE, LONGEST, SET
from baremetal_sched.scheduling.schemas.answers import (
    FLAG,
    TEXT_OR_NULL,
    TIME_OR_NULL,
    UUID,
    UUID_OR_NULL,
    Member,
    said,
)

ENDS: dict[str, Any] = {
    "until": said(
        "When the machine is given back by itself; null: never. Default: [scheduling] default_claim seconds after the "
        "claim has its machine. A claim that waits stops waiting [scheduling] shortest_claim seconds before.",
        TIME_OR_NULL,
    ),
    "for": said(
        "Instead of until: for how many seconds it has its machine or, of several, all of them, deployment included.",
        {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST},
    ),
    "booking": said(
        "The booking under which it claims: it gets the booking's machines and no others, from its start until its end "
        "or an earlier one that until or for names, and waits for those who use the same booking only.",
        UUID,
    ),
    "strict_end": said(
        "Whether to take no machine for which a hold is planned before the end. Otherwise such a machine is taken only "
        "if no other fits; several machines are taken with such ones among them only if no choice does without. "
        "Default: false.",
        FLAG,
    ),
}

#: The body that changes a claim: its end.
CLAIM_CHANGE = Form({**closed({name: ENDS[name] for name in ("until", "for")}), "minProperties": 1})

#: The members of a claim that say when and how it ends.
END_MEMBERS = (
    Member(
        "until",
        "When its machine is given back by itself; null: never, or it waits, and for says how long it will have it. Of "
        "several machines, the earliest end.",
        TIME_OR_NULL,
        column=(11, "Until"),
    ),
    Member(
        "for",
        "While it waits: for how many seconds it will have its machine; null: it has no end, or until is its end.",
        {"type": ["number", "null"]},
    ),
    Member(
        "end",
        f"{SET}: it has an end. {ENDING}: its machine is being given back. {LATE}: its end is over, but the machine "
        "cannot be given back now; it is tried again. null: it has no end, or its machine was given back.",
        TEXT_OR_NULL,
        column=(12, "End"),
    ),
    Member("late_since", "Since when it is late, or null.", TIME_OR_NULL),
    Member("late_reason", "Why it is late, or null.", TEXT_OR_NULL),
    Member("booking", "UUID of the booking under which it claims; null: of none, or it was deleted.", UUID_OR_NULL),
)
