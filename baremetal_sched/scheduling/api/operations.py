"""What the OpenAPI document says of each route, besides what the route table knows of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from baremetal_sched.baremetal.api.nodes.node_filters import TRAIT_FILTERS
from baremetal_sched.explain.explanation import VERSION
from baremetal_sched.placement.schemas.queries import candidates
from baremetal_sched.scheduling.capacity import COLUMNS, MOST_KEYS
from baremetal_sched.scheduling.schemas.answers import (
    CAPACITY,
    DOCUMENT,
    ERROR,
    GROUPS,
    TEXT,
    TRAIT_KEY,
    VERSIONS,
    array,
    component,
    said,
)
from baremetal_sched.scheduling.schemas.explanations import (
    ANY_REQUEST,
    AVAILABILITY,
    CLOSEST_TREE,
    EXPLANATION,
    FINDING,
    NODE_EXPLANATION,
    NUMBER_WANTED,
    of_one_machine,
)
from baremetal_sched.scheduling.schemas.requests import DRY_RUN, REQUEST
from baremetal_sched.web.responses import JSON

#: The schemas that others refer to.
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "Versions": VERSIONS,
    "OpenAPI": DOCUMENT,
    "DryRun": DRY_RUN,
    "Capacity": CAPACITY,
    "ConductorGroups": GROUPS,
    "Explanation": EXPLANATION,
    "NodeExplanation": NODE_EXPLANATION,
    "ClosestTree": CLOSEST_TREE,
    "Availability": AVAILABILITY,
    "Finding": FINDING,
    "Error": ERROR,
}

#: The parameters of paths.
IN_PATHS: Mapping[str, Mapping[str, Any]] = {"node": said("UUID or name of the node.", {**TEXT, "minLength": 1})}


@dataclass(frozen=True)
class Operation:
    """One route. ``name``: what generated clients call it. ``answer``: the schema (in SCHEMAS) of what it answers.

    ``query``: schemas of the parameters of the query string. ``body``: the schema of the body, if it takes one.
    ``refuses``: whether it checks what it is sent, and answers 400.
    """

    name: str
    summary: str
    answer: str
    query: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    refuses: bool = True

    def shown(self) -> dict[str, Any]:
        """Return the operation with its parameters and its answer, as OpenAPI has them."""
        return {
            "operationId": self.name,
            "summary": self.summary,
            "parameters": [parameter(name, "query", schema) for name, schema in self.query.items()],
            "responses": {
                "200": {
                    "description": "Done.",
                    "content": {JSON: {"schema": component(self.answer)}},
                }
            },
        }


def parameter(name: str, place: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a parameter. Lists are separated by commas; an object stands for parameters named like its properties."""
    document: dict[str, Any] = {"name": name, "in": place, "required": place == "path", "schema": {**schema}}
    description = document["schema"].pop("description", None)
    if description:
        document["description"] = description
    if place == "query":
        document |= {"style": "form", "explode": schema["type"] == "object"}
    return document


def _listed(description: str) -> dict[str, Any]:
    return said(f"{description} Separated by commas.", array(TEXT))


_TRAITS = {
    "traits": "have all of these traits",
    "not-traits": "do not have all of these traits",
    "traits-any": "have at least one of these traits",
    "not-traits-any": "have none of these traits",
}
_CAPACITY_QUERY = {
    "group_by": said(
        "What machines are told apart by. Without it all are counted together.",
        {**array({"anyOf": [{"enum": [*COLUMNS]}, {"type": "string", "pattern": TRAIT_KEY}]}), "maxItems": MOST_KEYS},
    ),
    "at_least": said("Only the rows where fewer machines than this are free.", {"type": "integer", "minimum": 0}),
    **{name: said(f"Only machines with this {name.replace('_', ' ')}.", TEXT) for name in COLUMNS},
    "shard": _listed("Only machines of one of these shards."),
    **{name: _listed(f"Only machines that {_TRAITS[name]}.") for name in TRAIT_FILTERS},
}


def _candidate_query() -> Iterable[tuple[str, dict[str, Any]]]:
    """The parameters of allocation candidates: by name, and together those whose names have suffixes."""
    schema = candidates(VERSION)
    yield from schema["properties"].items()
    groups = {"type": "object", "patternProperties": schema["patternProperties"], "additionalProperties": False}
    yield "groups", said("What is asked of providers, with the suffix of a group or without one.", groups)


_QUERY = dict(_candidate_query())
_WANTED = {"wanted": said("How many machines are wanted.", NUMBER_WANTED)}

OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("GET", "/"): Operation("list_versions", "Show the version", "Versions", refuses=False),
    ("GET", "/v1"): Operation("show_version", "Show the version", "Versions", refuses=False),
    ("GET", "/v1/openapi.json"): Operation("show_openapi", "Show this document", "OpenAPI"),
    ("POST", "/v1/requests"): Operation(
        "create_request", "Ask what a flavor and an image would get", "DryRun", body=REQUEST.schema
    ),
    ("GET", "/v1/capacity"): Operation("show_capacity", "Count machines", "Capacity", _CAPACITY_QUERY),
    ("GET", "/v1/groups"): Operation(
        "list_groups",
        "List conductor groups with their conductors",
        "ConductorGroups",
        {"conductor_group": said("Only this conductor group, letter case aside.", TEXT)},
    ),
    ("GET", "/v1/explanations"): Operation(
        "show_explanation", "Explain a query of allocation candidates", "Explanation", {**_WANTED, **_QUERY}
    ),
    ("POST", "/v1/explanations"): Operation("create_explanation", "Explain a request", "Explanation", body=ANY_REQUEST),
    ("GET", "/v1/explanations/nodes/<node>"): Operation(
        "show_node_explanation", "Explain what a query finds of one machine", "NodeExplanation", _QUERY
    ),
    ("POST", "/v1/explanations/nodes/<node>"): Operation(
        "create_node_explanation",
        "Explain a request for one machine",
        "NodeExplanation",
        body=of_one_machine(ANY_REQUEST),
    ),
    ("GET", "/v1/nodes/<node>/availability"): Operation(
        "show_availability", "Ask why a machine is or is not on offer", "Availability"
    ),
}
