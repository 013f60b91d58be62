"""Schemas of requests for dry runs, and of their answers."""

from typing import Any

from baremetal_sched.compute.schemas.form import LARGEST_INTEGER, Form, closed
from baremetal_sched.scheduling.schemas.answers import COUNT, COUNTS, TEXT, UUID, array, fields, said
from baremetal_sched.scheduling.schemas.several import SEVERAL

#: How many candidates a request may ask for, and how many it gets if it does not say.
MOST_CANDIDATES = 1000

_AMOUNT: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": LARGEST_INTEGER}
_MIB = said("MiB. Default: 0.", _AMOUNT)
_GIB = said("GiB. Default: 0.", _AMOUNT)
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
        "vcpus": said("Default: 0.", _AMOUNT),
        "ram": _MIB,
        "disk": _GIB,
        "ephemeral": _GIB,
        "swap": _MIB,
        "extra_specs": said("Texts or numbers by name.", _EXTRA_SPECS),
    }
)
#: An image that is written out.
IMAGE = closed({"properties": said("Texts by name.", _PROPERTIES)})

#: Instead of a flavor or an image there may be the id of one: keywords for objects do not apply to a text.
REQUEST = Form(
    closed(
        {
            "flavor": said(
                "The id of a flavor, or one that is written out.", {**FLAVOR, **_ID, "type": ["string", "object"]}
            ),
            "image": said(
                "UUID of an image, or one that is written out. Without it no requirements of an image apply.",
                {**IMAGE, **_ID, "type": ["string", "object", "null"]},
            ),
            "boot_from_volume": said(
                "Whether the root disk is a volume, and therefore not part of the request. The properties of the "
                "image are then those of the volume. Default: false.",
                {"type": "boolean"},
            ),
            "limit": said(
                f"The number of candidates, as part of the query. Default: {MOST_CANDIDATES}.",
                {"type": "integer", "minimum": 1, "maximum": MOST_CANDIDATES},
            ),
            **SEVERAL,
        },
        "flavor",
    )
)

_CANDIDATE = fields(
    {
        "node": said("UUID of the node.", UUID),
        "allocations": said(
            "The allocations that would be made, by provider (UUID), in the form that placement takes. One unit of the "
            "node's own resource class is always part of it, even if the request asks only for providers below the "
            "node.",
            {"type": "object", "additionalProperties": fields({"resources": said("Amounts by class.", COUNTS)})},
        ),
    }
)

#: The answer.
DRY_RUN = fields(
    {
        "placement_query": said("The query string with which Nova asks for candidates, at microversion 1.36.", TEXT),
        "candidates": said(
            "The nodes that fit, in random order, each with one way to claim it; for several, those of one choice. "
            "Only for callers who may see all nodes.",
            array(_CANDIDATE),
        ),
        "count": said(
            "How many nodes fit, at most limit, among those that the caller's project may use. For other callers.",
            COUNT,
        ),
        "reason": said("Why no node fits: how many nodes each condition rules out. Only if none fits.", TEXT),
    },
    {"candidates", "count", "reason"},
)
