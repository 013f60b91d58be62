"""``.. operation:: VERB PATH``: a method of the scheduling API as its OpenAPI document describes it.

The content is prose: what one has to know and cannot see in a schema.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from http import HTTPStatus
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from openapi_rows import Row, Rows
from os_api_ref.http_codes import http_code
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from baremetal_sched.scheduling.api.openapi import document
from baremetal_sched.scheduling.api.routes import ROUTES

#: Code, and options of the service.
_CODE = re.compile(r"`+([^`]+)`+|(\[\w+\] \w+)")
_REQUEST_ID = "X-OpenStack-Request-Id"


@cache
def described() -> Rows:
    """Return the document of the scheduling API."""
    return Rows(document(ROUTES))


class Operation(SphinxDirective):
    """A section with heading, prose, statuses, request, answer and example of a method.

    The heading is the summary of the document, unless ``heading`` is given.
    """

    required_arguments = 2
    has_content = True
    option_spec: ClassVar[dict[str, Callable[[str], Any]]] = {"heading": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the section."""
        verb, path = self.arguments
        try:
            self.operation = described().operations[verb, path]
        except KeyError:
            raise self.error(f"The OpenAPI document has no {verb} {path}") from None
        # It is made from code, which Sphinx does not watch.
        self.env.note_reread()
        section = self._section(self.options.get("heading", self.operation["summary"]))
        section["names"].append(self.operation["operationId"])
        self.state.document.note_explicit_target(section)
        self._parse([f".. rest_method:: {verb} {path}", "", *self.content], section)
        section += self._permission()
        section += self._statuses("Success", lambda status: status < 400)
        section += self._statuses("Error", lambda status: status >= 400)
        section += self._request()
        section += self._response()
        example = self._section("Example")
        self._parse([f".. rest_example:: {example_name(verb, path)}"], example)
        section += example
        return [section]

    def _section(self, title: str, *children: nodes.Node) -> nodes.section:
        section = nodes.section("", nodes.title(text=title), *children, names=[nodes.fully_normalize_name(title)])
        self.state.document.note_implicit_target(section, section)
        return section

    def _parse(self, lines: Iterable[str], section: nodes.section) -> None:
        self.state.nested_parse(StringList(list(lines), self.get_source_info()[0]), self.content_offset, section)

    def _permission(self) -> list[nodes.Node]:
        public = "It needs no authentication." if self.operation.get("security") == [] else ""
        # The description names the policy.
        text = self.operation.get("description", public)
        return [_paragraph(text)] if text else []

    def _statuses(self, title: str, fits: Callable[[int], bool]) -> list[nodes.Node]:
        responses = {int(status): each for status, each in self.operation["responses"].items() if status != "default"}
        rows = [
            (_status(status), _reason(described().resolved(responses[status])))
            for status in sorted(responses)
            if fits(status)
        ]
        return [self._section(title, _table((30, 70), ("Code", "Reason"), rows))] if rows else []

    def _request(self) -> list[nodes.Node]:
        parameters = list(described().parameters(self.operation))
        sentences, members = described().body(self.operation)
        if not parameters and not members:
            return []
        before = [_paragraph(" ".join(sentences))] if sentences else []
        return [self._section("Request", *before, _members([*parameters, *members], with_place=True))]

    def _response(self) -> list[nodes.Node]:
        showing, members = described().answer(self.operation)
        if showing is None and not members:
            return []
        section = self._section("Response")
        if showing is not None:
            section += nodes.paragraph(
                "", "", nodes.Text("It has the members of "), _link(showing), nodes.Text(", and:" if members else ".")
            )
        if members:
            section += _members(members)
        return [section]


def example_name(verb: str, path: str) -> str:
    """Return the name of the example of a method, such as ``get-claims-claim``."""
    words = re.findall(r"[\w.]+", path.removeprefix("/v1"))
    return "-".join([verb.lower(), *(words or ["root"])])


def _members(rows: list[Row], *, with_place: bool = False) -> nodes.table:
    cells = (
        [
            nodes.paragraph(text=row.name if row.required else f"{row.name} (Optional)"),
            *([nodes.paragraph(text=row.place)] if with_place else []),
            nodes.paragraph(text=row.type),
            _meaning(row),
        ]
        for row in rows
    )
    if with_place:
        return _table((20, 10, 10, 60), ("Name", "In", "Type", "Description"), cells)
    return _table((25, 15, 60), ("Name", "Type", "Description"), cells)


def _meaning(row: Row) -> nodes.paragraph:
    paragraph = _paragraph(row.text)
    if row.described is not None:
        before = f"{' ' if row.text else ''}{'It' if row.type == 'object' else 'Each'} has the members of "
        paragraph += [nodes.Text(before), _link(row.described), nodes.Text(".")]
    return paragraph


def _link(operation: dict[str, Any]) -> pending_xref:
    options = {"refdomain": "std", "reftype": "ref", "refexplicit": False, "refwarn": True}
    return pending_xref("", nodes.inline(), reftarget=operation["operationId"], **options)


def _status(status: int) -> http_code:
    return http_code("", code=status, title=HTTPStatus(status).phrase)


def _reason(response: dict[str, Any]) -> nodes.paragraph:
    others = [name for name in response.get("headers", {}) if name != _REQUEST_ID]
    return _paragraph(" ".join([response["description"], *(f"The answer has `{name}`." for name in others)]))


def _table(widths: Iterable[int], heads: Iterable[str], rows: Iterable[Iterable[nodes.Node]]) -> nodes.table:
    columns = [nodes.colspec(colwidth=width) for width in widths]
    head = nodes.thead("", _cells(nodes.paragraph(text=each) for each in heads))
    group = nodes.tgroup("", *columns, head, nodes.tbody("", *map(_cells, rows)), cols=len(columns))
    return nodes.table("", group, classes=["described"])


def _cells(cells: Iterable[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", each) for each in cells))


def _paragraph(text: str) -> nodes.paragraph:
    return nodes.paragraph("", "", *_inline(text))


def _inline(text: str) -> Iterator[nodes.Node]:
    place = 0
    for code in _CODE.finditer(text):
        yield nodes.Text(text[place : code.start()])
        yield nodes.literal(text=code[1] or code[2])
        place = code.end()
    yield nodes.Text(text[place:])


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.setup_extension("operations")
    app.add_directive("operation", Operation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
