"""Schemas of requests for claims, and of claims."""

from typing import Any

from baremetal_sched.compute.schemas.form import LARGEST_INTEGER, Form, closed
from baremetal_sched.placement.waiting_requests import ALLOCATION as OF_ALLOCATIONS
from baremetal_sched.placement.waiting_requests import CLAIM as OF_CLAIMS
from baremetal_sched.placement.waiting_requests import SERVER as OF_SERVERS
from baremetal_sched.scheduling.claims import STATES
from baremetal_sched.scheduling.schemas.answers import (
    COUNT,
    COUNTS,
    TEXT,
    TEXT_OR_NULL,
    UUID,
    UUID_OR_NULL,
    array,
    component,
    fields,
    said,
)
from baremetal_sched.scheduling.schemas.explanations import ALLOCATION, QUERY, SERVER

KINDS = (OF_CLAIMS, OF_ALLOCATIONS, OF_SERVERS)

_ID: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 255}
_CONSUMER = closed(
    {
        "uuid": said("UUID of the consumer and of the claim; by default a new one.", {**TEXT, "format": "uuid"}),
        "project_id": said("By default the caller's.", _ID),
        "user_id": said("By default the caller's.", _ID),
        "type": said("The type of the consumer.", {**_ID, "pattern": "^[A-Z0-9_]+$"}),
    }
)

_SECONDS: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": LARGEST_INTEGER}

#: Members of every body, for any request.
_COMMON: dict[str, Any] = {
    "consumer": said("The consumer of the claim; of several machines, their owner.", _CONSUMER),
    "wait": said("Seconds to wait if nothing is free.", {**_SECONDS, "default": 0}),
    "even_if_impossible": said("Wait even if no machine would fit if all were free.", {"type": "boolean"}),
}


def _asking(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a claim of the machines that ``schema`` asks for."""
    properties = {name: each for name, each in schema["properties"].items() if name not in _NOT_TAKEN}
    return closed({**properties, **_COMMON}, *schema["required"])


#: Members that explanations take and claims do not.
_NOT_TAKEN = frozenset({"wanted", "uuid", "extra"})

CLAIM_BY_QUERY = Form(_asking(QUERY.schema))
CLAIM_BY_FLAVOR = Form(_asking(SERVER.schema))
CLAIM_LIKE_ALLOCATION = Form(_asking(ALLOCATION))

#: Every body that claims something.
ANY_CLAIM: dict[str, Any] = {
    "oneOf": [CLAIM_BY_QUERY.schema, CLAIM_BY_FLAVOR.schema, CLAIM_LIKE_ALLOCATION.schema],
}

_TIME: dict[str, Any] = {**TEXT, "format": "date-time"}
_TIME_OR_NULL: dict[str, Any] = {**TEXT_OR_NULL, "format": "date-time"}

CLAIM = fields(
    {
        "uuid": said("UUID of the claim, and of its consumer if it is for one machine.", UUID),
        "kind": said("What waits: a claim of this API, an allocation or a server.", {"enum": list(KINDS)}),
        "state": said("Whether it waits, has its machine, waited in vain, or was given back.", {"enum": list(STATES)}),
        "resource_class": said("The class of the requested node, as placement names it.", TEXT),
        "request": said("The request for a machine.", {"type": "object"}),
        "priority": said(
            "Claims of a higher priority come first. It is 0, or -1 if no machine could have fitted at the time of "
            "the request.",
            {"type": "integer"},
        ),
        "position": said(
            "Its place in the queue of the class, from 1; null if it does not wait.", {"type": ["integer", "null"]}
        ),
        "allocations": said(
            "Its allocations, by provider (UUID).",
            {"type": "object", "additionalProperties": fields({"resources": COUNTS})},
        ),
        "count": said("How many machines it is for.", COUNT),
        "machines": said(
            "The machines that it has now, in order; what was released is missing.",
            array(fields({"number": said("From 1.", COUNT), "consumer": UUID, "node": UUID_OR_NULL})),
        ),
        "reason": said("Why it must wait, or has waited in vain; null if it got its machine.", TEXT_OR_NULL),
        "consumer": said(
            "The consumer of the claim.",
            fields({"uuid": UUID, "project_id": TEXT, "user_id": TEXT, "type": TEXT_OR_NULL}),
        ),
        "asked_at": said("The time of the request, by the clock of the database.", _TIME),
        "deadline": said("The time until which it waits.", _TIME),
        "decided_at": said("When it got its machine or was ended; null while it waits.", _TIME_OR_NULL),
    }
)

CLAIMS = fields(
    {
        "claims": said("The oldest first.", array(component("Claim"))),
        "claims_links": said(
            "The link to the next page. Only if there may be one.",
            array(fields({"rel": TEXT, "href": said("An absolute URL.", {**TEXT, "format": "uri"})})),
        ),
    },
    {"claims_links"},
)
