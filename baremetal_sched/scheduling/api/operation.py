"""How one route is described in the OpenAPI document."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from baremetal_sched.scheduling.schemas.answers import component, said
from baremetal_sched.web.responses import JSON

#: The parameter of all lists.
LIMIT = said("The size of the page, at most [api] max_limit.", {"type": "integer", "minimum": 1})


@dataclass(frozen=True)
class Operation:
    """One route. ``name``: its name in generated clients. ``answer``: the schema (in SCHEMAS) of its answer; None: the
    answer has no body.

    ``query``: schemas of the parameters of the query string. ``body``: the schema of the body, if it takes one.
    ``refuses``: whether it checks its input, and answers 400. ``done``: the statuses of success, with their meanings.
    ``conflicts``: whether it may conflict with existing data, and answers 409.
    ``expires``: whether what it reads may be gone, and it answers 410.
    """

    name: str
    summary: str
    answer: str | None
    query: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    refuses: bool = True
    done: Mapping[int, str] = field(default_factory=lambda: {200: "Done."})
    conflicts: bool = False
    expires: bool = False

    def document(self) -> dict[str, Any]:
        """Return the operation with its parameters and its answer, as OpenAPI has them."""
        content = {} if self.answer is None else {"content": {JSON: {"schema": component(self.answer)}}}
        return {
            "operationId": self.name,
            "summary": self.summary,
            "parameters": [parameter(name, "query", schema) for name, schema in self.query.items()],
            "responses": {str(status): {"description": why, **content} for status, why in self.done.items()},
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
