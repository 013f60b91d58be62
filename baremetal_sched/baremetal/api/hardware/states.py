"""/v1/nodes/{node}/states"""

from flask import Response
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.node_view import NODES, StatesView, redacted
from baremetal_sched.baremetal.hardware import management, power
from baremetal_sched.baremetal.nodes.node_fields import FIELDS, STATES
from baremetal_sched.baremetal.schemas.hardware import BOOT_MODE, CONSOLE, SECURE_BOOT
from baremetal_sched.baremetal.schemas.nodes import POWER
from baremetal_sched.documents.schema import load, parse_flag
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import states
from baremetal_sched.web.http_errors import MethodNotAllowed
from baremetal_sched.web.responses import empty_response, json_response

SOFT_POWER_SINCE = 27


def show_states(call: BaremetalCall, connection: Connection, ident: str) -> Response:
    """GET /v1/nodes/{node}/states"""
    call.refuse_query()
    names = [name for name in STATES if FIELDS[name].since <= call.version]
    view = redacted(StatesView, call.redaction)(NODES, names, call.version, call.base_url)
    node_uuid = call.node_uuid(connection, ident)
    return json_response(view.fetch(connection, node_uuid, values=call.redaction_values))


def set_power(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/states/power"""
    arguments = call.arguments(POWER.fields, require="target")
    node = call.locked_node(session, ident)
    soft = arguments["target"] in (states.SOFT_POWER_OFF, states.SOFT_REBOOT)
    if soft or arguments.get("timeout") is not None:
        call.require_version(SOFT_POWER_SINCE)
    body = load(POWER, arguments, "power")
    power.request(session, node, body["target"], body.get("timeout"), call.membership(session))
    return _accepted(call, ident)


def set_raid(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/states/raid"""
    call.refuse_query()
    config = call.body()
    if not isinstance(config, dict):
        raise InvalidValue(message=f"RAID config validation error: {config} is not of type 'object'")
    management.set_raid_target(session, call.node_to_change(session, ident), config, call.membership(session))
    return empty_response(204)


def refuse_target_raid_config(call: BaremetalCall, session: None, ident: str) -> Response:
    """PUT /v1/nodes/{node}/states/target_raid_config: it is set at ``states/raid``."""
    raise MethodNotAllowed(method="PUT", allowed=[])


def show_console(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/states/console"""
    call.refuse_query()
    return json_response(
        management.show_console(session, call.node_with_conductor(session, ident), call.membership(session))
    )


def set_console(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/states/console"""
    body = call.arguments(CONSOLE.fields, require="enabled")
    enabled = parse_flag("enabled", body["enabled"])
    management.switch_console(session, call.node_to_change(session, ident), call.membership(session), enabled=enabled)
    return empty_response(202, {"Location": f"{call.base_url}/v1/nodes/{ident}/states/console"})


def set_boot_mode(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/states/boot_mode"""
    mode = load(BOOT_MODE, call.arguments(BOOT_MODE.fields, require="target"), "boot_mode")["target"]
    management.set_boot_mode(session, call.node_to_change(session, ident), call.membership(session), mode)
    return _accepted(call, ident)


def set_secure_boot(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/states/secure_boot"""
    enabled = parse_flag("target", call.arguments(SECURE_BOOT.fields, require="target")["target"])
    management.set_secure_boot(session, call.node_to_change(session, ident), call.membership(session), enabled=enabled)
    return _accepted(call, ident)


def _accepted(call: BaremetalCall, ident: str) -> Response:
    return empty_response(202, {"Location": f"{call.base_url}/v1/nodes/{ident}/states"})
