"""/v1/nodes/{node}/management and vmedia"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.resources.driver_views import answering, ask, order
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.api.resources.view import links
from baremetal_sched.baremetal.hardware import management
from baremetal_sched.baremetal.schemas.hardware import BOOT_DEVICE, DEVICE_TYPES, INDICATOR, VIRTUAL_MEDIA
from baremetal_sched.documents.schema import load
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.responses import empty_response, json_response

show_boot_device = answering("management.get_boot_device", reserves=True)
show_supported_boot_devices = answering("management.get_supported_boot_devices", "supported_boot_devices")
show_media = answering("management.get_virtual_media")


def set_boot_device(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/management/boot_device"""
    body = call.arguments(BOOT_DEVICE.fields, require="boot_device")
    device = load(BOOT_DEVICE, body, "boot_device")
    arguments = {"device": device["boot_device"], "persistent": device.get("persistent", False)}
    order(call, session, ident, "management.set_boot_device", arguments)


def inject_nmi(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/management/inject_nmi"""
    call.refuse_arguments()
    order(call, session, ident, "management.inject_nmi")


def list_indicators(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/management/indicators"""
    call.refuse_query()
    indicators = ask(call, session, ident, "management.get_supported_indicators")
    found = [
        _render(call, ident, component, name, facts)
        for component, named in indicators.items()
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
    arguments = {"component": component, "indicator": name}
    state = ask(call, session, ident, "management.get_indicator_state", arguments, reserves=True)
    return json_response({"state": state})


def set_indicator(call: BaremetalCall, session: Session, ident: str, indicator: str) -> Response:
    """PUT /v1/nodes/{node}/management/indicators/{indicator}"""
    body = call.arguments(INDICATOR.fields, require="state")
    name, component = _split(indicator)
    state = load(INDICATOR, body, "indicator")["state"]
    arguments = {"component": component, "indicator": name, "state": state}
    order(call, session, ident, "management.set_indicator_state", arguments)


def _split(indicator: str) -> tuple[str, str]:
    name, at, component = indicator.partition("@")
    if not (name and at and component):
        raise InvalidValue(message=f"Expected an indicator as name@component but received {indicator}.")
    return name, component


def attach_media(call: BaremetalCall, session: Session, ident: str) -> Response:
    """POST /v1/nodes/{node}/vmedia"""
    call.refuse_query()
    media = load(VIRTUAL_MEDIA, call.body(), "vmedia")
    node = call.node_to_change(session, ident)
    management.attach_media(session, node, call.membership(session), media["device_type"], media["image_url"])
    return empty_response(204)


def detach_media(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/nodes/{node}/vmedia"""
    types = BaremetalQuery(call, ("device_types",)).names("device_types")
    for name in types:
        if name not in DEVICE_TYPES:
            raise InvalidValue(message=f"Invalid device type {name}. Device types are: {', '.join(DEVICE_TYPES)}")
    management.detach_media(session, call.node_to_change(session, ident), call.membership(session), types)
    return empty_response(204)
