"""The API reference as data: what ``api-ref/`` says of each method, for tests that compare it with the code."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

from baremetal_sched.app import APIS
from baremetal_sched.baremetal.api.routes import ALTERNATIVES
from baremetal_sched.settings import load
from baremetal_sched.web.route import Route
from tests import openapi

API_REF = Path(__file__).parents[1] / "api-ref"

#: Every route, with the name of its API. Other addresses of the same are left out.
ROUTES = [(api.name, route) for api in APIS for route in api.routes if route not in ALTERNATIVES]
#: The microversions of each API; None where it has none.
MICROVERSIONS = {api.name: api(load(overrides={})).versions for api in APIS}

PARAMETERS = re.compile(r"^\.\. rest_parameters:: (\S+)\n\n((?:   - .+\n)+)", re.MULTILINE)
STATUS_LINE = re.compile(r"^   - (\d{3})(?:: (\w+))?$", re.MULTILINE)
METHOD = re.compile(r"^\.\. (?:rest_method|operation):: (\S+) (\S+)(?:\n   min_version: \d\.(\d+))?", re.MULTILINE)

Entries = dict[str, Mapping[str, Any]]


@dataclass
class Method:
    """One section of the reference: parameters and fields by name, by where they are; and the statuses."""

    since: int | None
    header: Entries = field(default_factory=dict)
    path: Entries = field(default_factory=dict)
    query: Entries = field(default_factory=dict)
    body: Entries = field(default_factory=dict)
    statuses: set[int] = field(default_factory=set)


class Page:
    """One file of the reference, by method and path (with ``{}`` for each path parameter)."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self.text = path.read_text()
        self.methods: dict[tuple[str, str], Method] = {}
        starts = [*METHOD.finditer(self.text)]
        for start, following in zip_longest(starts, starts[1:]):
            text = self.text[start.start() : following and following.start()]
            if text.startswith(".. operation::"):
                self.methods[start[1], shape(start[2])] = _generated(start[1], start[2])
                continue
            section = Method(int(start[3]) if start[3] else None)
            section.statuses = {int(code) for code, _ in STATUS_LINE.findall(text)}
            for file, lines in PARAMETERS.findall(text):
                known = entries(path.parent / file)
                for line in lines.splitlines():
                    name, _, key = line.removeprefix("   - ").partition(": ")
                    getattr(section, known[key]["in"])[name] = known[key]
            self.methods[start[1], shape(start[2])] = section

    def section(self, route: Route) -> Method | None:
        """The section of a route; None if it has none of its own."""
        return self.methods.get((route.method, shape(route.path)))

    def mentions(self, route: Route) -> bool:
        """Return whether the route is described, or at least named in the text."""
        return self.section(route) is not None or f"``{route.method} {route.path}``" in self.text


def _generated(verb: str, path: str) -> Method:
    """A method of the scheduling API, as its OpenAPI document describes it."""
    operation = openapi.DOCUMENT["paths"][path][verb.lower()]
    method = Method(None, statuses={int(status) for status in operation["responses"] if status != "default"})
    for each in operation["parameters"]:
        patterns = each["schema"].get("patternProperties", {})
        named = {beginning(name): schema for name, schema in patterns.items()} or {each["name"]: each["schema"]}
        for name, schema in named.items():
            getattr(method, each["in"])[name] = _entry(schema, each["required"])
    for form in openapi.bodies(operation):
        method.body |= {
            name: _entry(schema, name in form.get("required", ())) for name, schema in form["properties"].items()
        }
    return method


def _entry(schema: Mapping[str, Any], required: bool) -> Mapping[str, Any]:
    kinds = schema.get("type", "string")
    values = [f"``{value}``" for value in schema.get("enum", ())]
    kind = kinds if isinstance(kinds, str) else " or ".join(each for each in kinds if each != "null")
    return {"type": kind, "required": required, "description": " ".join(values)}


def beginning(pattern: str) -> str:
    """The text with which all names begin that fit a pattern."""
    return re.sub(r"^\^?([\w:-]*).*", r"\1", pattern)


@cache
def entries(file: Path) -> Any:
    """A YAML file of the reference."""
    return yaml.load(file.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def shape(path: str) -> str:
    """A path with ``{}`` for each parameter."""
    return re.sub(r"<\w+>|\{\w+\}", "{}", path)


def example_name(method: str, path: str) -> str:
    """The name of the example of a method: ``put-nodes-ident-traits`` for ``PUT /v1/nodes/{ident}/traits``."""
    words = re.sub(r"^/v\d[\d.]*/", "/", path).replace("{", "").replace("}", "").strip("/").split("/")
    return "-".join([method.lower(), *(words if words != [""] else ["root"])])


@cache
def page(api: str, resource: str) -> Page:
    """The file on a resource."""
    return Page(API_REF / api / f"{resource}.rst")


@cache
def pages(api: str) -> list[Page]:
    """All files on an API."""
    return [page(api, path.stem) for path in sorted((API_REF / api).glob("*.rst"))]


def page_of(api: str, route: Route) -> Page:
    """Return the one file that describes a route, or the first that names it."""
    described = [each for each in pages(api) if each.section(route)]
    assert len(described) < 2, route
    return next(each for each in [*described, *pages(api)] if each.mentions(route))
