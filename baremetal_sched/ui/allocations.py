"""/allocations: the bare metal API's allocations, their machines, and why some have none."""

from flask import Response
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeAllocation
from baremetal_sched.db.paging import SortKey, select_page
from baremetal_sched.db.types import Query as SqlQuery
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.forms import submitted, without
from baremetal_sched.ui.paging import MARKERS, PAGING, MarkerGone, active_filters, columns_of, of_rows, place_of
from baremetal_sched.ui.rendering import page

SORT_KEYS = {
    "name": "Name",
    "state": "State",
    "resource_class": "Class",
    "owner": "Owner",
    "created_at": "Age",
}
_EQUAL = {
    "state": NodeAllocation.state,
    "resource_class": NodeAllocation.resource_class,
    "owner": NodeAllocation.owner,
}


def show_allocations(call: UiCall, session: Session) -> Response:
    """GET /allocations. Raises NotAllowed for callers who may list none, InvalidValue for an invalid filter."""
    visible = call.listed("allocation", "owner")
    if not visible.everything:
        # Who may list may still see none of them: a service, by default.
        call.require("baremetal:allocation:get", call.target_of("allocation", owner=visible.project))
    query = submitted(call, (*_EQUAL, *PAGING))
    own = visible.conditions_on(NodeAllocation.owner)
    filters = [column == value for name, column in _EQUAL.items() if (value := query.text(name)) is not None]
    place = place_of(query, SORT_KEYS, SortKey("created_at", descending=True))

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
    rows = select_page(session, chosen, NodeAllocation, place.page(within=within), missing)
    total = session.scalars(select(func.count(NodeAllocation.id)).where(*conditions)).one()
    states = select(NodeAllocation.state, func.count()).where(*own).group_by(NodeAllocation.state)
    return page(
        call,
        "allocations.html",
        found=of_rows(place, rows, total),
        counts=[(state, count) for state, count in session.execute(states.order_by(NodeAllocation.state))],
        kept=without(call.query, *MARKERS),
        columns=columns_of(call, "allocations", SORT_KEYS, {"state": ["Node"], "resource_class": ["Traits"]}),
        active=active_filters(call),
        shows_error=any(row.last_error for row in rows),
        everything=visible.everything,
        now=utcnow(),
    )
