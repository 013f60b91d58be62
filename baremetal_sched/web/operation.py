"""The description of a route for people and for programs, from which an OpenAPI document is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Operation:
    """What the line of a route says to those who call it.

    ``name``: its name in generated clients. ``answer``: the name of the schema of its answer; None: the answer has no
    body. ``query``: schemas of the parameters of the query string. ``body``: the schema of the body, if it takes one.
    ``refuses``: whether it checks its input, and answers 400; without ``query`` it refuses any query string. ``done``:
    the statuses of success, with their meanings; by default 200, or 204 without an answer.
    """

    name: str
    summary: str
    answer: str | None
    query: Mapping[str, Schema] = field(default_factory=dict)
    body: Schema | None = None
    refuses: bool = True
    done: Mapping[int, str] = field(default_factory=dict)
