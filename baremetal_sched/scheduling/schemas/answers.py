"""The members of documents, and the schemas of answers: figures, groups, and the OpenAPI document itself.

The schemas of answers describe, and check nothing at run time.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from baremetal_sched.compute.schemas.form import Form, closed
from baremetal_sched.db.clock import exactly, seconds_of
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.options.kinds import LEVEL
from baremetal_sched.scheduling.capacity import COLUMNS, DOMAIN, TRAIT

Schema = Mapping[str, Any]

TEXT: dict[str, Any] = {"type": "string"}
TEXT_OR_NULL: dict[str, Any] = {"type": ["string", "null"]}
FLAG: dict[str, Any] = {"type": "boolean"}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
COUNT_OR_NULL: dict[str, Any] = {"type": ["integer", "null"], "minimum": 0}
TIME: dict[str, Any] = {**TEXT, "format": "date-time"}
TIME_OR_NULL: dict[str, Any] = {**TEXT_OR_NULL, "format": "date-time"}
FRACTION: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
UUID: dict[str, Any] = {"type": "string", "format": "uuid"}
UUID_OR_NULL: dict[str, Any] = {"type": ["string", "null"], "format": "uuid"}
#: How many for each reason.
COUNTS: dict[str, Any] = {"type": "object", "additionalProperties": COUNT}


def fields(properties: Schema, optional: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of an object with these properties, all of them required except the ones in ``optional``.

    It is open, as a later release may add fields.
    """
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}


def array(items: Schema) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": dict(items)}


def said(description: str, schema: Schema) -> dict[str, Any]:
    """Return the schema with a description."""
    return {**schema, "description": description}


def component(name: str) -> dict[str, Any]:
    """Return a reference to a schema of the OpenAPI document."""
    return {"$ref": f"#/components/schemas/{name}"}


LINKS = array(fields({"rel": TEXT, "href": said("An absolute URL.", {**TEXT, "format": "uri"})}))
NEXT_PAGE = said("The link to the next page. Only if the page is full.", LINKS)


# -- members -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Member:
    """A member of the documents of one kind. From it follow answers, bodies, their schemas, and columns of commands.

    ``shown``: its schema in answers; ``new`` and ``change``: in the bodies of POST and PATCH; None: it is not there.
    ``required``: whether a POST needs it. ``column``: its place and its title in the lists of the commands.
    """

    name: str
    sentence: str
    shown: Schema | None = None
    new: Schema | None = None
    change: Schema | None = None
    required: bool = False
    column: tuple[int, str] | None = None


class Body(Form):
    """The schema of a body, and how its members are read."""

    def read(self, document: Any) -> dict[str, Any]:
        """Return the members of a document: times as seconds since 1970, UUIDs in the canonical form. Raises
        InvalidValue."""
        self.check(document)
        known = self.schema["properties"]
        return {name: _read(name, known[name], document[name]) for name in known if name in document}


def _read(name: str, schema: Schema, value: Any) -> Any:
    if isinstance(value, list):
        return [_read(name, schema["items"], each) for each in value]
    if schema.get("format") == "date-time":
        return seconds_of(name, value)
    return canonical_uuid(value) if schema.get("format") == "uuid" and value is not None else value


def answer(members: Iterable[Member], *optional: str) -> dict[str, Any]:
    """Return the schema of the document of a thing with these members; ``optional``: the ones that may be missing."""
    return fields(_schemas(members, "shown"), optional)


def new(members: Collection[Member]) -> Body:
    """Return the body that makes a thing with these members."""
    return Body(closed(_schemas(members, "new"), *(each.name for each in members if each.required)))


def change(members: Iterable[Member]) -> Body:
    """Return the body that changes at least one of these members."""
    return Body({**closed(_schemas(members, "change")), "minProperties": 1})


def _schemas(members: Iterable[Member], where: str) -> dict[str, Any]:
    found = ((each, getattr(each, where)) for each in members)
    return {each.name: said(each.sentence, schema) for each, schema in found if schema is not None}


def document(members: Iterable[Member], row: object, **computed: Any) -> dict[str, Any]:
    """Return the document of a row: its members are columns of their names, except the ``computed`` ones."""
    return {
        each.name: _in_json(computed[each.name] if each.name in computed else getattr(row, each.name), each.shown)
        for each in members
        if each.shown is not None
    }


def _in_json(value: Any, schema: Schema) -> Any:
    """Return a time, in seconds since 1970 or a time stamp in UTC, as text; anything else as it is."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).isoformat()
    return exactly(value) if isinstance(value, float) and schema.get("format") == "date-time" else value


# -- figures and groups ------------------------------------------------------------------------------------------------

#: The body of an error.
ERROR = fields(
    {
        "error": fields(
            {
                "status": said("The HTTP status.", {"type": "integer"}),
                "message": TEXT,
                "code": said("The kind of the error, for programs. Only errors that they can act on have one.", TEXT),
                "earliest": said("When a booking of the same length can start, if that is known.", TIME),
                "longest": said(
                    "For how many seconds it can be booked from the same start, if that is known.", {"type": "number"}
                ),
            },
            {"code", "earliest", "longest"},
        )
    }
)


#: The pattern of keys that group machines by whether they have a trait.
TRAIT_KEY = f"^{TRAIT}[A-Z0-9_]+$"
#: The pattern of keys that group machines by their domains of a level.
DOMAIN_KEY = f"^{DOMAIN}{LEVEL.removeprefix('^')}"


def of_domain(whose: str) -> dict[str, Any]:
    """Return the schema of a filter by domain; ``whose``: what it selects, as the beginning of a sentence."""
    return said(
        f"{whose} in this domain, or in one below it: its UUID, or LEVEL:NAME, as in rack:r3. LEVEL: without a name is "
        "for machines that are in no domain of the level. A query may have it up to four times: all must hold.",
        TEXT,
    )


#: Which holds machines have.
HELD = array(
    fields(
        {
            "type": said("The type of the holds.", TEXT),
            "nodes": said("How many machines have one.", COUNT),
            "until": said("When the last of them ends; null: one has no end yet.", TEXT_OR_NULL),
        }
    )
)

CAPACITY_ROW = {
    **fields(
        {
            **{name: said("Present if the answer is grouped by this column.", TEXT_OR_NULL) for name in COLUMNS},
            "total": said("How many machines there are.", COUNT),
            "free": said("How many of them placement offers.", COUNT),
            "allocated": said("How many are claimed or have an instance.", COUNT),
            "unavailable": said(
                "How many of the others are out of use for each reason, each counted once: resource class (it has "
                "none), parent node, maintenance, planned hold (it has started, and waits until the node rests), the "
                "provision state, power unknown, resource provider (it was changed directly).",
                COUNTS,
            ),
            "held": said(
                "The holds that have started, by type, on machines without an instance. A machine may have holds of "
                "several types.",
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

CAPACITY = fields({"capacity": said("A row for each group, with its keys and the counts.", array(CAPACITY_ROW))})


_CONDUCTOR = fields(
    {
        "hostname": said("Its name.", TEXT),
        "alive": said("Whether it is alive.", FLAG),
        "drivers": said("The drivers that it serves.", array(TEXT)),
        "nodes": said("How many nodes of the group it owns.", COUNT),
        "share": said("Its share of the group's nodes.", FRACTION),
    }
)
_MEMBER = fields(
    {
        "hostname": said("Its name.", TEXT),
        "alive": said("Whether it is alive.", FLAG),
        "nodes": said("How many nodes it owns.", COUNT),
        "ring_share": said(
            "The fraction of the ring that is its own; 0 unless it is alive. With many nodes, the share of the nodes "
            "is close to it.",
            FRACTION,
        ),
    }
)
_RING = fields(
    {
        "driver": said("The name of the driver.", TEXT),
        "nodes": said("How many nodes of the group have the driver.", COUNT),
        "conductors": said("The conductors of the ring.", array(_MEMBER)),
    }
)
GROUP = fields(
    {
        "conductor_group": said("The name in lower case; empty for nodes that are in no group.", TEXT),
        "nodes": said("How many nodes are in the group.", COUNT),
        "unserved": said("How many of them no live conductor of the group serves with their driver.", COUNT),
        "conductors_alive": said("How many conductors of the group are alive.", COUNT),
        "conductors": said(
            "The conductors of the group, for callers who may see all groups. While a conductor is pinned to a release "
            "without groups, conductors of other groups that own nodes of this one are listed, too.",
            array(_CONDUCTOR),
        ),
        "rings": said("The hash ring of each driver, for callers who may see all groups.", array(_RING)),
    },
    {"conductors", "rings"},
)

GROUPS = fields({"groups": said("Sorted by name.", array(GROUP))})


_OBJECT = {"type": "object"}

DOCUMENT = fields(
    {
        "openapi": said("The version of OpenAPI.", TEXT),
        "info": said("Title, description and version of the API.", _OBJECT),
        "paths": said("Each path, with its methods.", _OBJECT),
        "components": said("Schemas, headers and errors that the paths refer to.", _OBJECT),
        "servers": said("The address that the paths are relative to.", array(_OBJECT)),
        "security": said("How callers say who they are. Not with [api] auth_strategy = none.", array(_OBJECT)),
    },
    {"security"},
)


_LINK = fields(
    {
        "rel": said("Its relation to the version.", TEXT),
        "href": said("An absolute URL.", {"type": "string", "format": "uri"}),
        "type": said("The media type.", TEXT),
    },
    {"type"},
)
VERSIONS = fields(
    {
        "versions": said(
            "The only version.",
            array(
                fields(
                    {
                        "id": said("Its name.", TEXT),
                        "status": said("CURRENT.", TEXT),
                        "links": said("The version itself, and the OpenAPI document.", array(_LINK)),
                    }
                )
            ),
        )
    }
)
