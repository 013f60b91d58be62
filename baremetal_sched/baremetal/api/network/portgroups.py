"""/v1/portgroups, and the portgroups of nodes"""

from dataclasses import astuple
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.network.port_filters import PortFilters
from baremetal_sched.baremetal.api.nodes.node_view import INSPECT_WAIT_SINCE
from baremetal_sched.baremetal.api.resources import collection
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.api.resources.standard_views import StandardViews
from baremetal_sched.baremetal.api.resources.view import BaremetalView, resource
from baremetal_sched.baremetal.network import portgroups
from baremetal_sched.baremetal.schemas.network import PORTGROUP_CREATE
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Portgroup
from baremetal_sched.documents.patch import Patch
from baremetal_sched.errors import InvalidValue

#: Filters, with the first microversion (minor) that has each.
FILTERS = {"node": 23, "address": 23, "shard": 106, "conductor_groups": 23}


RESOURCE = resource(
    path="portgroups",
    plural="portgroups",
    model=Portgroup,
    fields=portgroups.FIELDS,
    list_default=portgroups.LIST_DEFAULT,
    missing=portgroups.missing,
    view=BaremetalView,
)


def list_portgroups(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/portgroups, GET /v1/portgroups/detail"""
    return _list(call, session)


def list_portgroups_of_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/portgroups, GET /v1/nodes/{node}/portgroups/detail"""
    return _list(call, session, call.existing_node_uuid(session, ident))


def _list(call: BaremetalCall, session: Session, node: str | None = None) -> Response:
    """A page of the portgroups; with ``node``, the UUID of a node, of the portgroups of that node."""
    visible = call.listed("portgroup")
    return collection.list_all(
        call,
        session,
        RESOURCE,
        filters=FILTERS,
        narrow=lambda query: _conditions(call, session, query, node, visible),
        within=visible.conditions_behind(Portgroup.node_id),
    )


def _conditions(
    call: BaremetalCall, session: Session, query: BaremetalQuery, node: str | None, visible: Visibility
) -> list[ColumnElement[bool]]:
    """The filter as a condition; ``node`` comes from the path and wins."""
    filters = PortFilters.parse(call, query, node)
    if sum(bool(filter_) for filter_ in astuple(filters)) > 1:
        raise InvalidValue(message="Filtering by node, address, or shard simultaneously is not supported.")
    return filters.conditions(session, Portgroup, visible)


def _create(call: BaremetalCall, session: Session, values: dict[str, Any]) -> Portgroup:
    access = call.access("baremetal:portgroup:create")
    return portgroups.create(session, values, call.settings.default_portgroup_mode, access)


def _update(call: BaremetalCall, session: Session, uuid: str, operations: Patch) -> None:
    portgroups.update(
        session,
        uuid,
        operations,
        call.membership(session),
        hides_inspect_wait=call.version < INSPECT_WAIT_SINCE,
        access=call.access("baremetal:portgroup:update"),
    )


class PortgroupViews(StandardViews):
    """The views of portgroups: an invalid name is an error of routing."""

    def identify(self, call: BaremetalCall, ident: str) -> str:
        return call.portgroup_ident(ident)


PORTGROUPS = PortgroupViews(
    resource=RESOURCE,
    parameter="portgroup_ident",
    schema=PORTGROUP_CREATE,
    body_name="portgroup",
    do_create=_create,
    do_update=_update,
    do_delete=lambda call, session, uuid: portgroups.destroy(session, uuid, call.membership(session)),
    finds_from="fields",
)
