"""/v1/nodes/{node}/bios and firmware"""

from collections.abc import Iterable
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.api.resources.view import links, listing
from baremetal_sched.baremetal.hardware import bios
from baremetal_sched.baremetal.hardware.bios import COMPONENT_FIELDS, LIST_DEFAULT, REGISTRY_SINCE, SETTING_FIELDS
from baremetal_sched.db.models import BiosSetting, Node
from baremetal_sched.masking import MASK, names_secret
from baremetal_sched.web.listing import select_fields
from baremetal_sched.web.responses import json_response
from baremetal_sched.web.view import document

_LISTING = listing(
    fields=SETTING_FIELDS, list_default=LIST_DEFAULT, fields_since=REGISTRY_SINCE, detail_since=REGISTRY_SINCE
)


def list_settings(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/bios"""
    fields = select_fields(call, BaremetalQuery(call, ("fields", "detail")), _LISTING).shown
    node = call.node(session, ident)
    return json_response({"bios": [_render(call, node, setting, fields) for setting in bios.settings(session, node)]})


def show_setting(call: BaremetalCall, session: Session, ident: str, setting: str) -> Response:
    """GET /v1/nodes/{node}/bios/{setting}"""
    call.refuse_query()
    node = call.node(session, ident)
    found = bios.find(session, node, setting)
    return json_response({setting: _render(call, node, found, SETTING_FIELDS.visible(call.version))})


def _render(call: BaremetalCall, node: Node, setting: BiosSetting, fields: Iterable[str]) -> dict[str, Any]:
    names = [name for name in ("created_at", "updated_at", *fields) if name != "links"]
    values = document(setting, names)
    if values.get("value") and names_secret(setting.name):
        values["value"] = MASK
    return {
        **values,
        "links": links(call.base_url, "nodes", node.uuid, f"bios/{setting.name}"),
    }


_COMPONENTS = listing(fields=COMPONENT_FIELDS, list_default=tuple(COMPONENT_FIELDS), newer_is_unknown=True)


def list_components(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/firmware"""
    fields = select_fields(call, BaremetalQuery(call, ("fields", "detail")), _COMPONENTS).shown
    node = call.node(session, ident)
    components = bios.components(session, node)
    return json_response({"firmware": [document(each, ("created_at", "updated_at", *fields)) for each in components]})
