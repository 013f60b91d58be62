"""/v1/nodes/{node}/management and vmedia"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.nodes import canonical_or_lookup, node_with_conductor
from baremetal_sched.baremetal.api.resources.query import Query
from baremetal_sched.baremetal.api.resources.view import links
from baremetal_sched.baremetal.hardware import management
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.schemas.hardware import BOOT_DEVICE, DEVICE_TYPES, INDICATOR, VIRTUAL_MEDIA
from baremetal_sched.db.models import Node
from baremetal_sched.documents.schema import load
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.responses import empty_response, json_response


def show_boot_device(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/management/boot_device"""
    call.refuse_query()
    node = node_with_conductor(call, session, ident)
    return json_response(management.boot_device(session, node, call.membership(session)))


def show_supported_boot_devices(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/management/boot_device/supported"""
    call.refuse_query()
    node = node_with_conductor(call, session, ident)
    devices = management.supported_boot_devices(session, node, call.membership(session))
    return json_response({"supported_boot_devices": devices})


def set_boot_device(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/management/boot_device"""
    body = call.arguments(BOOT_DEVICE.fields, require="boot_device")
    wanted = load(BOOT_DEVICE, body, "boot_device")
    node, device, persistent = _node(call, session, ident), wanted["boot_device"], wanted.get("persistent", False)
    management.set_boot_device(node, call.membership(session), device, persistent=persistent, then=_done)


def inject_nmi(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/management/inject_nmi"""
    call.refuse_query()
    call.refuse_body()
    management.inject_nmi(_node(call, session, ident), call.membership(session), _done)


def list_indicators(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/management/indicators"""
    call.refuse_query()
    node = node_with_conductor(call, session, ident)
    found = [
        _render(call, ident, component, name, facts)
        for component, named in management.indicators(session, node, call.membership(session)).items()
        for name, facts in named.items()
    ]
    return json_response({"indicators": found})


def _render(call: BaremetalCall, ident: str, component: str, name: str, facts: Any) -> dict[str, Any]:
    unique = f"{name}@{component}"
    return {
        "name": unique,
        "component": component,
        **facts,
        "links": links(call.base_url, "nodes", ident, f"management/indicators/{unique}"),
    }


def show_indicator(call: BaremetalCall, session: Session, ident: str, indicator: str) -> Response:
    """GET /v1/nodes/{node}/management/indicators/{indicator}"""
    call.refuse_query()
    name, component = _split(indicator)
    node = node_with_conductor(call, session, ident)
    state = management.indicator_state(session, node, call.membership(session), component, name)
    return json_response({"state": state})


def set_indicator(call: BaremetalCall, session: Session, ident: str, indicator: str) -> Response:
    """PUT /v1/nodes/{node}/management/indicators/{indicator}"""
    body = call.arguments(INDICATOR.fields, require="state")
    name, component = _split(indicator)
    state = load(INDICATOR, body, "indicator")["state"]
    node = _node(call, session, ident)
    management.set_indicator_state(node, call.membership(session), component, name, state, _done)


def _done(_said: Any) -> Response:
    return empty_response(204)


def _split(indicator: str) -> tuple[str, str]:
    name, at, component = indicator.partition("@")
    if not (name and at and component):
        raise InvalidValue(message=f"Expected an indicator as name@component but received {indicator}.")
    return name, component


def _node(call: BaremetalCall, session: Session, ident: str) -> Node:
    return nodes.find_to_change_by(session, canonical_or_lookup(call, session, ident), call.membership(session))


def show_media(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/vmedia"""
    call.refuse_query()
    node = node_with_conductor(call, session, ident)
    return json_response(management.show_media(session, node, call.membership(session)))


def attach_media(call: BaremetalCall, session: Session, ident: str) -> Response:
    """POST /v1/nodes/{node}/vmedia"""
    call.refuse_query()
    wanted = load(VIRTUAL_MEDIA, call.body(), "vmedia")
    node = _node_with_media(call, session, ident)
    membership = call.membership(session)
    management.attach_media(session, node, membership, wanted["device_type"], wanted["image_url"])
    return empty_response(204)


def detach_media(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/nodes/{node}/vmedia"""
    types = Query(call, ("device_types",)).names("device_types")
    for name in types:
        if name not in DEVICE_TYPES:
            raise InvalidValue(message=f"Invalid device type {name}. Device types are: {', '.join(DEVICE_TYPES)}")
    management.detach_media(session, _node_with_media(call, session, ident), call.membership(session), types)
    return empty_response(204)


def _node_with_media(call: BaremetalCall, session: Session, ident: str) -> Node:
    return nodes.find_to_change_by(session, canonical_or_lookup(call, session, ident), call.membership(session))
