"""/v1/nodes/{node}/vendor_passthru and /v1/drivers/{driver}/vendor_passthru"""

from collections.abc import Mapping
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched import masking
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.conductors.drivers import facts_of
from baremetal_sched.baremetal.api.resources.driver_views import ask
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.conductors import driver_calls
from baremetal_sched.baremetal.hardware import vendor_passthru
from baremetal_sched.db.documents import require_depth
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.responses import empty_response, json_response


def list_methods(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/vendor_passthru/methods"""
    call.refuse_query()
    return json_response({name: _render(each) for name, each in ask(call, session, ident, "vendor.methods").items()})


def _render(method: Mapping[str, Any]) -> dict[str, Any]:
    facts = dict(method)
    asynchronous = facts.pop("asynchronous")
    return {**facts, "async": asynchronous, "attach": False}


def call_method(call: BaremetalCall, session: Session, ident: str, method: str | None = None) -> Response:
    """ANY /v1/nodes/{node}/vendor_passthru/{method}, ANY /v1/nodes/{node}/vendor_passthru?method={method}"""
    name = _name(call, method)
    arguments = _arguments(call, name)
    node = call.locked_node(session, ident)
    vendor_passthru.call(session, node, name, call.http.method, arguments, call.membership(session), _answered)
    return empty_response(202)


def _name(call: BaremetalCall, in_path: str | None) -> str:
    """The method's name, which the path or else the query string has."""
    if in_path is not None:
        call.refuse_query()
        return in_path
    name = BaremetalQuery(call, ("method",)).text("method")
    if not name:
        raise InvalidValue(message="Missing mandatory parameter: method")
    return name


def _arguments(call: BaremetalCall, name: str) -> dict[str, Any]:
    arguments = call.body()
    if not isinstance(arguments, dict):
        raise InvalidValue(message=f"Expected an object as the arguments of method {name}")
    return arguments


def _answered(value: Any) -> Response:
    require_depth(value)
    return empty_response(200) if value is None else json_response(masking.mask(value))


def list_driver_methods(call: BaremetalCall, session: Session, name: str) -> Response:
    """GET /v1/drivers/{name}/vendor_passthru/methods"""
    call.refuse_query()
    return json_response({each: _render(facts) for each, facts in _driver_methods(call, session, name).items()})


def _driver_methods(call: BaremetalCall, session: Session, driver: str) -> Mapping[str, Mapping[str, Any]]:
    known = facts_of(call, session, driver)
    return known.facts["vendor_methods"] if known else {}


def call_driver_method(call: BaremetalCall, session: Session, name: str, method: str | None = None) -> Response:
    """ANY /v1/drivers/{name}/vendor_passthru/{method}, ANY /v1/drivers/{name}/vendor_passthru?method={method}"""
    called = _name(call, method)
    facts = _driver_methods(call, session, name).get(called)
    if facts is None:
        raise InvalidValue(message=f"No handler for method {called}")
    if call.http.method not in facts["http_methods"]:
        raise InvalidValue(message=f"The method {called} does not support HTTP {call.http.method}")
    arguments = {"method": called, "arguments": _arguments(call, called)}
    then = None if facts["asynchronous"] else _answered
    timeout = call.settings.conductor.answer_timeout
    driver_calls.order_of_type(session, name, call.membership(session), "vendor.call_driver", arguments, then, timeout)
    return empty_response(202)
