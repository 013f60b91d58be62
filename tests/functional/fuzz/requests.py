"""Requests to a route: made from what the route table and the API reference say of it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from hypothesis import strategies as st

from baremetal_sched.web.route import Route
from tests.functional.fuzz.words import Words, mostly, odd_values
from tests.reference import Method, page_of

#: Bodies that are no JSON documents, or not what any client sends.
RAW_BODIES = (b"", b"{", b"\xff\xfe", b"[" * 500, b'{"a":1,"a":2}', b"NaN", b'"\\ud800"', b"0" * 5000)


@dataclass(frozen=True)
class Request:
    """A request. ``version`` is the minor part of the microversion; ``headers`` take the place of the usual ones."""

    method: str
    path: str
    query: str
    version: int
    body: bytes | None
    headers: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        body = self.body if self.body is None or len(self.body) < 2000 else self.body[:2000] + b"..."
        return f"1.{self.version} {self.method} {self.path}?{self.query[:2000]} {body!r} {self.headers!r:.2000}"


def edges(route: Route, section: Method, least: int, latest: int) -> list[int]:
    """The microversions at which the route, a parameter or a field of it comes into being, those before, and the last
    one of the route."""
    entries = [*section.query.values(), *section.body.values()]
    first = {route.since, *(int(entry["min_version"].partition(".")[2]) for entry in entries if "min_version" in entry)}
    return sorted(
        {version for one in first for version in (one - 1, one) if least <= version <= latest} | {route.until or latest}
    )


@st.composite
def requests(draw: st.DrawFn, api: str, route: Route, versions: list[int], words: Words) -> Request:
    """A request to ``route`` of an API."""
    section = page_of(api, route).section(route) or Method(None)
    return Request(
        route.method,
        draw(_path(route.path, words)),
        draw(_query(section.query, words)),
        draw(st.sampled_from(versions) | st.just(versions[-1])),
        draw(_body(route, section, words)) if route.method in ("POST", "PUT", "PATCH") else None,
    )


@st.composite
def _path(draw: st.DrawFn, path: str, words: Words) -> str:
    parts = path.split("/")
    for index, part in enumerate(parts):
        if part.startswith("<"):
            # What stands before it says what it is: /v1/ports/<ident>.
            text = draw(words.text(parts[index - 1]))
            parts[index] = quote(text.encode("utf-8", "surrogatepass"), safe="")
    return "/".join(parts)


@st.composite
def _query(draw: st.DrawFn, known: Mapping[str, Mapping[str, Any]], words: Words) -> str:
    names = [name for name, entry in known.items() if entry.get("required")]
    if known:
        names += draw(st.lists(st.sampled_from(sorted(known)), max_size=3))
    if draw(st.integers(0, 9)) == 9:
        names.append(draw(words.text("parameter")))
    pairs = [(name, draw(words.text(name, known.get(name)))) for name in names]
    return urlencode(pairs, errors="surrogatepass")


@st.composite
def _body(draw: st.DrawFn, route: Route, section: Method, words: Words) -> bytes | None:
    kind = draw(st.integers(0, 11))
    if kind == 0:
        return draw(st.sampled_from([None, *RAW_BODIES]))
    if kind == 1:
        document = draw(odd_values)
    elif route.method == "PATCH":
        document = draw(st.lists(_operation(section.body, words), max_size=4))
    else:
        document = draw(_object(section.body, words))
    try:
        return json.dumps(document).encode()
    except ValueError:  # more digits than Python writes
        return b"{}"


@st.composite
def _operation(draw: st.DrawFn, fields: Mapping[str, Mapping[str, Any]], words: Words) -> Any:
    names = sorted(set(fields) - {"op", "path", "value"}) or ["name"]
    name = draw(st.sampled_from(names))
    below = draw(st.sampled_from(["", "", "", "/a", "/0", "/-", "/a/b", "~"]))
    operation = {
        "op": draw(
            mostly(st.sampled_from(["add", "replace", "remove"]), st.sampled_from(["test", "move", "copy", "x"]))
        ),
        "path": f"/{name}{below}",
        "value": draw(words.value(name, fields.get(name, {"type": "string"}))),
        "from": "/extra",
    }
    left_out = draw(st.sampled_from(["from", "from", "from", "value", "op", "path"]))
    return {key: value for key, value in operation.items() if key != left_out}


@st.composite
def _object(draw: st.DrawFn, fields: Mapping[str, Mapping[str, Any]], words: Words) -> Any:
    required = [name for name, entry in fields.items() if entry.get("required")]
    chosen: Iterable[str] = required
    if fields:
        chosen = {*required, *draw(st.lists(st.sampled_from(sorted(fields)), max_size=5))}
    document: dict[str, Any] = {}
    for name in sorted(chosen):
        # A field such as flavor.name is within the object flavor, which sorts before it.
        outer, dot, inner = name.partition(".")
        value = draw(words.value(inner or name, fields[name]))
        place = document.get(outer) if dot else document
        if isinstance(place, dict):
            place[inner or name] = value
    match draw(st.integers(0, 9)):
        case 0 if document:
            document.pop(draw(st.sampled_from(sorted(document))))
        case 1:
            document[draw(words.text("field"))] = draw(odd_values)
    return document
