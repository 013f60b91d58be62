"""/v1/allocations, /v1/nodes/{node}/allocation"""

import json
from collections.abc import Sequence
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.allocations import allocations, placing
from baremetal_sched.baremetal.allocations.placing import ALLOCATING
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.ends import asked_end, granted_end
from baremetal_sched.baremetal.api.resources import collection, owners
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.api.resources.standard_views import StandardViews
from baremetal_sched.baremetal.api.resources.view import BaremetalView, resource
from baremetal_sched.baremetal.identifiers import is_logical_name
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.schemas.allocations import ALLOCATION_CREATE
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.models import NodeAllocation
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.placement.ends import AskedEnd
from baremetal_sched.web import listing
from baremetal_sched.web.responses import empty_response, json_response

BACKFILL_SINCE = 58

#: Filters, with the first microversion (minor) that has each.
FILTERS = {"node": 52, "resource_class": 52, "state": 52, "owner": 60}


RESOURCE = resource(
    path="allocations",
    plural="allocations",
    model=NodeAllocation,
    fields=allocations.FIELDS,
    list_default=tuple(allocations.FIELDS),
    missing=allocations.missing,
    view=BaremetalView,
    invalid_field=f"Schema error: '{{}}' is not one of {sorted(allocations.FIELDS)}",
    detail=False,
    newer_is_unknown=True,
)


def list_allocations(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/allocations"""
    visible = call.listed("allocation", "owner")
    answer = collection.list_all(
        call,
        session,
        RESOURCE,
        filters=FILTERS,
        narrow=lambda query: _conditions(call, session, query),
        within=visible.conditions_on(NodeAllocation.owner),
    )
    if not visible.everything:
        # Callers that may list their project's allocations may still see none of them: a service, by default.
        target = call.target_of("allocation", owner=visible.project)
        if not call.allows("baremetal:allocation:get", target) and answer.get_json()["allocations"]:
            call.require("baremetal:allocation:get", target)
    return answer


def _conditions(call: BaremetalCall, session: Session, query: BaremetalQuery) -> Sequence[ColumnElement[bool]]:
    """The filters as conditions. Raises InvalidValue for a node that does not exist."""
    columns = {
        "resource_class": NodeAllocation.resource_class,
        "state": NodeAllocation.state,
        "owner": NodeAllocation.owner,
    }
    conditions = [column == query.text(name) for name, column in columns.items() if query.has(name)]
    node = query.text("node")
    if node is not None:
        try:
            conditions.append(NodeAllocation.node_id == nodes.find(session, node, call.visible).id)
        except NodeNotFound as error:
            raise InvalidValue(message=str(error)) from None
    return conditions


def create_allocation(call: BaremetalCall, session: Session) -> Response:
    """POST /v1/allocations

    An allocation that does not wait is active or failed at the end of this transaction. Yet the answer shows it as it
    was accepted, "allocating", since clients know and check that; clients must poll anyway, and then see the result.
    ``Prefer: return=representation`` asks for the result at once. An allocation for a given node is shown as it is, as
    in Ironic; it never waits.
    """
    values = collection.load_creation(call, RESOURCE, ALLOCATION_CREATE, "allocation")
    wait = None if values.get("node") else _preferred_wait(call)
    named = {name: value for name in (_UNTIL, _BOOKING) if (value := call.preferences.get(name)) is not None}
    asked = asked_end({name.removeprefix("allocation-"): value for name, value in named.items()})
    if asked.booking is not None and values.get("node"):
        raise InvalidValue(
            message="An allocation for a given node cannot use a booking: leave out node, or the booking."
        )
    allocation = _create(call, session, values, wait, asked)
    document: dict[str, Any] = json.loads(listing.whole(call, RESOURCE).fetch_text(session, allocation.uuid))
    headers = {"Location": f"{call.base_url}/v1/allocations/{allocation.uuid}"}
    applied = [] if wait is None else [f"{_WAIT}={wait}"]
    if call.prefers_representation:
        applied.insert(0, "return=representation")
    elif not values.get("node"):
        document |= {"state": ALLOCATING, "node_uuid": None, "last_error": None, "updated_at": None}
    if named and placing.has_end(session, allocation):
        applied += [f'{name}="{value}"' for name, value in named.items()]
    if applied:
        headers["Preference-Applied"] = ", ".join(applied)
    return json_response(document, 201, headers)


#: The preferences of a client: how long an allocation may wait, in seconds; its end, a time; and the booking (a UUID)
#: whose machines it gets.
_WAIT = "allocation-wait"
_UNTIL = "allocation-until"
_BOOKING = "allocation-booking"


def _preferred_wait(call: BaremetalCall) -> int | None:
    """Return how many seconds the client lets the allocation wait, at most the greatest number allowed. An invalid
    preference is ignored: None."""
    text = call.preferences.get(_WAIT, "")
    if not (text.isascii() and text.isdecimal()):
        return None
    most: int = call.settings.scheduling.max_wait
    # Twelve digits are more than any limit.
    return min(int(text.lstrip("0")[:12] or 0), most)


def _create(
    call: BaremetalCall,
    session: Session,
    values: dict[str, Any],
    wait: int | None = None,
    asked: AskedEnd = AskedEnd(),  # noqa: B008 - it never changes
) -> NodeAllocation:
    if "node" in values and call.version < BACKFILL_SINCE:
        raise InvalidValue(message="Schema error for allocation: 'node': Additional properties are not allowed")
    values["owner"] = owners.owner_of_new_allocation(call, values.get("owner"))
    settings = call.settings
    if wait is None:
        wait = min(settings.conductor.allocation_wait, settings.scheduling.max_wait)
    project = values["owner"] or settings.placement.incomplete_consumer_project_id
    return allocations.create(
        session,
        values,
        membership=call.membership(session),
        settings=settings,
        visible=call.visible,
        eligible=_eligible(call, values.get("owner")),
        wait=wait,
        end=granted_end(call, session, asked, project=project, waits=bool(wait)),
    )


def _eligible(call: BaremetalCall, owner: str | None) -> Visibility:
    """The nodes that an allocation with this owner may get: the nodes that the owner owns or leases."""
    return EVERYTHING if call.caller.unrestricted or owner is None else Visibility(owner)


def show_allocation_of_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/allocation"""
    # As Ironic has it, whose controllers take the node for an argument of the list of allocations: 400, see the route.
    node = call.node(session, ident)
    return listing.show(call, session, RESOURCE, allocations.of_node(session, node, ident).uuid)


def delete_allocation_of_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/nodes/{node}/allocation"""
    call.refuse_arguments()
    node = call.node(session, ident)
    allocations.destroy(session, allocations.of_node(session, node, ident).uuid)
    return empty_response(204)


class AllocationViews(StandardViews):
    """The views of allocations, whose names are refused in words of their own."""

    def identify(self, call: BaremetalCall, ident: str) -> str:
        if canonical_uuid(ident) is None and not is_logical_name(ident):
            raise InvalidValue(message=f"Expected a logical name or UUID but received {ident}.")
        return ident


ALLOCATIONS = AllocationViews(
    resource=RESOURCE,
    parameter="allocation_ident",
    schema=ALLOCATION_CREATE,
    body_name="allocation",
    do_create=_create,
    do_update=lambda call, session, uuid, operations: allocations.update(session, uuid, operations),
    do_delete=lambda call, session, uuid: allocations.destroy(session, uuid),
    finds_from="fields",
)
