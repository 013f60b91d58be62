"""/v1/volume, connectors and targets, and the connectors and targets of nodes"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from flask import Response
from sqlalchemy import ColumnElement, type_coerce
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.resources import collection
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.api.resources.standard_views import StandardViews
from baremetal_sched.baremetal.api.resources.view import BaremetalView, links, resource
from baremetal_sched.baremetal.network import volume
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.sql_functions import constant
from baremetal_sched.db.types import Json
from baremetal_sched.web.responses import json_response
from baremetal_sched.web.view import Column, Resource

#: Filters, with the first microversion (minor) that has each.
FILTERS = {"node": volume.SINCE}

#: What stands in place of ``properties``, in the words that Ironic has for it.
_REDACTED = json.dumps(
    {
        "redacted_contents": "** Value redacted: Requires permission baremetal:volume:view_target_properties access. "
        "Permission denied. **"
    }
)


class RedactedTargetView(BaremetalView):
    """A target without its properties, for callers who may not see them."""

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        if name == "properties":
            return type_coerce(constant(_REDACTED), Json), None
        return super().column(name, resource, version)


def show_volume(call: BaremetalCall, session: None) -> Response:
    """GET /v1/volume"""
    call.refuse_query()
    return _links(call, "volume")


def show_volume_of_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/volume"""
    call.refuse_query()
    call.existing_node_uuid(session, ident)
    return _links(call, f"nodes/{ident}/volume")


def _links(call: BaremetalCall, path: str) -> Response:
    members = {"links": "", "connectors": "connectors", "targets": "targets"}
    return json_response({name: links(call.base_url, path, below) for name, below in members.items()})


@dataclass(frozen=True, kw_only=True)
class VolumeViews(StandardViews):
    """The views of connectors, or of targets, which callers without a permission see ``redacted``."""

    redacted: Resource | None = None

    def resource_for(self, call: BaremetalCall) -> Resource:
        if self.redacted is None or call.allows("baremetal:volume:view_target_properties"):
            return self.resource
        return self.redacted

    def list(self, call: BaremetalCall, session: Session, **path: str) -> Response:
        """GET /v1/volume/…, GET /v1/nodes/{node}/volume/…"""
        parent = call.existing_node_uuid(session, path["ident"]) if path else None
        visible, node_id = call.listed("volume"), self.resource.model.node_id

        def narrow(query: BaremetalQuery) -> Sequence[ColumnElement[bool]]:
            node = parent or query.ident("node")
            return [] if node is None else [node_id == nodes.find(session, node, visible).id]

        within = visible.conditions_behind(node_id)
        return collection.list_all(
            call, session, self.resource_for(call), filters=FILTERS, narrow=narrow, within=within
        )


def _views(kind: volume.VolumeKind, word: str, redacted: type[BaremetalView] | None = None) -> VolumeViews:
    seen = resource(
        path=f"volume/{word}s",
        plural=f"{word}s",
        model=kind.model,
        fields=kind.fields,
        list_default=kind.list_default,
        missing=kind.missing,
        view=BaremetalView,
        detail_since=volume.SINCE,
    )
    return VolumeViews(
        resource=seen,
        redacted=None if redacted is None else replace(seen, view=redacted),
        parameter=f"{word}_uuid",
        schema=kind.create,
        body_name=word,
        do_create=lambda call, session, values: volume.create(
            session, kind, values, call.access("baremetal:volume:create")
        ),
        do_update=lambda call, session, uuid, operations: volume.update(
            session, kind, uuid, operations, call.membership(session), call.access("baremetal:volume:update")
        ),
        do_delete=lambda call, session, uuid: volume.destroy(session, kind, uuid, call.membership(session)),
        finds_from="fields",
    )


CONNECTORS = _views(volume.CONNECTORS, "connector")
TARGETS = _views(volume.TARGETS, "target", RedactedTargetView)
