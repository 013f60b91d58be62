"""/v1/nodes/{node}/vendor_passthru, and the same of drivers"""

from collections.abc import Mapping
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched import masking
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.conductors.drivers import require_driver
from baremetal_sched.baremetal.api.nodes.nodes import canonical_or_lookup, node_with_conductor
from baremetal_sched.baremetal.api.resources.query import Query
from baremetal_sched.baremetal.conductors import driver_calls, driver_facts
from baremetal_sched.baremetal.hardware import vendor_passthru
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.documents import require_depth
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.responses import empty_response, json_response


def list_methods(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/vendor_passthru/methods"""
    call.refuse_query()
    methods = vendor_passthru.methods(session, node_with_conductor(call, session, ident), call.membership(session))
    return json_response({name: _render(method) for name, method in methods.items()})


def _render(method: Mapping[str, Any]) -> dict[str, Any]:
    facts = dict(method)
    asynchronous = facts.pop("asynchronous")
    return {**facts, "async": asynchronous, "attach": False}


def call_named_method(call: BaremetalCall, session: Session, ident: str) -> Response:
    """ANY /v1/nodes/{node}/vendor_passthru?method={method}"""
    method = Query(call, ("method",)).text("method")
    if not method:
        raise InvalidValue(message="Missing mandatory parameter: method")
    return _call(call, session, ident, method)


def call_method(call: BaremetalCall, session: Session, ident: str, method: str) -> Response:
    """ANY /v1/nodes/{node}/vendor_passthru/{method}"""
    call.refuse_query()
    return _call(call, session, ident, method)


def _call(call: BaremetalCall, session: Session, ident: str, method: str) -> Response:
    arguments = call.body()
    if not isinstance(arguments, dict):
        raise InvalidValue(message=f"Expected an object as the arguments of method {method}")
    node = nodes.find_for_change(session, canonical_or_lookup(call, session, ident))
    vendor_passthru.call(session, node, method, call.http.method, arguments, call.membership(session), _answered)
    return empty_response(202)


def _answered(value: Any) -> Response:
    require_depth(value)
    return empty_response(200) if value is None else json_response(masking.mask(value))


def list_driver_methods(call: BaremetalCall, session: Session, name: str) -> Response:
    """GET /v1/drivers/{name}/vendor_passthru/methods"""
    call.refuse_query()
    require_driver(call, session, name)
    known = driver_facts.find(session, name, call.settings.conductor.heartbeat_timeout)
    methods = known.facts["vendor_methods"] if known else {}
    return json_response({each: _render(facts) for each, facts in methods.items()})


def call_driver_method(call: BaremetalCall, session: Session, name: str, method: str) -> Response:
    """ANY /v1/drivers/{name}/vendor_passthru/{method}"""
    call.refuse_query()
    return _call_driver(call, session, name, method)


def call_named_driver_method(call: BaremetalCall, session: Session, name: str) -> Response:
    """ANY /v1/drivers/{name}/vendor_passthru?method={method}"""
    method = Query(call, ("method",)).text("method")
    if not method:
        raise InvalidValue(message="Missing mandatory parameter: method")
    return _call_driver(call, session, name, method)


def _call_driver(call: BaremetalCall, session: Session, name: str, method: str) -> Response:
    require_driver(call, session, name)
    known = driver_facts.find(session, name, call.settings.conductor.heartbeat_timeout)
    facts = known.facts["vendor_methods"].get(method) if known else None
    if facts is None:
        raise InvalidValue(message=f"No handler for method {method}")
    if call.http.method not in facts["http_methods"]:
        raise InvalidValue(message=f"The method {method} does not support HTTP {call.http.method}")
    arguments = call.body()
    if not isinstance(arguments, dict):
        raise InvalidValue(message=f"Expected an object as the arguments of method {method}")
    asked = {"method": method, "arguments": arguments}
    then = None if facts["asynchronous"] else _answered
    timeout = call.settings.conductor.answer_timeout
    driver_calls.order_of_type(session, name, call.membership(session), "vendor.call_driver", asked, then, timeout)
    return empty_response(202)
