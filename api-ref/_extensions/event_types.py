"""``.. event_types::``: the closed list of types of events, a table for each prefix that selects some of them."""

from collections.abc import Collection, Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from baremetal_sched.db.event_types import EventType
from baremetal_sched.scheduling.events.types import READERS, TYPES, selected

#: Whose projects read events, by the column that has them.
_PROJECTS = {
    "owner": "the owner of the node",
    "lessee": "its lessee",
    "project": "the project that asked for the machine",
}


class EventTypes(SphinxDirective):
    """A paragraph and a table for each prefix."""

    def run(self) -> list[nodes.Node]:
        """Return them."""
        found = [(prefix, [TYPES[name] for name in selected([prefix]) or ()]) for prefix in READERS]
        return [node for each in found for node in self.parse_text_to_nodes("\n".join(_lines(*each)))]


def _lines(prefix: str, rows: list[EventType]) -> Iterator[str]:
    """Yield reStructuredText. Members are those of most types; types that lack some say so."""
    members = dict.fromkeys(name for row in rows for name in row.members)
    readers = ", ".join(_PROJECTS[each] for each in READERS[prefix])
    optional = dict.fromkeys(name for row in rows for name in row.optional)
    yield f"**{prefix}** is for {readers}. The subject is the {rows[0].subject}. ``data`` has {_names(members)}" + (
        f"; events of earlier releases also {_names(optional)}." if optional else "."
    )
    yield from ("", ".. list-table::", "   :widths: 42 58", "")
    for row in rows:
        lacks = [name for name in members if name not in row.members]
        yield f"   * - ``{row.name}``"
        yield f"     - {row.sentence}" + (f" Without {_names(lacks)}." if lacks else "")
    yield ""


def _names(members: Collection[str]) -> str:
    return ", ".join(f"``{name}``" for name in members)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("event_types", EventTypes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
