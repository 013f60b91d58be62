"""/v1/lookup, /v1/heartbeat, /v1/continue_inspection: for agents, which run on machines and have no credentials"""

from collections.abc import Callable, Iterable
from typing import Any

import orjson
from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.errors import ResourceNotFound
from baremetal_sched.baremetal.api.nodes.node_view import NODES, NodeView
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.inspection import agents, discovery
from baremetal_sched.baremetal.inspection.agents import Heartbeat
from baremetal_sched.baremetal.inspection.schemas import HEARTBEAT, INSPECTION
from baremetal_sched.baremetal.provisioning import provision
from baremetal_sched.db.models import Node
from baremetal_sched.documents.schema import canonical_mac, load
from baremetal_sched.errors import InvalidValue, NotFoundError
from baremetal_sched.errors.baremetal import AgentsRefused, MachineNotKnown
from baremetal_sched.web.responses import empty_response, json_response

TOKEN_SINCE = 62
CONTINUE_SINCE = 84
#: Fields of heartbeats, with the first microversion (minor) that has each.
HEARTBEAT_FIELDS = {"agent_version": 36, "agent_verify_ca": 68, "agent_status": 72, "agent_status_message": 72}
#: The fields of the node that are shown.
NODE_FIELDS = ("uuid", "properties", "instance_info", "driver_internal_info")


class _TooOld(NotFoundError):
    template = "API version 1.{since} or newer is required"


def look_up(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/lookup"""
    _require_enabled(call)
    query = BaremetalQuery(call, ("addresses", "node_uuid"))
    node_uuid, addresses = query.uuid("node_uuid"), _macs(query.items("addresses") or ())
    if not node_uuid and not addresses:
        raise InvalidValue(message="At least one of 'addresses' and 'node_uuid' parameters is required")
    with agents.logged("the lookup of an agent was refused", node_uuid, addresses):
        node = agents.look_up(session, node_uuid, addresses, call.settings)
    return json_response(_answer(call, session, node))


def beat(call: BaremetalCall, session: Session, ident: str) -> Response:
    """POST /v1/heartbeat/{node}"""
    _require_enabled(call)
    heartbeat = load(HEARTBEAT, call.arguments(HEARTBEAT.fields, require="callback_url"), "heartbeat")
    for name, since in HEARTBEAT_FIELDS.items():
        if call.version < since and heartbeat.get(name) is not None:
            raise InvalidValue(message=f'Field "{name}" not recognised before microversion 1.{since}')
    node = call.locked_node(session, ident)
    with agents.logged("the heartbeat of an agent was refused", node.uuid):
        agents.beat(session, node, Heartbeat(**heartbeat), call.membership(session), call.settings)
    return empty_response(202)


def refuse_beat(call: BaremetalCall, session: Session, ident: str) -> Response:
    """POST /v1/heartbeat, below 1.22"""
    raise ResourceNotFound


def continue_inspection(call: BaremetalCall, session: Session) -> Response:
    """POST /v1/continue_inspection; microversion 1.1, too, for agents that believe that this is ironic-inspector"""
    query, body = BaremetalQuery(call, ("node_uuid",)), _report(call)
    token = None if call.caller.unrestricted else body.pop("agent_token", None)
    inventory, node_uuid = body.pop("inventory"), query.uuid("node_uuid")
    addresses = _macs(interface["mac_address"] for interface in inventory["interfaces"])
    bmc_addresses = [inventory[name] for name in ("bmc_address", "bmc_v6address") if inventory.get(name)]
    if not (node_uuid or addresses or bmc_addresses):
        raise InvalidValue(message="No lookup information provided")
    membership = call.membership(session)
    proceed: Callable[..., None] = provision.resume
    known_by = [*addresses, *bmc_addresses]
    with agents.logged("the inspection report of an agent was refused", node_uuid, known_by):
        try:
            node = agents.find_inspected(session, node_uuid, addresses, bmc_addresses)
            if not call.caller.unrestricted:
                agents.require_token(node, token)
        except MachineNotKnown:
            node = discovery.enrol(session, addresses or bmc_addresses, membership, call.settings)
            proceed = discovery.examine
    agents.note_report(node, call.settings)
    answer: dict[str, Any] = {"uuid": node.uuid}
    if call.version >= CONTINUE_SINCE:
        answer = _answer(call, session, node)
    data = {"inventory": inventory, "plugin_data": body}
    proceed(session, node, membership, data)
    return json_response(answer, 202)


def check_report(call: BaremetalCall) -> None:
    """Raise what ``continue_inspection`` raises for a report that no node could have made.

    Anyone on the network of the agents may send one of many megabytes: it is read before a transaction begins.
    """
    _report(call)


def _report(call: BaremetalCall) -> dict[str, Any]:
    _require_enabled(call)
    query = BaremetalQuery(call, ("node_uuid",))
    if call.version < CONTINUE_SINCE and (call.version > 1 or query.has("node_uuid")):
        raise _TooOld(since=CONTINUE_SINCE)
    return load(INSPECTION, call.body(), "data")


def _require_enabled(call: BaremetalCall) -> None:
    if not call.settings.api.enable_ramdisk_endpoints:
        raise AgentsRefused(path=call.http.path)


def _macs(texts: Iterable[str]) -> list[str]:
    """Return the MAC addresses; machines have interfaces of other kinds too."""
    return [address for address in map(canonical_mac, texts) if address is not None]


def _answer(call: BaremetalCall, session: Session, node: Node) -> dict[str, Any]:
    """The answer to an agent: the node that it runs on."""
    token = None
    if call.version >= TOKEN_SINCE:
        call.membership(session).require(node.conductor_group, node.driver)
        token = agents.give_token(node, call.settings)
        session.flush()
    text = NodeView(NODES, NODE_FIELDS, call.version, call.base_url).fetch_text(session, node.uuid)
    return {"node": orjson.Fragment(text), "config": agents.config(node, token, call.settings)}
