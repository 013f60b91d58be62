"""/v1/volume, its connectors and targets, and those of nodes"""

import json
from dataclasses import replace
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement, type_coerce
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.nodes import uuid_of as uuid_of_node
from baremetal_sched.baremetal.api.resources import collection
from baremetal_sched.baremetal.api.resources.query import Query
from baremetal_sched.baremetal.api.resources.view import BaremetalView, resource
from baremetal_sched.baremetal.network import volume
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.models import Node
from baremetal_sched.db.sql_functions import constant
from baremetal_sched.db.types import Json
from baremetal_sched.web import listing
from baremetal_sched.web.responses import empty_response, json_response
from baremetal_sched.web.view import Column, Resource, uuid_of_parent

#: Filters, with the first microversion (minor) that has each.
FILTERS = {"node": volume.SINCE}

#: What stands in place of ``properties``, in the words that Ironic has for it.
_REDACTED = json.dumps(
    {
        "redacted_contents": "** Value redacted: Requires permission baremetal:volume:view_target_properties access. "
        "Permission denied. **"
    }
)


class VolumeView(BaremetalView):
    """A connector or a target as JSON."""

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        if name == "node_uuid":
            return uuid_of_parent(Node, resource.model.node_id), None
        return super().column(name, resource, version)


class RedactedTargetView(VolumeView):
    """A target for those who may not see how it is connected to."""

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        if name == "properties":
            return type_coerce(constant(_REDACTED), Json), None
        return super().column(name, resource, version)


def _resource(kind: volume.VolumeKind, plural: str) -> Resource:
    return resource(
        path=f"volume/{plural}",
        plural=plural,
        model=kind.model,
        fields=kind.fields,
        list_default=kind.list_default,
        missing=kind.missing,
        view=VolumeView,
        detail_since=volume.SINCE,
    )


CONNECTORS = _resource(volume.CONNECTORS, "connectors")
TARGETS = _resource(volume.TARGETS, "targets")
REDACTED_TARGETS = replace(TARGETS, view=RedactedTargetView)


def show_volume(call: BaremetalCall, session: None) -> Response:
    """GET /v1/volume"""
    call.refuse_query()
    return _links(call, "volume")


def show_volume_of_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/volume"""
    call.refuse_query()
    uuid_of_node(call, session, ident)
    return _links(call, f"nodes/{ident}/volume")


def _links(call: BaremetalCall, path: str) -> Response:
    document = {}
    for name, below in (("links", ""), ("connectors", "connectors"), ("targets", "targets")):
        document[name] = [
            {"href": f"{call.base_url}/v1/{path}/{below}", "rel": "self"},
            {"href": f"{call.base_url}/{path}/{below}", "rel": "bookmark"},
        ]
    return json_response(document)


def list_connectors(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/volume/connectors"""
    return _list(call, session, CONNECTORS)


def list_connectors_of_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/volume/connectors"""
    return _list(call, session, CONNECTORS, ident)


def list_targets(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/volume/targets"""
    return _list(call, session, _targets(call))


def list_targets_of_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/volume/targets"""
    return _list(call, session, _targets(call), ident)


def _list(call: BaremetalCall, session: Session, resource: Resource, ident: str | None = None) -> Response:
    """A page of the connectors or targets; with ``ident`` of those of that node."""
    parent = None if ident is None else uuid_of_node(call, session, ident)
    visible = call.listed("volume")

    def narrow(query: Query) -> list[ColumnElement[bool]]:
        node = parent or query.ident("node")
        return [] if node is None else [resource.model.node_id == nodes.find(session, node, visible).id]

    path = resource.path if ident is None else f"nodes/{ident}/{resource.path}"
    within = visible.conditions_behind(resource.model.node_id)
    return collection.list_all(call, session, resource, path=path, filters=FILTERS, narrow=narrow, within=within)


def show_connector(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """GET /v1/volume/connectors/{uuid}"""
    return listing.show(call, session, CONNECTORS, call.uuid(uuid, "connector_uuid"))


def show_target(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """GET /v1/volume/targets/{uuid}"""
    return listing.show(call, session, _targets(call), call.uuid(uuid, "target_uuid"))


def create_connector(call: BaremetalCall, session: Session) -> Response:
    """POST /v1/volume/connectors"""
    values = collection.load_creation(call, CONNECTORS, volume.CONNECTORS.create, "connector")
    return _create(call, session, CONNECTORS, volume.CONNECTORS, values)


def create_target(call: BaremetalCall, session: Session) -> Response:
    """POST /v1/volume/targets"""
    values = collection.load_creation(call, TARGETS, volume.TARGETS.create, "target")
    return _create(call, session, TARGETS, volume.TARGETS, values)


def _targets(call: BaremetalCall) -> Resource:
    """Return how the caller sees targets: who reads them need not see how they are connected to."""
    return TARGETS if call.allows("baremetal:volume:view_target_properties") else REDACTED_TARGETS


def _create(
    call: BaremetalCall, session: Session, resource: Resource, kind: volume.VolumeKind, values: dict[str, Any]
) -> Response:
    made = volume.create(session, kind, values, call.access("baremetal:volume:create"))
    return collection.created(call, session, resource, made.uuid)


def update_connector(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """PATCH /v1/volume/connectors/{uuid}"""
    return _update(call, session, CONNECTORS, volume.CONNECTORS, call.uuid(uuid, "connector_uuid"))


def update_target(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """PATCH /v1/volume/targets/{uuid}"""
    return _update(call, session, _targets(call), volume.TARGETS, call.uuid(uuid, "target_uuid"))


def _update(call: BaremetalCall, session: Session, resource: Resource, kind: volume.VolumeKind, uuid: str) -> Response:
    call.refuse_query()
    operations = collection.load_patch(
        call,
        kind.fields,
        lambda: records.uuid_of(session, kind.model, uuid, kind.missing),
        found_for="fields",
    )
    access = call.access("baremetal:volume:update")
    volume.update(session, kind, uuid, operations, call.membership(session), access)
    return collection.updated(call, session, resource, uuid)


def delete_connector(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """DELETE /v1/volume/connectors/{uuid}"""
    return _delete(call, session, volume.CONNECTORS, call.uuid(uuid, "connector_uuid"))


def delete_target(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """DELETE /v1/volume/targets/{uuid}"""
    return _delete(call, session, volume.TARGETS, call.uuid(uuid, "target_uuid"))


def _delete(call: BaremetalCall, session: Session, kind: volume.VolumeKind, uuid: str) -> Response:
    call.refuse_query()
    call.refuse_body()
    volume.destroy(session, kind, uuid, call.membership(session))
    return empty_response(204)
