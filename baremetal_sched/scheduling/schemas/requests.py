"""Schemas of requests for dry runs, and of their answers."""

from typing import Any

from baremetal_sched.compute.schemas.form import LARGEST_INTEGER, Form, closed
from baremetal_sched.scheduling.schemas.answers import COUNT, COUNTS, TEXT, UUID, array, fields, said
from baremetal_sched.scheduling.schemas.several import SEVERAL

#: How many candidates a request may ask for, and how many it gets if it does not say.
MOST_CANDIDATES = 1000

_AMOUNT: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": LARGEST_INTEGER}
_EXTRA_SPECS: dict[str, Any] = {
    "type": "object",
    "patternProperties": {"^[a-zA-Z0-9_:. -]{1,255}$": {"type": ["string", "number"], "maxLength": 255}},
    "additionalProperties": False,
}
_PROPERTIES: dict[str, Any] = {
    "type": "object",
    "propertyNames": {"minLength": 1, "maxLength": 255},
    "additionalProperties": {"type": "string"},
}
_ID: dict[str, Any] = {"minLength": 1, "maxLength": 255}

#: A flavor that is written out. Members that are not given are 0, or empty.
FLAVOR = closed(
    {
        "vcpus": _AMOUNT,
        "ram": _AMOUNT,
        "disk": _AMOUNT,
        "ephemeral": _AMOUNT,
        "swap": _AMOUNT,
        "extra_specs": _EXTRA_SPECS,
    }
)
#: An image that is written out.
IMAGE = closed({"properties": _PROPERTIES})

#: Instead of a flavor or an image there may be the id of one: keywords for objects do not apply to a text.
REQUEST = Form(
    closed(
        {
            "flavor": {**FLAVOR, **_ID, "type": ["string", "object"]},
            "image": {**IMAGE, **_ID, "type": ["string", "object", "null"]},
            "boot_from_volume": {"type": "boolean"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST_CANDIDATES},
            **SEVERAL,
        },
        "flavor",
    )
)

_CANDIDATE = fields(
    {
        "node": UUID,
        "allocations": said(
            "The allocations that would be made, by provider (UUID).",
            {"type": "object", "additionalProperties": fields({"resources": COUNTS})},
        ),
    }
)

#: The answer.
DRY_RUN = fields(
    {
        "placement_query": said("The query string with which Nova asks for candidates, at microversion 1.36.", TEXT),
        "candidates": said(
            "The nodes that fit, for callers who may see all nodes; for several, those of one choice.",
            array(_CANDIDATE),
        ),
        "count": said("How many nodes fit, for other callers.", COUNT),
        "reason": said("Why no node fits. Only if none does.", TEXT),
    },
    {"candidates", "count", "reason"},
)
