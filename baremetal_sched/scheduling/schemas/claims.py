"""What clients may ask to have claimed, and what claims look like."""

from typing import Any

from baremetal_sched.compute.schemas.form import LARGEST_INTEGER, Form, closed
from baremetal_sched.placement.waiting_requests import ALLOCATION as OF_ALLOCATIONS
from baremetal_sched.placement.waiting_requests import CLAIM as OF_CLAIMS
from baremetal_sched.placement.waiting_requests import SERVER as OF_SERVERS
from baremetal_sched.scheduling.claims import STATES
from baremetal_sched.scheduling.schemas.answers import COUNTS, TEXT, TEXT_OR_NULL, UUID, array, component, fields, said
from baremetal_sched.scheduling.schemas.explanations import ALLOCATION, QUERY, SERVER

KINDS = (OF_CLAIMS, OF_ALLOCATIONS, OF_SERVERS)

_ID: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 255}
_CONSUMER = closed(
    {
        "uuid": said("The consumer's, which is that of the claim; by default a new one.", {**TEXT, "format": "uuid"}),
        "project_id": said("By default the caller's.", _ID),
        "user_id": said("By default the caller's.", _ID),
        "type": said("The type of the consumer.", {**_ID, "pattern": "^[A-Z0-9_]+$"}),
    }
)

_SECONDS: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": LARGEST_INTEGER}

#: What a body may have, whatever it asks for.
_COMMON: dict[str, Any] = {
    "consumer": said("For whom it is claimed.", _CONSUMER),
    "wait": said("For how many seconds to wait if nothing is free.", {**_SECONDS, "default": 0}),
    "even_if_impossible": said("Wait even if no machine would fit if all were free.", {"type": "boolean"}),
}


def _asking(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a claim of one machine that ``schema`` asks for."""
    properties = {name: each for name, each in schema["properties"].items() if name not in _NOT_TAKEN}
    return closed({**properties, **_COMMON}, *schema["required"])


#: Members that explanations take, which claims have no use for.
_NOT_TAKEN = frozenset({"wanted", "uuid", "extra"})

CLAIM_BY_QUERY = Form(_asking(QUERY.schema))
CLAIM_BY_FLAVOR = Form(_asking(SERVER.schema))
CLAIM_LIKE_ALLOCATION = Form(_asking(ALLOCATION))

#: All that can be claimed.
ANY_CLAIM: dict[str, Any] = {
    "oneOf": [CLAIM_BY_QUERY.schema, CLAIM_BY_FLAVOR.schema, CLAIM_LIKE_ALLOCATION.schema],
}

_TIME: dict[str, Any] = {**TEXT, "format": "date-time"}
_TIME_OR_NULL: dict[str, Any] = {**TEXT_OR_NULL, "format": "date-time"}

CLAIM = fields(
    {
        "uuid": said("UUID of the claim, and of its consumer.", UUID),
        "kind": said("What asked for it: a claim of this API, an allocation or a server.", {"enum": list(KINDS)}),
        "state": said("Whether it waits, has its machine, waited in vain, or was given back.", {"enum": list(STATES)}),
        "resource_class": said("The class of the node that is wanted, as placement names it.", TEXT),
        "request": said("What is wanted.", {"type": "object"}),
        "priority": said(
            "Higher ones go first. It is 0, or -1 if no machine would have fitted when the claim was asked for.",
            {"type": "integer"},
        ),
        "position": said(
            "Its place in the queue of the class, from 1; null if it does not wait.", {"type": ["integer", "null"]}
        ),
        "allocations": said(
            "What it has, by provider (UUID).",
            {"type": "object", "additionalProperties": fields({"resources": COUNTS})},
        ),
        "reason": said("Why it has to wait, or has waited in vain; null if it got its machine.", TEXT_OR_NULL),
        "consumer": said(
            "For whom it is.", fields({"uuid": UUID, "project_id": TEXT, "user_id": TEXT, "type": TEXT_OR_NULL})
        ),
        "asked_at": said("When it was asked for, by the clock of the database.", _TIME),
        "deadline": said("Until when it waits.", _TIME),
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
