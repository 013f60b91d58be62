"""The built pages of the scheduling API have all that its OpenAPI document says: each parameter, member and status."""

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from baremetal_sched.scheduling.api.routes import ROUTES
from tests import openapi
from tests.reference import API_REF, beginning

Rows = dict[str, tuple[bool, str, str]]


@dataclass
class Section:
    """An operation on a page. Of each parameter and member: whether it is optional, its text, and the operation that it
    is linked to. ``extended``: the operations that also describe the answer."""

    statuses: set[int] = field(default_factory=set)
    request: Rows = field(default_factory=dict)
    response: Rows = field(default_factory=dict)
    extended: list[str] = field(default_factory=list)
    examples: int = 0


def test_pages_have_all_of_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("os_api_ref", reason="needs the extra 'docs'")
    monkeypatch.setattr(sys, "path", [*sys.path, str(API_REF / "_extensions")])
    found = list(_sections(tmp_path))
    operations = {(verb, path): operation for verb, path, operation in openapi.operations()}
    # It differs from GET / in its name only, and is named there.
    same, first = operations.pop(("GET", "/v1")), operations["GET", "/"]
    assert {**same, "operationId": first["operationId"]} == first
    assert sorted(key for key, _ in found) == sorted(operations)
    sections = {operations[key]["operationId"]: section for key, section in found}
    assert [text for each in operations.values() for text in _missing(each, sections)] == []


def test_each_query_parameter_has_a_word() -> None:
    """That a view reads in a query, and that the document describes: the pages then have its words."""
    for verb, path, operation in openapi.operations():
        for each in operation["parameters"]:
            assert each.get("description", "").endswith("."), (verb, path, each["name"])
    for route in ROUTES:
        assert route.operation is not None
        source, names = inspect.getsource(route.view), vars(inspect.getmodule(route.view))
        for name in re.findall(r"\bQuery\(call, (.+?)\)", source):
            assert names[name] is route.operation.query, (route.path, name)
        read = set(re.findall(r"\bquery\.(?:has|text|texts|flag|integer|uuid|items)\(\"(\w+)\"", source))
        assert read <= set(route.operation.query), route.path


def _sections(folder: Path) -> Iterator[tuple[tuple[str, str], Section]]:
    """Yield verb and path of each operation, with what its page has."""
    from os_api_ref import rest_method
    from sphinx.application import Sphinx

    settings = {"extensions": ["openapi_operation"], "smartquotes": False}
    app = Sphinx(API_REF / "scheduling", None, folder, folder, "dummy", settings, status=None, warning=StringIO())
    for page in sorted(app.builder.read()):
        for method in app.env.get_doctree(page).findall(rest_method):
            heading = method.parent
            detail = heading.parent[heading.parent.index(heading) + 1]
            yield (method["method"], method["url"]), _section(detail)


def _section(detail: Any) -> Section:
    from docutils import nodes
    from os_api_ref.http_codes import http_code
    from sphinx.addnodes import pending_xref

    section = Section({each["code"] for each in detail.findall(http_code)})
    for part in detail.findall(nodes.section):
        title = part[0].astext()
        if title == "Example":
            section.examples = len(list(part.findall(nodes.literal_block)))
        if title not in ("Request", "Response"):
            continue
        rows = section.request if title == "Request" else section.response
        for row in (row for body in part.findall(nodes.tbody) for row in body):
            links = [each["reftarget"] for each in row.findall(pending_xref)]
            name, _, optional = row[0].astext().partition(" ")
            assert name not in rows, name
            rows[name] = optional == "(Optional)", row[-1].astext(), "".join(links)
        before = (each for each in part if isinstance(each, nodes.paragraph))
        section.extended += [link["reftarget"] for each in before for link in each.findall(pending_xref)]
    return section


def _missing(operation: dict[str, Any], sections: dict[str, Section]) -> Iterator[str]:
    """Yield what the section of an operation lacks."""
    name, responses, parameters = operation["operationId"], operation["responses"], operation["parameters"]
    section = sections[name]
    yield from (f"{name}: {status}" for status in responses if status not in {*map(str, section.statuses), "default"})
    if section.examples != 2:
        yield f"{name}: example"
    plain = {each["name"]: each for each in parameters if not each.get("explode")}
    asked = [
        {"properties": plain, "required": [key for key, each in plain.items() if each["required"]]},
        *(each["schema"] for each in parameters if each.get("explode")),
    ]
    bodies = openapi.bodies(operation)
    always = {
        key for each in bodies for key in each.get("required", ()) if all(key in form["required"] for form in bodies)
    }
    for schema in (*asked, *({**each, "required": always} for each in bodies)):
        yield from (f"{name}: request: {each}" for each in _absent(schema, section.request, sections))
    done = (
        each["content"]["application/json"]["schema"]
        for code, each in responses.items()
        if code < "3" and "content" in each
    )
    rows = {key: row for each in section.extended for key, row in sections[each].response.items()} | section.response
    yield from (f"{name}: response: {each}" for answer in done for each in _absent(answer, rows, sections))


def _absent(
    schema: dict[str, Any], rows: Rows, sections: dict[str, Section], before: str = "", told: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield the members of a schema that are not among the rows, or are described otherwise."""
    schema = openapi.resolved(schema)
    patterns = {beginning(pattern): each for pattern, each in schema.get("patternProperties", {}).items()}
    patterns = {f"{name}…": each for name, each in patterns.items() if name}
    for name, member in {**schema.get("properties", {}), **patterns}.items():
        full = f"{before}{name}"
        optional, text, link = rows.get(full, (None, "", ""))
        said = {**openapi.resolved(member), **member}.get("description", "")
        if optional is not (name not in schema.get("required", ())) or said.replace("`", "") not in text:
            yield full
        elif not link:
            yield from _absent(member, rows, sections, f"{full}.", told)
        elif link not in told:
            values = (member, member.get("items", {}), member.get("additionalProperties", {}))
            (value,) = (each for each in values if "$ref" in each)
            yield from _absent(value, sections[link].response, sections, "", (*told, link))
    for each in (*schema.get("oneOf", ()), *([schema["items"]] if "items" in schema else [])):
        yield from _absent(each, rows, sections, before, told)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _absent(schema["additionalProperties"], rows, sections, f"{before}*.", told)
