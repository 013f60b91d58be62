"""What clients may ask to have explained, and what explanations look like."""

from typing import Any

from baremetal_sched.baremetal.matching.conditions import Kind
from baremetal_sched.baremetal.matching.masks import Verdict
from baremetal_sched.baremetal.schemas.allocations import MOST_TRAITS
from baremetal_sched.compute.schemas.form import Form, closed
from baremetal_sched.scheduling.schemas.answers import (
    COUNT,
    COUNTS,
    FLAG,
    HELD,
    TEXT,
    TEXT_OR_NULL,
    UUID,
    UUID_OR_NULL,
    array,
    component,
    fields,
    said,
)
from baremetal_sched.scheduling.schemas.requests import REQUEST

#: The most machines that may be wanted.
MOST_WANTED = 1_000_000

#: How many machines are wanted.
NUMBER_WANTED: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": MOST_WANTED, "default": 1}

#: A query of allocation candidates.
QUERY = Form(closed({"query": {"type": "string", "maxLength": 100_000}, "wanted": NUMBER_WANTED}, "query"))

#: A flavor and an image.
SERVER = Form(
    closed(
        {
            **{name: form for name, form in REQUEST.schema["properties"].items() if name != "limit"},
            "wanted": NUMBER_WANTED,
        },
        "flavor",
    )
)

#: How many are wanted, beside what the bare metal API takes for an allocation.
WANTED = Form(closed({"wanted": NUMBER_WANTED}))

_TEXTS_OR_NULL: dict[str, Any] = {"type": ["array", "null"], "items": TEXT}

#: An allocation, for descriptions: what the bare metal API takes for one checks it.
ALLOCATION = closed(
    {
        "resource_class": {"type": "string", "minLength": 1, "maxLength": 80},
        "traits": said("Traits: A, !A or in:A,B.", {**_TEXTS_OR_NULL, "maxItems": MOST_TRAITS}),
        "candidate_nodes": said("UUIDs or names of the nodes that may be taken.", _TEXTS_OR_NULL),
        "owner": said("Nodes have to be owned or leased by it.", {**TEXT_OR_NULL, "maxLength": 255}),
        "name": TEXT_OR_NULL,
        "uuid": TEXT_OR_NULL,
        "extra": {"type": ["object", "null"]},
        "wanted": NUMBER_WANTED,
    },
    "resource_class",
)

#: All that can be explained.
ANY_REQUEST: dict[str, Any] = {"oneOf": [QUERY.schema, SERVER.schema, ALLOCATION]}


def of_one_machine(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a body that takes no number of machines."""
    kinds = [
        {**each, "properties": {name: form for name, form in each["properties"].items() if name != "wanted"}}
        for each in schema["oneOf"]
    ]
    return {"oneOf": kinds}


# -- what is answered --------------------------------------------------------------------------------------------------

VERDICT = said("What came of it.", {"type": "string", "enum": [*map(str, Verdict)]})
EXACT = said("Whether the relaxations are all that there are.", FLAG)

#: A condition, whatever is said of it.
CONDITION: dict[str, Any] = {
    "id": said("For programs, such as trait:CUSTOM_A.", TEXT),
    "text": said("The same in words.", TEXT),
    "kind": {"type": "string", "enum": [*map(str, Kind)]},
    "counts": said("Whether a machine that fails it is left out.", FLAG),
}
#: A change of the request.
DROP: dict[str, Any] = {"drop": said("The ids of the conditions to leave out.", array(TEXT))}
#: What is said only where several providers of a tree give together.
TREES: dict[str, Any] = {
    "parts": said(
        "The same for each part of the request by itself, by the parameter that asks for it.",
        {"type": "object", "additionalProperties": component("Explanation")},
    ),
    "closest": component("ClosestTree"),
}

_FAILING = array(fields({"id": TEXT, "text": TEXT}))

CLOSEST_TREE = said(
    "The tree that comes closest, if none fits.",
    fields(
        {
            "root": said("UUID, or null if it may not be named.", UUID_OR_NULL),
            "trees": said("How many trees look the same to the request.", COUNT),
            "parts": {
                "type": "object",
                "additionalProperties": fields({"served": FLAG, "provider": UUID_OR_NULL, "failing": _FAILING}),
            },
            "constraints": said("What between the parts is in the way.", _FAILING),
        }
    ),
)

_SHARE = fields(
    {
        **CONDITION,
        "fails": said("How many machines fail it.", COUNT),
        "only_this": said("How many of them nothing else rules out.", COUNT),
        "eliminated": said("How many of the machines that the conditions before it left are removed.", COUNT),
        "left": said("How many are left then.", COUNT),
        "example": said("One that nothing else rules out, or null.", UUID_OR_NULL),
    }
)
_RELAXATION = fields(
    {
        **DROP,
        "would_fit": said("How many would fit in all.", COUNT),
        "example": said("One that fits then only, or null.", UUID_OR_NULL),
    }
)
_UNKNOWN = fields(
    {
        "name": TEXT,
        "did_you_mean": said(
            "Names like it, each with how many machines have it.",
            array({"type": "array", "prefixItems": [TEXT, COUNT], "minItems": 2, "maxItems": 2}),
        ),
    }
)
_WAITING_GROUP = fields({"conductor_group": TEXT, "conductors_alive": COUNT, "fitting_if_served": COUNT})

EXPLANATION = fields(
    {
        "nodes": said("How many machines there are to choose from.", COUNT),
        "fitting": said("How many of them fit.", COUNT),
        "wanted": said("How many were wanted.", COUNT),
        "verdict": VERDICT,
        "summary": said("All of it in one sentence.", TEXT),
        "conditions": said("What a machine has to meet.", array(_SHARE)),
        "relaxations": said("The smallest changes of the request that help.", array(_RELAXATION)),
        "exact": EXACT,
        "unknown": said("Names that there are not.", array(_UNKNOWN)),
        "busy": said("Why machines that would fit otherwise are not free, and how many.", COUNTS),
        "groups": said("Conductor groups whose nodes would fit if a conductor served them.", array(_WAITING_GROUP)),
        "held": said("Which holds keep machines from being had that meet all else.", HELD),
        "sampled": said("Whether a sample was looked at.", FLAG),
        "sample": said("How large the sample was. Only if one was taken.", COUNT),
        "scope": said("The id of the condition that all machines fail that were not looked at.", TEXT),
        **TREES,
    },
    {"sample", "scope", *TREES},
)


FINDING = fields(
    {
        "label": said("What it is about, for programs.", TEXT),
        "reason": said("The same in a sentence.", TEXT),
        "remedy": said("What an operator can do about it.", TEXT),
    }
)
_FINDINGS = array(component("Finding"))

#: The node, whatever it is asked about.
NODE = {"node": said("UUID of the node.", UUID), "name": said("Name of the node, or null.", TEXT_OR_NULL)}
#: What keeps it from being used.
FINDINGS = {
    "reasons": said("Why it is not offered; empty if it is. The first counts most.", _FINDINGS),
    "remarks": said("What else is in the way of its use.", _FINDINGS),
}

AVAILABILITY = fields(
    {
        **NODE,
        "resource_class": said("The resource class that its provider has of it, or null.", TEXT_OR_NULL),
        "offered": said("Whether placement offers it now.", FLAG),
        **FINDINGS,
    }
)


NODE_EXPLANATION = fields(
    {
        **NODE,
        "verdict": VERDICT,
        "conditions": said("What it has to meet.", array(fields({**CONDITION, "holds": FLAG}))),
        "relaxations": said(
            "What to leave out of the request so that it fits. Empty if it does, or if nothing makes it fit.",
            array(fields(DROP)),
        ),
        "exact": EXACT,
        **TREES,
        **FINDINGS,
    },
    TREES,
)
