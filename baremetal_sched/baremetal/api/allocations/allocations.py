"""/v1/allocations, /v1/nodes/{node}/allocation"""

import json
from collections.abc import Sequence
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.allocations import allocations
from baremetal_sched.baremetal.allocations.allocation_claim import ALLOCATING
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.nodes import canonical_or_lookup
from baremetal_sched.baremetal.api.resources import collection, owners
from baremetal_sched.baremetal.api.resources.query import Query
from baremetal_sched.baremetal.api.resources.view import View, resource
from baremetal_sched.baremetal.identifiers import is_logical_name
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.schemas.allocations import ALLOCATION_CREATE
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.models import Node, NodeAllocation
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.web import listing
from baremetal_sched.web.responses import empty_response, json_response
from baremetal_sched.web.view import Column, Resource, uuid_of_parent

BACKFILL_SINCE = 58

#: Filters, with the first microversion (minor) that has each.
FILTERS = {"node": 52, "resource_class": 52, "state": 52, "owner": 60}


class AllocationView(View):
    """Some ``fields`` of allocations."""

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        if name == "node_uuid":
            return uuid_of_parent(Node, NodeAllocation.node_id), None
        return super().column(name, resource, version)


ALLOCATIONS = resource(
    path="allocations",
    plural="allocations",
    model=NodeAllocation,
    fields=allocations.FIELDS,
    list_default=tuple(allocations.FIELDS),
    missing=allocations.missing,
    view=AllocationView,
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
        ALLOCATIONS,
        filters=FILTERS,
        narrow=lambda query: _conditions(call, session, query),
        within=visible.conditions_on(NodeAllocation.owner),
    )
    if not visible.everything:
        # Callers that may list their project's allocations may still see none of them: a service, by default.
        whose = call.target_of("allocation", owner=visible.project)
        if not call.allows("baremetal:allocation:get", whose) and answer.get_json()["allocations"]:
            call.require("baremetal:allocation:get", whose)
    return answer


def _conditions(call: BaremetalCall, session: Session, query: Query) -> Sequence[ColumnElement[bool]]:
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


def show_allocation(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/allocations/{allocation}"""
    return listing.show(call, session, ALLOCATIONS, allocations.find(session, _possible(ident)).uuid)


def create_allocation(call: BaremetalCall, session: Session) -> Response:
    """POST /v1/allocations

    The allocation is active or failed at the end of this transaction. Yet the answer shows it as it was accepted,
    "allocating", since clients know and check that; clients have to poll anyway, and then see the result. ``Prefer:
    return=representation`` asks for the result at once. An allocation for a given node is shown as it is, as in Ironic.
    """
    values = collection.load_creation(call, ALLOCATIONS, ALLOCATION_CREATE, "allocation")
    if "node" in values and call.version < BACKFILL_SINCE:
        raise InvalidValue(message="Schema error for allocation: 'node': Additional properties are not allowed")
    values["owner"] = owners.owner_of_new_allocation(call, values.get("owner"))
    made = allocations.create(
        session,
        values,
        membership=call.membership(session),
        settings=call.settings,
        visible=call.visible,
        eligible=_eligible(call, values.get("owner")),
    )
    document: dict[str, Any] = json.loads(listing.whole(call, ALLOCATIONS).fetch_text(session, made.uuid))
    headers = {"Location": f"{call.base_url}/v1/allocations/{made.uuid}"}
    if call.prefers_representation:
        headers["Preference-Applied"] = "return=representation"
    elif not values.get("node"):
        document |= {"state": ALLOCATING, "node_uuid": None, "last_error": None, "updated_at": None}
    return json_response(document, 201, headers)


def _eligible(call: BaremetalCall, owner: str | None) -> Visibility:
    """The nodes that an allocation with this owner may get: the nodes that the owner owns or leases."""
    return EVERYTHING if call.caller.unrestricted or owner is None else Visibility(owner)


def update_allocation(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PATCH /v1/allocations/{allocation}"""
    operations = collection.load_patch(
        call, allocations.FIELDS, lambda: allocations.find(session, _possible(ident)), found_for="fields"
    )
    return collection.updated(
        call, session, ALLOCATIONS, allocations.update(session, _possible(ident), operations).uuid
    )


def delete_allocation(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/allocations/{allocation}"""
    call.refuse_query()
    call.refuse_body()
    allocations.destroy(session, _possible(ident))
    return empty_response(204)


def show_allocation_of_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/allocation"""
    # As Ironic has it, whose controllers take the node for an argument of the list of allocations: 400, see the route.
    node = nodes.find(session, canonical_or_lookup(call, session, ident))
    return listing.show(call, session, ALLOCATIONS, allocations.of_node(session, node, ident).uuid)


def delete_allocation_of_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/nodes/{node}/allocation"""
    call.refuse_query()
    call.refuse_body()
    node = nodes.find(session, canonical_or_lookup(call, session, ident))
    allocations.destroy(session, allocations.of_node(session, node, ident).uuid)
    return empty_response(204)


def _possible(ident: str) -> str:
    """``ident``, if it is a UUID or could be a name; else InvalidValue."""
    if canonical_uuid(ident) is None and not is_logical_name(ident):
        raise InvalidValue(message=f"Expected a logical name or UUID but received {ident}.")
    return ident
