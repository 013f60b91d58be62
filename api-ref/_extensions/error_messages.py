"""``.. error_messages::``: what the service says when it refuses, by area."""

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from error_catalogue import AREAS, VALUE, ErrorMessage, catalogue
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class ErrorMessages(SphinxDirective):
    """A section for each area, with a row for each message."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        return [self._section(area, found) for area, found in catalogue().items()]

    def _section(self, area: str, found: list[ErrorMessage]) -> nodes.section:
        title = AREAS[area]
        section = nodes.section("", nodes.title(text=title), ids=[nodes.make_id(title)], names=[title.lower()])
        group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (90, 10)), cols=2)
        group += nodes.thead("", _row([nodes.Text("Message")], [nodes.Text("Status")]))
        body = nodes.tbody()
        for each in found:
            body += _row(list(_words(each.text)), [nodes.Text(str(each.status))])
        group += body
        section += nodes.table("", group, classes=["colwidths-given"])
        return section


def _row(*cells: list[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells))


def _words(text: str) -> Iterator[nodes.Node]:
    """The message, with emphasis where values stand."""
    place = 0
    for value in VALUE.finditer(text):
        yield nodes.Text(text[place : value.start()])
        yield nodes.emphasis(text=value[1].replace("_", " "))
        place = value.end()
    yield nodes.Text(text[place:])


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("error_messages", ErrorMessages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
