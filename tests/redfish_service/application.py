"""The controller as a WSGI application."""

import socket
import threading
import time
from typing import Any

from flask import Flask, Response, g, request

from tests.redfish_service import resources, updating
from tests.redfish_service.controller import Controller
from tests.redfish_service.faults import Fault
from tests.redfish_service.resources import refuse

_OPEN = {("GET", "/redfish"), ("GET", "/redfish/v1/"), ("GET", "/redfish/v1"), ("POST", resources.SESSIONS)}


def make_application(controller: Controller, ended: threading.Event) -> Flask:
    """Serve ``controller``. Answers that hang end with ``ended``."""
    application = Flask("redfish")
    application.json.sort_keys = False  # type: ignore[attr-defined]
    resources.add(application, controller)
    updating.add(application, controller)

    def before() -> Response | tuple[Any, int] | None:
        with controller.lock:
            controller.note(request.method, request.path, request.get_json(silent=True))
            controller.go_on()
            fault = next((each for each in controller.faults if each.takes(request.method, request.path)), None)
            is_away = controller.updates.is_away
        if is_away:
            return _drop()
        g.fault = fault
        failed = None if fault is None else _fail(fault, ended)
        if failed is not None:
            return failed
        return None if _is_let_in(controller) else refuse(401, "The credentials are wrong.", "Base.1.8.AccessDenied")

    application.before_request(before)
    application.after_request(lambda response: _after(response, g.get("fault"), ended))
    application.register_error_handler(404, lambda error: refuse(404, "There is no such resource."))
    application.register_error_handler(405, lambda error: refuse(405, "The resource does not do that."))
    return application


def _fail(fault: Fault, ended: threading.Event) -> Response | tuple[Any, int] | None:
    if fault.hangs:
        ended.wait(60)
        return _drop()
    if fault.drops:
        return _drop()
    time.sleep(fault.seconds)
    if fault.body is not None:
        return Response(fault.body, fault.status, mimetype="application/json")
    return refuse(fault.status, "The controller is out of order.") if fault.status >= 400 else None


def _after(response: Response, fault: Fault | None, ended: threading.Event) -> Response:
    if fault is not None and fault.late:
        ended.wait(fault.late)
    if fault is not None and fault.retry_after is not None:
        response.headers["Retry-After"] = fault.retry_after
    return _drop() if fault is not None and fault.loses else response


def _drop() -> Response:
    """Close the connection; later data reaches no client."""
    connection: socket.socket | None = request.environ.get("werkzeug.socket")
    if connection is not None:
        connection.shutdown(socket.SHUT_RDWR)
    return Response(b"", 503)


def _is_let_in(controller: Controller) -> bool:
    if (request.method, request.path) in _OPEN:
        return True
    token, given = request.headers.get("X-Auth-Token"), request.authorization
    with controller.lock:
        if token is not None:
            return controller.sessions.use(token)
        known = (controller.username, controller.password)
        return given is not None and (given.username, given.password) == known
