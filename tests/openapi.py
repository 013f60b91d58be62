"""Compares requests to the scheduling API, and what they are answered, with the API's OpenAPI document."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

import jsonschema_rs
import pytest
import webtest

from baremetal_sched.scheduling.api.openapi import document
from baremetal_sched.scheduling.api.routes import ROUTES

MOUNT = "/scheduling"

#: As clients get it.
DOCUMENT: dict[str, Any] = json.loads(json.dumps(document(ROUTES)))
#: Bytes of the largest body that is looked at.
_LARGEST = 10_000

ERROR = {"$ref": "#/components/schemas/Error"}


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every method and path of the document, with its description."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def operation_of(method: str, path: str) -> dict[str, Any] | None:
    """Return the description of a request; None if the document lacks the path or the method."""
    found = (operation for each, template, operation in operations() if each == method and _fits(template, path))
    return next(found, None)


@cache
def _fits(template: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template)), path) is not None


def bodies(operation: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the schema of each form that the body of a request may have."""
    content = operation.get("requestBody", {"content": {}})["content"].values()
    return [form for each in list(content)[:1] for form in each["schema"].get("oneOf", [each["schema"]])]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference refers to; anything else as it is."""
    found: Any = schema
    while "$ref" in found:
        place: Any = DOCUMENT
        for name in found["$ref"].removeprefix("#/").split("/"):
            place = place[name]
        found = place
    return dict(found)


def closed(schema: Any) -> Any:
    """Return the schema without the room for fields of later releases: what is not described is wrong."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(each) for name, each in schema.items()}
    is_object = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    return {"additionalProperties": False, **inner} if is_object else inner


@cache
def _validator(schema: str) -> Any:
    whole = {**closed(json.loads(schema)), "components": closed(DOCUMENT["components"])}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


def complaints(value: Any, schema: dict[str, Any]) -> list[str]:
    """Return the errors of ``value``."""
    found = _validator(json.dumps(schema)).iter_errors(value)
    return [f"{'/'.join(map(str, error.instance_path))}: {error.message[:500]}" for error in found]


def check_answer(method: str, path: str, answer: Any) -> None:
    """Fail unless the document describes the answer: status, headers and every field."""
    operation, status = operation_of(method, path), answer.status_int
    if operation is None:
        assert status in (404, 405), (method, path, status)
        described = {"headers": {}, "content": {"application/json": {"schema": ERROR}}}
    else:
        responses = operation["responses"]
        assert str(status) in responses or status in (405, 413, 504), (method, path, status, answer.text[:500])
        described = resolved(responses.get(str(status), responses["default"]))
    for name, header in described["headers"].items():
        assert_header(name, resolved(header), answer)
    if "content" not in described:
        assert answer.body == b"", (method, path, status)
        return
    schema = described["content"][answer.content_type]["schema"]
    assert complaints(answer.json, schema) == [], (method, path, status)


def assert_header(name: str, header: dict[str, Any], answer: Any) -> None:
    """Fail unless the answer has the header as it is described."""
    assert name in answer.headers or not header["required"], name
    text = answer.headers[name]
    value = int(text) if header["schema"]["type"] == "integer" else text
    assert complaints(value, header["schema"]) == [], (name, text)


def check_request(method: str, path: str, query: str, body: bytes | None) -> None:
    """Fail unless the document describes the request, which was accepted; without ``body``, all but that."""
    operation = operation_of(method, path)
    assert operation is not None
    names = [parameter for parameter in operation["parameters"] if parameter["in"] == "query"]
    plain = {parameter["name"] for parameter in names if not parameter["explode"]}
    free = [name for each in names if each["explode"] for name in each["schema"]["patternProperties"]]
    for name, _ in parse_qsl(query, keep_blank_values=True) if operation["responses"].get("400") else ():
        assert name in plain or any(re.search(pattern, name) for pattern in free), (method, path, name)
    is_empty = body == b"" and not operation.get("requestBody", {}).get("required")
    if "requestBody" in operation and body is not None and not is_empty:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert complaints(json.loads(body), schema) == [], (method, path, body[:500])


@contextmanager
def watched() -> Iterator[set[tuple[str, str, int]]]:
    """Check each answer of the scheduling API that WebTest gets meanwhile.

    Gives the operations and statuses that were seen (method, path, status).
    """
    ask = webtest.TestApp.do_request
    seen: set[tuple[str, str, int]] = set()

    def do_request(app: Any, request: Any, *arguments: Any, **named: Any) -> Any:
        path = request.environ["PATH_INFO"]
        # A large body would go through a file.
        body = request.body if (request.content_length or 0) <= _LARGEST else None
        answer = ask(app, request, *arguments, **named)
        if path == MOUNT or path.startswith(f"{MOUNT}/"):
            below = path.removeprefix(MOUNT) or "/"
            check_answer(request.method, below, answer)
            if answer.status_int < 400:
                check_request(request.method, below, request.query_string, body)
            seen.add((request.method, below, answer.status_int))
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(webtest.TestApp, "do_request", do_request)
        yield seen
