"""``.. error_messages::``: what the service says when it refuses, by area, from the classes of its errors."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from baremetal_sched import errors
from baremetal_sched.errors import SchedulerError
from baremetal_sched.web.http_errors import HttpError, status_of

#: Areas by their module, in the order of the page.
AREAS = {
    "baremetal": "Nodes and what belongs to them",
    "holds": "Holds",
    "placement": "Placement",
    "scheduling": "Scheduling",
    "compute": "Servers and flavors",
    "image": "Images",
    "": "The database, and everything else",
}
_VALUE = re.compile(r"\{(\w+)[^{}]*\}")


class ErrorMessage(NamedTuple):
    """A message with ``{name}`` for each value, the usual status, and the name of its error."""

    text: str
    status: int
    name: str


def catalogue() -> dict[str, list[ErrorMessage]]:
    """Return the messages of each area, in the order of the alphabet."""
    found: dict[str, list[ErrorMessage]] = {area: [] for area in AREAS}
    for area in ("", *(each.name for each in pkgutil.iter_modules(errors.__path__))):
        module = importlib.import_module(f"{errors.__name__}.{area}".rstrip("."))
        found[area] += sorted({_message(error) for error in vars(module).values() if _is_own(error, module)})
    return found


def _is_own(error: Any, module: Any) -> bool:
    """Return whether it is an error of the module whose message says more than what it is given."""
    is_error = isinstance(error, type) and issubclass(error, SchedulerError) and error.__module__ == module.__name__
    return is_error and "template" in vars(error) and bool(_VALUE.sub("", error.template).strip())


def _message(error: type[SchedulerError]) -> ErrorMessage:
    status = error.status if issubclass(error, HttpError) else status_of(error.__new__(error))
    return ErrorMessage(error.template, status, error.__name__)


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
    for value in _VALUE.finditer(text):
        yield nodes.Text(text[place : value.start()])
        yield nodes.emphasis(text=value[1].replace("_", " "))
        place = value.end()
    yield nodes.Text(text[place:])


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("error_messages", ErrorMessages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
