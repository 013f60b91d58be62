"""/v1/nodes/{node}/history"""

from collections.abc import Iterable
from typing import Any

import orjson
from flask import Response
from sqlalchemy import String, cast
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.hold_readers import reader
from baremetal_sched.baremetal.api.resources.collection import page_response, parse_page
from baremetal_sched.baremetal.api.resources.query import PAGING, BaremetalQuery
from baremetal_sched.baremetal.api.resources.view import BaremetalView, links, resource
from baremetal_sched.baremetal.history import FIELDS, LIST_DEFAULT
from baremetal_sched.baremetal.visibility import Conditions
from baremetal_sched.db import paging
from baremetal_sched.db.json_text import quoted
from baremetal_sched.db.models import Node, NodeHistory
from baremetal_sched.documents.json_template import Template
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.web.listing import Selection
from baremetal_sched.web.responses import json_response
from baremetal_sched.web.view import ANY, NO_LINKS, Column, Resource

#: Longest text of an event in a list that is not in detail, in characters.
SHORT_EVENT = 255


class EventView(BaremetalView):
    """Some ``fields`` of events in the history of ``node``."""

    def __init__(self, call: BaremetalCall, node: Node, fields: Iterable[str]) -> None:
        super().__init__(HISTORY, fields, call.version, call.base_url)
        itself = links(call.base_url, "nodes", node.uuid, f"history/{ANY}")[:1]
        self.template = Template({"links": itself}, braces=False)

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        match name:
            case "event":
                return quoted(NodeHistory.event), lambda text: cls.shown(orjson.loads(text))
            case "duration_seconds":
                return cast(NodeHistory.duration_seconds, String), _whole
            case _:
                return super().column(name, resource, version)

    @classmethod
    def links(cls, resource: Resource, names: tuple[str, ...], base: str) -> Template:
        return NO_LINKS  # they begin with the node

    @staticmethod
    def shown(event: str) -> str:
        """The text of an event as it is shown."""
        return event


class ShortEventView(EventView):
    """The same, with long texts cut."""

    @staticmethod
    def shown(event: str) -> str:
        return event if len(event) <= SHORT_EVENT else f"{event[: SHORT_EVENT - 3]}..."


def _whole(seconds: str) -> int | None:
    return int(float(seconds)) if seconds else None


HISTORY = resource(
    path="history",
    plural="history",
    model=NodeHistory,
    fields=FIELDS,
    list_default=LIST_DEFAULT,
    missing=history.missing,
    view=EventView,
)


def list_history(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/history"""
    query = BaremetalQuery(call, (*PAGING, "detail"))
    detail = query.flag("detail")
    page = parse_page(call, query, FIELDS)
    node = call.node(session, ident)
    shown = FIELDS.visible(call.version) if detail else LIST_DEFAULT
    view = (EventView if detail else ShortEventView)(call, node, shown)
    statement = view.query.where(*_shown(call, node))
    rows: Any = paging.select_page(session, statement, NodeHistory, page, history.missing)
    return page_response(call, query, view, rows, page, Selection(shown))


def show_event(call: BaremetalCall, session: Session, ident: str, uuid: str) -> Response:
    """GET /v1/nodes/{node}/history/{uuid}"""
    call.refuse_query()
    canonical = canonical_uuid(call.ident(uuid, "event"))
    node = call.node(session, ident)
    if canonical is None:
        raise history.missing(uuid)
    view = EventView(call, node, FIELDS.visible(call.version))
    return json_response(view.fetch(session, canonical, *_shown(call, node)))


def _shown(call: BaremetalCall, node: Node) -> Conditions:
    """The condition that an event is of the node, and the caller may see it."""
    return (NodeHistory.node_id == node.id, *reader(call).of_history(node.owner, node.lessee))
