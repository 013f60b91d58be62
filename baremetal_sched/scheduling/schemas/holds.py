"""Holds: their members, and the schemas of requests for them."""

from baremetal_sched.baremetal.holds.hold_list import MOST_NODES
from baremetal_sched.baremetal.holds.rules import BUILT_IN, SCOPES, TYPES
from baremetal_sched.compute.schemas.form import closed
from baremetal_sched.scheduling.capacity import COLUMNS
from baremetal_sched.scheduling.schemas.answers import (
    COUNT,
    FLAG,
    LINKS,
    NEXT_PAGE,
    TEXT,
    TEXT_OR_NULL,
    TIME,
    TIME_OR_NULL,
    UUID,
    UUID_OR_NULL,
    Member,
    answer,
    array,
    change,
    component,
    fields,
    new,
    of_domain,
    said,
)

#: The states of a hold, as clients see them.
PLANNED, DRAINING, ACTIVE = "planned", "draining", "active"

_TIME = {**TIME_OR_NULL, "maxLength": 64}
_NAME = {**TEXT, "minLength": 1, "maxLength": 255}
_REASON = {**TEXT_OR_NULL, "maxLength": 4000}
_EXTRA = {"type": ["object", "null"]}

HOLD_MEMBERS = (
    Member("uuid", "UUID of the hold.", UUID, column=(1, "Hold")),
    Member("node_uuid", "UUID of the node.", UUID),
    Member("node_name", "Name of the node, or null.", TEXT_OR_NULL, column=(2, "Node")),
    Member(
        "type",
        "Why the machine must not be used.",
        {"enum": [*BUILT_IN, *TYPES]},
        new={**TEXT, "enum": list(TYPES)},
        required=True,
        column=(3, "Type"),
    ),
    Member(
        "reason",
        "Why, for people: at most 4,000 characters; null: none.",
        TEXT_OR_NULL,
        new=_REASON,
        change=_REASON,
        column=(10, "Reason"),
    ),
    Member("scope", "The relation of its asserter to the node.", {"enum": list(SCOPES)}, column=(4, "Scope")),
    Member(
        "asserted_by",
        "The user who asserted it, empty for the service itself; null if the hold's scope outranks that of the caller.",
        TEXT_OR_NULL,
        column=(8, "Asserted By"),
    ),
    Member(
        "asserted_by_name",
        "The name of that user when it was asserted, empty if the log-in had none; null where asserted_by is hidden.",
        TEXT_OR_NULL,
    ),
    Member(
        "asserted_by_project",
        "The project of that user, empty for the service itself; null where asserted_by is hidden.",
        TEXT_OR_NULL,
        column=(9, "Project"),
    ),
    Member("asserted_at", "When it was asserted, by the clock of the database.", TIME),
    Member(
        "extra",
        "An object of the asserter, such as the number of a ticket; of a fault: its kind. A change replaces the whole "
        "object; null: by an empty one.",
        {"type": "object"},
        new=_EXTRA,
        change=_EXTRA,
    ),
    Member(
        "starts_at",
        "The planned start, in ISO 8601 with a time zone; null (the default): when it is asserted.",
        _TIME,
        new=_TIME,
        column=(6, "Starts At"),
    ),
    Member(
        "ends_at",
        "The planned end, exclusive, in ISO 8601 with a time zone: later than now and than the start; null (the "
        "default): the hold stays until it is released.",
        _TIME,
        new=_TIME,
        change=_TIME,
        column=(7, "Ends At"),
    ),
    Member(
        "drain",
        "Whether the hold begins only when the machine has no consumer and no work is under way. New claims are "
        "refused from the start. Default: false.",
        FLAG,
        new=FLAG,
    ),
    Member(
        "drain_deadline",
        "The latest time at which a hold with drain begins, in ISO 8601 with a time zone; null (the default): there is "
        "no limit.",
        _TIME,
        new=_TIME,
    ),
    Member("begun_at", "Since when the node is in maintenance for it; null: it has not begun.", _TIME),
    Member(
        "acknowledged_at",
        "Of a lockout: since when no driver is at work on the machine; null: one may be, or it is no lockout.",
        _TIME,
    ),
    Member(
        "state",
        "planned: it has not started. draining: it has started, and waits until the node rests. active: it has begun.",
        {"enum": [PLANNED, DRAINING, ACTIVE]},
        column=(5, "State"),
    ),
    Member("links", "A link to the hold.", LINKS),
)
_FILTER = {
    **closed(
        {
            "nodes": said(
                "UUIDs or names of nodes.", {**array(_NAME), "minItems": 1, "maxItems": MOST_NODES, "uniqueItems": True}
            ),
            "domain": {**of_domain("Nodes"), **_NAME},
            **{name: said(f"Nodes with this {name.replace('_', ' ')}.", _NAME) for name in COLUMNS},
        }
    ),
    "minProperties": 1,
}
_OF_MANY = (
    Member(
        "filter",
        "The nodes to hold. At least one condition is needed; a node must meet all of them.",
        new=_FILTER,
        required=True,
    ),
    Member("dry_run", "Only show which nodes the filter selects, and which would be refused.", new=FLAG),
    Member("skip_refused", "Hold the other nodes if some are refused. By default none is held then.", new=FLAG),
)

_OR_EXISTING = Member(
    "or_existing",
    "Accept a hold of the same source at that time as the answer, unchanged. By default it is a conflict.",
    new=FLAG,
)

NEW_HOLD, CHANGES = new((*HOLD_MEMBERS, _OR_EXISTING)), change(HOLD_MEMBERS)
NEW_HOLDS = new((*HOLD_MEMBERS, _OR_EXISTING, *_OF_MANY))

_BOOKINGS = Member(
    "bookings",
    "Bookings that lose machines to the holds: how many get others, and how many are left short. Only where a hold is "
    "asserted or changed, and if there are some.",
    fields(
        {
            "moved": said("Bookings for which there are other machines.", COUNT),
            "short": said("Bookings that will lack machines.", COUNT),
        }
    ),
)

HOLD = answer((*HOLD_MEMBERS, _BOOKINGS), _BOOKINGS.name)
_ENTRIES = said("The holds, the oldest first.", array(component("Hold")))

NODE_HOLDS = fields({"maintenance": _ENTRIES})
HOLDS = fields({"maintenance": _ENTRIES, "maintenance_links": NEXT_PAGE}, {"maintenance_links"})
_TRIED = {
    "uuid": said("UUID of the node.", UUID),
    "name": said("Name of the node, or null.", TEXT_OR_NULL),
    "hold": said("UUID of its new hold, or of the existing one; null if it has none.", UUID_OR_NULL),
    "existing": said("Whether the hold was there before, which only or_existing accepts.", FLAG),
    "refusal": said("Why it is refused, or would be; null if it is not.", TEXT_OR_NULL),
}
MADE_HOLDS = fields(
    {
        "maintenance": said("The new holds, in the order of the nodes; none in a dry run.", array(component("Hold"))),
        "nodes": said(
            "The selected nodes. Only in a dry run, and with skip_refused or or_existing.",
            array(fields(_TRIED)),
        ),
        **answer([_BOOKINGS])["properties"],
    },
    {"nodes", _BOOKINGS.name},
)
