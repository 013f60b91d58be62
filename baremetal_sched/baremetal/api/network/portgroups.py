"""/v1/portgroups, and the portgroups of nodes"""

from dataclasses import astuple

from flask import Response
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.network.port_filters import PortFilters
from baremetal_sched.baremetal.api.nodes.node_view import INSPECT_WAIT_SINCE
from baremetal_sched.baremetal.api.nodes.nodes import uuid_of as uuid_of_node
from baremetal_sched.baremetal.api.resources import collection
from baremetal_sched.baremetal.api.resources.query import Query
from baremetal_sched.baremetal.api.resources.view import BaremetalView, resource
from baremetal_sched.baremetal.network import portgroups
from baremetal_sched.baremetal.schemas.network import PORTGROUP_CREATE
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Node, Portgroup
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web import listing
from baremetal_sched.web.responses import empty_response
from baremetal_sched.web.view import Column, Resource, uuid_of_parent

#: Filters, with the first microversion (minor) that has each.
FILTERS = {"node": 23, "address": 23, "shard": 106, "conductor_groups": 23}


class PortgroupView(BaremetalView):
    """A portgroup as JSON."""

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        if name == "node_uuid":
            return uuid_of_parent(Node, Portgroup.node_id), None
        return super().column(name, resource, version)


PORTGROUPS = resource(
    path="portgroups",
    plural="portgroups",
    model=Portgroup,
    fields=portgroups.FIELDS,
    list_default=portgroups.LIST_DEFAULT,
    missing=portgroups.missing,
    view=PortgroupView,
)


def list_portgroups(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/portgroups"""
    return _list(call, session, "portgroups")


def list_portgroups_in_detail(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/portgroups/detail"""
    return _list(call, session, "portgroups/detail")


def list_portgroups_of_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/portgroups"""
    return _list(call, session, f"nodes/{ident}/portgroups", node=uuid_of_node(call, session, ident))


def list_portgroups_of_node_in_detail(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/portgroups/detail"""
    return _list(call, session, f"nodes/{ident}/portgroups/detail", node=uuid_of_node(call, session, ident))


def _list(call: BaremetalCall, session: Session, path: str, *, node: str | None = None) -> Response:
    def narrow(query: Query) -> list[ColumnElement[bool]]:
        return _conditions(call, session, query, node, visible)

    visible = call.listed("portgroup")
    return collection.list_all(
        call,
        session,
        PORTGROUPS,
        detailed=path.endswith("/detail"),
        path=path,
        filters=FILTERS,
        narrow=narrow,
        within=visible.conditions_behind(Portgroup.node_id),
    )


def _conditions(
    call: BaremetalCall, session: Session, query: Query, node: str | None, visible: Visibility
) -> list[ColumnElement[bool]]:
    """The filter as a condition; ``node`` comes from the path and wins."""
    filters = PortFilters.parse(call, query, node)
    if sum(bool(filter_) for filter_ in astuple(filters)) > 1:
        raise InvalidValue(message="Filtering by node, address, or shard simultaneously is not supported.")
    return filters.conditions(session, Portgroup, visible)


def show_portgroup(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/portgroups/{portgroup}"""
    return listing.show(call, session, PORTGROUPS, _uuid_of(call, session, ident))


def create_portgroup(call: BaremetalCall, session: Session) -> Response:
    """POST /v1/portgroups"""
    values = collection.load_creation(call, PORTGROUPS, PORTGROUP_CREATE, "portgroup")
    access = call.access("baremetal:portgroup:create")
    group = portgroups.create(session, values, call.settings.default_portgroup_mode, access)
    return collection.created(call, session, PORTGROUPS, group.uuid)


def update_portgroup(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PATCH /v1/portgroups/{portgroup}"""
    call.refuse_query()
    operations = collection.load_patch(
        call, portgroups.FIELDS, lambda: _uuid_of(call, session, ident), found_for="fields"
    )
    uuid = _uuid_of(call, session, ident)
    hides_inspect_wait = call.version < INSPECT_WAIT_SINCE
    membership = call.membership(session)
    access = call.access("baremetal:portgroup:update")
    portgroups.update(session, uuid, operations, membership, hides_inspect_wait=hides_inspect_wait, access=access)
    return collection.updated(call, session, PORTGROUPS, uuid)


def delete_portgroup(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/portgroups/{portgroup}"""
    call.refuse_query()
    call.refuse_body()
    portgroups.destroy(session, _uuid_of(call, session, ident), call.membership(session))
    return empty_response(204)


def _uuid_of(call: BaremetalCall, session: Session, ident: str) -> str:
    return records.uuid_of(session, Portgroup, call.portgroup_ident(ident), portgroups.missing)
