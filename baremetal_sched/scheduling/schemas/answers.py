"""The schemas of answers, which describe and check nothing at run time: figures, groups, and the document itself."""

from collections.abc import Collection, Mapping
from typing import Any

from baremetal_sched.options.kinds import LEVEL
from baremetal_sched.scheduling.capacity import COLUMNS, DOMAIN, TRAIT

TEXT: dict[str, Any] = {"type": "string"}
TEXT_OR_NULL: dict[str, Any] = {"type": ["string", "null"]}
FLAG: dict[str, Any] = {"type": "boolean"}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
FRACTION: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
UUID: dict[str, Any] = {"type": "string", "format": "uuid"}
UUID_OR_NULL: dict[str, Any] = {"type": ["string", "null"], "format": "uuid"}
#: How many for each reason.
COUNTS: dict[str, Any] = {"type": "object", "additionalProperties": COUNT}


def fields(properties: Mapping[str, Any], optional: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of an object with these properties, all of them required except the ones in ``optional``.

    It is open, as a later release may add fields.
    """
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}


def array(items: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": dict(items)}


def said(description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with a description."""
    return {**schema, "description": description}


def component(name: str) -> dict[str, Any]:
    """Return a reference to a schema of the OpenAPI document."""
    return {"$ref": f"#/components/schemas/{name}"}


#: The body of an error.
ERROR = fields(
    {
        "error": fields(
            {
                "status": said("The HTTP status.", {"type": "integer"}),
                "message": TEXT,
                "code": said("The kind of the error, for programs. Only errors that they can act on have one.", TEXT),
            },
            {"code"},
        )
    }
)


#: The pattern of keys that group machines by whether they have a trait.
TRAIT_KEY = f"^{TRAIT}[A-Z0-9_]+$"
#: The pattern of keys that group machines by their domains of a level.
DOMAIN_KEY = f"^{DOMAIN}{LEVEL.removeprefix('^')}"

#: Which holds machines have.
HELD = array(fields({"type": TEXT, "nodes": COUNT, "until": TEXT_OR_NULL}))

_ROW = {
    **fields(
        {
            **{name: said("Present if the answer is grouped by this column.", TEXT_OR_NULL) for name in COLUMNS},
            "total": said("How many machines there are.", COUNT),
            "free": said("How many of them placement offers.", COUNT),
            "allocated": said("How many are claimed or have an instance.", COUNT),
            "unavailable": said("How many of the others are out of use for each reason, each counted once.", COUNTS),
            "held": said(
                "By type of their holds: how many machines without an instance have one that has started, and when the "
                "last of these ends; null: one has no end yet.",
                HELD,
            ),
        },
        COLUMNS,
    ),
    "patternProperties": {
        TRAIT_KEY: said("Whether the machines have the trait. Present if the answer is grouped by it.", FLAG),
        DOMAIN_KEY: said(
            "Name of their domain of this level; null: they are in none. Present if the answer is grouped by it.",
            TEXT_OR_NULL,
        ),
    },
}

CAPACITY = fields({"capacity": said("A row for each group.", array(_ROW))})


_CONDUCTOR = fields(
    {
        "hostname": TEXT,
        "alive": FLAG,
        "drivers": said("The drivers that it serves.", array(TEXT)),
        "nodes": said("How many nodes of the group it owns.", COUNT),
        "share": said("Its share of the group's nodes.", FRACTION),
    }
)
_MEMBER = fields(
    {
        "hostname": TEXT,
        "alive": FLAG,
        "nodes": said("How many nodes it owns.", COUNT),
        "ring_share": said("The fraction of the ring that is its own; 0 unless it is alive.", FRACTION),
    }
)
_RING = fields(
    {
        "driver": TEXT,
        "nodes": said("How many nodes of the group have the driver.", COUNT),
        "conductors": array(_MEMBER),
    }
)
_GROUP = fields(
    {
        "conductor_group": said("The name in lower case; empty for nodes that are in no group.", TEXT),
        "nodes": said("How many nodes are in the group.", COUNT),
        "unserved": said("How many of them no live conductor serves.", COUNT),
        "conductors_alive": said("How many conductors of the group are alive.", COUNT),
        "conductors": said("For callers who may see all groups.", array(_CONDUCTOR)),
        "rings": said("The hash ring of each driver, for callers who may see all groups.", array(_RING)),
    },
    {"conductors", "rings"},
)

GROUPS = fields({"groups": said("Sorted by name.", array(_GROUP))})


_OBJECT = {"type": "object"}

DOCUMENT = fields(
    {
        "openapi": TEXT,
        "info": _OBJECT,
        "paths": _OBJECT,
        "components": _OBJECT,
        "servers": array(_OBJECT),
        "security": array(_OBJECT),
    },
    {"security"},
)


_LINK = fields(
    {"rel": TEXT, "href": said("An absolute URL.", {"type": "string", "format": "uri"}), "type": TEXT}, {"type"}
)

VERSIONS = fields({"versions": array(fields({"id": TEXT, "status": TEXT, "links": array(_LINK)}))})
