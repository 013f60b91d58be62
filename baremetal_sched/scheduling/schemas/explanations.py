"""Schemas of requests for explanations, and of explanations."""

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
    TIME,
    TIME_OR_NULL,
    UUID,
    UUID_OR_NULL,
    array,
    component,
    fields,
    said,
)
from baremetal_sched.scheduling.schemas.ends import ENDS
from baremetal_sched.scheduling.schemas.requests import REQUEST
from baremetal_sched.scheduling.schemas.several import SEVERAL

#: The most machines that may be wanted.
MOST_WANTED = 1_000_000

#: How many machines are wanted.
NUMBER_WANTED = said(
    "How many machines are wanted.", {"type": "integer", "minimum": 1, "maximum": MOST_WANTED, "default": 1}
)

#: Members of every body, beside the request for one machine.
ASKED: dict[str, Any] = {
    "earliest": said(
        "Whether to answer with the first moment at which the request could be had. With until or for it always is.",
        FLAG,
    ),
    "wanted": NUMBER_WANTED,
    **SEVERAL,
    **ENDS,
}

#: A query of allocation candidates.
QUERY = Form(
    closed(
        {
            "query": said(
                "The query string of GET /allocation_candidates, at microversion 1.39.",
                {"type": "string", "maxLength": 100_000},
            ),
            **ASKED,
        },
        "query",
    )
)

#: A flavor and an image.
SERVER = Form(
    closed(
        {
            **{name: form for name, form in REQUEST.schema["properties"].items() if name != "limit"},
            **ASKED,
        },
        "flavor",
    )
)

#: How many machines are wanted, beside the members that the bare metal API takes for an allocation.
WANTED = Form(closed(ASKED))

_TEXTS_OR_NULL: dict[str, Any] = {"type": ["array", "null"], "items": TEXT}

#: An allocation, for descriptions. It is checked by the schema of the bare metal API.
ALLOCATION = closed(
    {
        "resource_class": said(
            "The resource class of the nodes, as it is written on nodes.",
            {"type": "string", "minLength": 1, "maxLength": 80},
        ),
        "traits": said("Traits: A, !A or in:A,B.", {**_TEXTS_OR_NULL, "maxItems": MOST_TRAITS}),
        "candidate_nodes": said("UUIDs or names of the nodes that may be taken.", _TEXTS_OR_NULL),
        "owner": said("A project that must own or lease the nodes.", {**TEXT_OR_NULL, "maxLength": 255}),
        "name": said("The name of a node that is preferred.", TEXT_OR_NULL),
        "uuid": said("Changes nothing.", TEXT_OR_NULL),
        "extra": said("Changes nothing.", {"type": ["object", "null"]}),
        **ASKED,
    },
    "resource_class",
)

#: Every body that asks for an explanation.
ANY_REQUEST: dict[str, Any] = {"oneOf": [QUERY.schema, SERVER.schema, ALLOCATION]}


def of_one_machine(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a body that takes no number of machines, and no end."""
    kinds = [
        {**each, "properties": {name: form for name, form in each["properties"].items() if name not in ASKED}}
        for each in schema["oneOf"]
    ]
    return {"oneOf": kinds}


# -- answers -----------------------------------------------------------------------------------------------------------

VERDICT = said("The kind of the result.", {"type": "string", "enum": [*map(str, Verdict)]})
EXACT = said(
    "Whether relaxations is complete. With more than 12 conditions it has only some, found by a greedy search. If "
    "several providers of a tree serve the request, sets of more than two conditions are not tried: it is complete "
    "then if it has any, and all smaller ones were tried in time.",
    FLAG,
)

#: The common members of a condition.
CONDITION: dict[str, Any] = {
    "id": said(
        "For programs: class:X, trait:X, trait:!X, trait:in:X,Y, aggregate:…, tree:…, root:…, candidate_nodes, owner, "
        "capability:… or availability:….",
        TEXT,
    ),
    "text": said("The same in words.", TEXT),
    "kind": said("The kind of the condition.", {"type": "string", "enum": [*map(str, Kind)]}),
    "counts": said("Whether a machine that fails it is left out.", FLAG),
}
#: A change of the request.
DROP: dict[str, Any] = {"drop": said("The ids of the conditions to leave out.", array(TEXT))}
#: Members that exist only if several providers of a tree serve the request together.
TREES: dict[str, Any] = {
    "parts": said(
        "The same for each part of the request by itself, by the parameter that asks for it. Present only if several "
        "providers satisfy the request together.",
        {"type": "object", "additionalProperties": component("Explanation")},
    ),
    "closest": component("ClosestTree"),
}

_FAILING = array(fields({"id": said("For programs.", TEXT), "text": said("The same in words.", TEXT)}))
_PART = fields(
    {
        "served": said("Whether a provider satisfies the part.", FLAG),
        "provider": said("The provider that satisfies it or comes closest, or null.", UUID_OR_NULL),
        "failing": said("The conditions that the provider fails.", _FAILING),
    }
)

CLOSEST_TREE = said(
    "The tree that comes closest, if none fits. Present only if several providers satisfy the request together.",
    fields(
        {
            "root": said("UUID, or null if it may not be named.", UUID_OR_NULL),
            "trees": said("How many trees look the same to the request.", COUNT),
            "parts": said("The parts of the request.", {"type": "object", "additionalProperties": _PART}),
            "constraints": said("The conditions between the parts that are not met.", _FAILING),
        }
    ),
)

_SHARE = fields(
    {
        **CONDITION,
        "fails": said("How many machines fail it.", COUNT),
        "only_this": said("How many machines only this condition rules out.", COUNT),
        "eliminated": said("How many machines it removes of those that the conditions before it left.", COUNT),
        "left": said("How many machines are left after that.", COUNT),
        "example": said("A machine that only this condition rules out, or null.", UUID_OR_NULL),
    }
)
_RELAXATION = fields(
    {
        **DROP,
        "would_fit": said("How many would fit in all.", COUNT),
        "example": said("A machine that fits only with this change, or null.", UUID_OR_NULL),
    }
)
_UNKNOWN = fields(
    {
        "name": said("The name.", TEXT),
        "did_you_mean": said(
            "Up to three names like it, each with how many machines have it.",
            array({"type": "array", "prefixItems": [TEXT, COUNT], "minItems": 2, "maxItems": 2}),
        ),
    }
)
_WAITING_GROUP = fields(
    {
        "conductor_group": said("Its name.", TEXT),
        "conductors_alive": said("How many conductors of it are alive.", COUNT),
        "fitting_if_served": said("How many more machines would fit.", COUNT),
    }
)

EXPLANATION = fields(
    {
        "nodes": said(
            "How many machines there are to choose from. For a query: all providers of placement, also those that "
            "are no nodes.",
            COUNT,
        ),
        "fitting": said(
            "How many of them fit. If several providers of a tree serve the request, trees are counted.", COUNT
        ),
        "wanted": said("How many were wanted.", COUNT),
        "verdict": VERDICT,
        "summary": said(
            "A summary in one sentence: the verdict, the two conditions that rule out most machines (each machine is "
            "counted for the first condition that it fails), and the smallest relaxation. Allocations of the bare "
            "metal API (last_error) and the faults of servers that find no machine have the same text.",
            TEXT,
        ),
        "conditions": said("The conditions on a machine.", array(_SHARE)),
        "relaxations": said(
            "The smallest changes of the request that make as many machines fit as were wanted, or as many as "
            "possible. Empty if enough machines fit, or if no change makes more fit. At least one resource class is "
            "always kept.",
            array(_RELAXATION),
        ),
        "exact": EXACT,
        "unknown": said("Names that do not exist.", array(_UNKNOWN)),
        "busy": said(
            "How many machines meet all conditions of the request but are not free, by reason: allocated, in use until "
            "(allocated, and its consumer has an end that is known and not late), locked, "
            "maintenance, the provision state, power unknown, parent node, resource class, resource provider (it was "
            "changed directly), too little is free. Locks are reported even where they do not count.",
            COUNTS,
        ),
        "first_end": said("The first end of machines that are in use until one. Only if there are any.", TIME),
        "groups": said("Conductor groups whose nodes would fit if a conductor served them.", array(_WAITING_GROUP)),
        "held": said("The holds on machines that meet all conditions.", HELD),
        "sampled": said("Whether only a sample of the machines was examined.", FLAG),
        "sample": said("The size of the sample. Only if one was taken.", COUNT),
        "scope": said(
            "The id of the condition that excludes the machines that were not examined because there are too many. "
            "Only if there are such machines.",
            TEXT,
        ),
        "earliest": said(
            "The first moment at which the request could be had, by the ends and holds that are known, and "
            "[scheduling] turnaround; null if there is none. Only if it was asked for. It promises nothing: others may "
            "be first. The machine must be free at that moment; with strict_end it must stay free until the end.",
            TIME_OR_NULL,
        ),
        "earliest_reason": said("Why earliest is null. Only if it is.", TEXT),
        **TREES,
    },
    {"sample", "scope", "first_end", "earliest", "earliest_reason", *TREES},
)


FINDING = fields(
    {
        "label": said(
            "The subject, for programs: resource class, parent node, provision state, maintenance, instance, power "
            "state, allocation in placement, booked, resource provider, lock, conductor, retired.",
            TEXT,
        ),
        "reason": said("The reason in a sentence.", TEXT),
        "remedy": said("What an operator can do about it.", TEXT),
    }
)
_FINDINGS = array(component("Finding"))

#: The node of an explanation.
NODE = {"node": said("UUID of the node.", UUID), "name": said("Name of the node, or null.", TEXT_OR_NULL)}
#: The reasons that keep the node from use.
FINDINGS = {
    "reasons": said("Why it is not offered; empty if it is. The first counts most.", _FINDINGS),
    "remarks": said(
        "Other facts that keep it from use: a conductor that is working on it, no conductor that serves it, or its "
        "retirement.",
        _FINDINGS,
    ),
}

AVAILABILITY = fields(
    {
        **NODE,
        "resource_class": said("The resource class of its provider's inventory, or null.", TEXT_OR_NULL),
        "offered": said("Whether placement offers it now.", FLAG),
        "next_booking": said(
            "When it is booked: the booking that runs, or begins next. null: it is not booked.",
            {
                **fields({"starts_at": said("When it begins.", TIME), "ends_at": said("When it ends.", TIME)}),
                "type": ["object", "null"],
            },
        ),
        **FINDINGS,
    }
)


NODE_EXPLANATION = fields(
    {
        **NODE,
        "verdict": VERDICT,
        "conditions": said(
            "The conditions on the node.", array(fields({**CONDITION, "holds": said("Whether it is met.", FLAG)}))
        ),
        "relaxations": said(
            "The conditions to leave out so that the node fits. Empty if it fits, or if no change makes it fit.",
            array(fields(DROP)),
        ),
        "exact": EXACT,
        **TREES,
        **FINDINGS,
    },
    TREES,
)
