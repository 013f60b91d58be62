"""/allocations: the bare metal API's allocations, their machines, and why some have none."""

from collections.abc import Iterator
from functools import partial

from flask import Response
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeAllocation
from baremetal_sched.db.paging import SortKey, each_row, select_page
from baremetal_sched.db.types import AnyRow
from baremetal_sched.db.types import Query as SqlQuery
from baremetal_sched.ui import exports, uses
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.forms import submitted, without
from baremetal_sched.ui.paging import (
    MARKERS,
    MOST,
    ORDER,
    PAGING,
    MarkerGone,
    active_filters,
    columns_of,
    of_rows,
    place_of,
)
from baremetal_sched.ui.rendering import page
from baremetal_sched.ui.uses import Use

SORT_KEYS = {
    "name": "Name",
    "state": "State",
    "resource_class": "Class",
    "owner": "Owner",
    "created_at": "Age",
}
#: Columns that do not sort the list, by the column before them.
_BESIDE = {"state": ["Node", "Has it since", "User"], "resource_class": ["Traits"]}
_EQUAL = {
    "uuid": NodeAllocation.uuid,
    "name": NodeAllocation.name,
    "state": NodeAllocation.state,
    "resource_class": NodeAllocation.resource_class,
    "owner": NodeAllocation.owner,
}
_OF_ROW = (
    *("uuid", "name", "state", "resource_class", "traits", "owner", "node_uuid", "node_name", "created_at"),
    "last_error",
)


#: The columns for programs, of an allocation and its use of a machine, if it has one.
_EXPORTED: exports.Columns = {
    **{name: partial(lambda name, pair: getattr(pair[0], name), name) for name in _OF_ROW},
    "user": lambda pair: pair[1] and pair[1].user,
    "has_node_since": lambda pair: pair[1] and pair[1].since,
}


def show_allocations(call: UiCall, session: Session) -> Response:
    """GET /allocations. Raises NotAllowed for callers who may list none, InvalidValue for an invalid filter."""
    visible = call.listed("allocation", "owner")
    if not visible.everything:
        # Callers who may list may still see none of them: by default a service.
        call.require("baremetal:allocation:get", call.target_of("allocation", owner=visible.project))
    wanted = exports.format_of(call)
    query = submitted(call, (*_EQUAL, *(ORDER if wanted else PAGING)))
    own = visible.conditions_on(NodeAllocation.owner)
    filters = [column == value for name, column in _EQUAL.items() if (value := query.text(name)) is not None]
    most = exports.MOST if wanted else MOST
    place = place_of(query, SORT_KEYS, SortKey("created_at", descending=True), most=most)

    def missing(marker: str) -> MarkerGone:
        return MarkerGone(marker=f"Allocation {marker}")

    conditions: list[ColumnElement[bool]] = [*own, *filters]
    columns = (
        *(NodeAllocation.id, NodeAllocation.uuid, NodeAllocation.name, NodeAllocation.state, NodeAllocation.last_error),
        *(NodeAllocation.resource_class, NodeAllocation.traits, NodeAllocation.owner, NodeAllocation.created_at),
        *(Node.uuid.label("node_uuid"), Node.name.label("node_name")),
    )
    chosen: SqlQuery = select(*columns).outerjoin(Node, Node.id == NodeAllocation.node_id).where(*conditions)
    within = own[0] if own else None
    if wanted:
        found = each_row(session, chosen, NodeAllocation, place.page(within=within), missing)
        return exports.export(call, wanted, "allocations", _EXPORTED, _with_uses(session, found), place.limit)
    rows = select_page(session, chosen, NodeAllocation, place.page(within=within), missing)
    total = session.scalars(select(func.count(NodeAllocation.id)).where(*conditions)).one()
    states = select(NodeAllocation.state, func.count()).where(*own).group_by(NodeAllocation.state)
    return page(
        call,
        "allocations.html",
        found=of_rows(place, rows, total),
        counts=[(state, count) for state, count in session.execute(states.order_by(NodeAllocation.state))],
        kept=without(call.query, *MARKERS),
        columns=columns_of(call, "allocations", SORT_KEYS, _BESIDE),
        active=active_filters(call),
        shows_error=any(row.last_error for row in rows),
        uses=uses.of_consumers(session, [row.uuid for row in rows if row.node_uuid]),
        everything=visible.everything,
        may_create=call.allows("baremetal:allocation:create"),
        now=utcnow(),
    )


def _with_uses(session: Session, rows: Iterator[AnyRow]) -> Iterator[tuple[AnyRow, Use | None]]:
    """Yield each allocation with its use of a machine, for a number of them at a time."""
    for chunk in exports.chunks(rows):
        found = uses.of_consumers(session, [row.uuid for row in chunk if row.node_uuid])
        yield from ((row, found.get(row.uuid)) for row in chunk)
