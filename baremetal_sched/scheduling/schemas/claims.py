"""Claims: their members, and the schemas of requests for them."""

from typing import Any

from baremetal_sched.compute.schemas.form import LARGEST_INTEGER, Form, closed
from baremetal_sched.placement.consumers import PLACEMENT
from baremetal_sched.placement.events import RELEASED
from baremetal_sched.placement.waiting_requests import ALLOCATION as OF_ALLOCATIONS
from baremetal_sched.placement.waiting_requests import CLAIM as OF_CLAIMS
from baremetal_sched.placement.waiting_requests import CLAIMED, FAILED, TIMED_OUT, WAITING
from baremetal_sched.placement.waiting_requests import SERVER as OF_SERVERS
from baremetal_sched.scheduling.schemas.answers import (
    COUNT,
    COUNTS,
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
    component,
    fields,
    said,
)
from baremetal_sched.scheduling.schemas.ends import END_MEMBERS, ENDS
from baremetal_sched.scheduling.schemas.explanations import ALLOCATION, QUERY, SERVER

#: The states in which clients see claims.
STATES = (WAITING, CLAIMED, TIMED_OUT, FAILED, RELEASED)
KINDS = (OF_CLAIMS, OF_ALLOCATIONS, OF_SERVERS, PLACEMENT)

_ID: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 255}
_CONSUMER = closed(
    {
        "uuid": said("UUID of the consumer, and of the claim. By default a new one.", {**TEXT, "format": "uuid"}),
        "project_id": said(
            "By default that of the caller or, if it has none, [placement] incomplete_consumer_project_id.", _ID
        ),
        "user_id": said(
            "By default that of the caller or, if it has none, [placement] incomplete_consumer_user_id.", _ID
        ),
        "type": said("The type of the consumer.", {**_ID, "pattern": "^[A-Z0-9_]+$"}),
    }
)

_SECONDS: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": LARGEST_INTEGER}

#: Members of every body, for any request.
_COMMON: dict[str, Any] = {
    "consumer": said(
        "The consumer that gets the machine. Each of several machines has its own, of the same project and user.",
        _CONSUMER,
    ),
    "wait": said("Seconds to wait if nothing is free, at most [scheduling] max_wait.", {**_SECONDS, "default": 0}),
    "even_if_impossible": said(
        "Whether to wait even if no machine would fit if all were free. Default: false.", {"type": "boolean"}
    ),
    **ENDS,
}


def _asking(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a claim of the machines that ``schema`` asks for."""
    properties = {name: each for name, each in schema["properties"].items() if name not in _NOT_TAKEN}
    return closed({**properties, **_COMMON}, *schema["required"])


#: Members that explanations take and claims do not.
_NOT_TAKEN = frozenset({"wanted", "earliest", "uuid", "extra"})

CLAIM_BY_QUERY = Form(_asking(QUERY.schema))
CLAIM_BY_FLAVOR = Form(_asking(SERVER.schema))
CLAIM_LIKE_ALLOCATION = Form(_asking(ALLOCATION))

#: Every body that claims something.
ANY_CLAIM: dict[str, Any] = {
    "oneOf": [CLAIM_BY_QUERY.schema, CLAIM_BY_FLAVOR.schema, CLAIM_LIKE_ALLOCATION.schema],
}

_MACHINE = {
    "number": said("Its number within the claim, from 1.", COUNT),
    "consumer": said("UUID of its consumer.", UUID),
    "node": said("UUID of the node; null if its provider is no node.", UUID_OR_NULL),
    "domains": said(
        "The names of its domains by level, such as its rack. Only for callers who may see domains, and not in the "
        "answer that claims one machine.",
        {"type": "object", "additionalProperties": TEXT},
    ),
}
_CONSUMER_SHOWN = {
    "uuid": said("UUID of the consumer.", UUID),
    "project_id": said("Its project.", TEXT),
    "user_id": said("Its user.", TEXT),
    "type": said("Its type, or null.", TEXT_OR_NULL),
}
CLAIM_MEMBERS = (
    Member("uuid", "UUID of the claim, and of its consumer if it is for one machine.", UUID, column=(1, "Claim")),
    Member(
        "kind",
        "claim; or allocation or server, if one waits for a machine under this UUID; or placement: a client of the "
        "placement API has it, with an end that passed to it.",
        {"enum": list(KINDS)},
        column=(2, "Kind"),
    ),
    Member(
        "state",
        "waiting; claimed; timed_out or failed: it waited in vain; released: its machine was given back.",
        {"enum": list(STATES)},
        column=(3, "State"),
    ),
    Member(
        "resource_class",
        "The class of the requested node, as placement names it. Empty if something other than a node was claimed.",
        TEXT,
        column=(4, "Class"),
    ),
    Member(
        "request",
        "The request for a machine, with flavor and image as they were at the time of the request.",
        {"type": "object"},
    ),
    Member(
        "priority",
        "Claims of a higher priority come first. It is 0, or -1 if no machine could have fitted at the time of the "
        "request (even_if_impossible).",
        {"type": "integer"},
    ),
    Member(
        "position",
        "Its place in the queue of the class, from 1; null if it does not wait.",
        {"type": ["integer", "null"]},
        column=(5, "Position"),
    ),
    Member(
        "allocations",
        "Its allocations, by provider (UUID).",
        {"type": "object", "additionalProperties": fields({"resources": said("Amounts by class.", COUNTS)})},
        column=(9, "Machine"),
    ),
    Member("count", "How many machines the claim is for.", COUNT),
    Member(
        "machines",
        "The machines that the claim has now, in order. Machines that were released one by one are missing.",
        array(fields(_MACHINE, {"domains"})),
    ),
    Member(
        "reason",
        "Why the claim waits, waited in vain or failed; null if it has its machine.",
        TEXT_OR_NULL,
        column=(10, "Reason"),
    ),
    Member(
        "planned_start",
        "When a claim of several machines that waits gets all of them at the latest, by its plan (see [scheduling] "
        "gather). Only in the answer about one claim; null if it has no plan.",
        TIME_OR_NULL,
    ),
    Member(
        "planned_reason",
        "Why a claim of several machines that waits has no plan. Only in the answer about one claim; null if it has "
        "one, or if no plans are made.",
        TEXT_OR_NULL,
    ),
    Member("consumer", "The consumer that gets the machine.", fields(_CONSUMER_SHOWN), column=(8, "Project")),
    Member("asked_at", "The time of the request, by the clock of the database.", TIME, column=(6, "Asked At")),
    Member("deadline", "The time until which the claim waits.", TIME, column=(7, "Deadline")),
    *END_MEMBERS,
    Member(
        "decided_at",
        "When the claim got its machine or was ended; null while it waits, and until its end is recorded.",
        TIME_OR_NULL,
    ),
)
CLAIM = answer(CLAIM_MEMBERS)
CLAIMS = fields(
    {"claims": said("The claims, the oldest first.", array(component("Claim"))), "claims_links": NEXT_PAGE},
    {"claims_links"},
)
