"""The life cycle of a request, the same for every API.

A request goes: request id -> authentication -> what the API checks before routing -> route table -> microversion ->
what it checks before the view (media types, policy) -> the view, inside one transaction -> response. Every exception on
the way becomes that API's error body. The transaction is retried here, and only here, if it lost a race against
another.
"""

import logging
import time
import uuid
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import structlog
from flask import Flask, Request, Response, g, request
from sqlalchemy.orm import Session
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule

from baremetal_sched.db import requester
from baremetal_sched.db.transaction import Database
from baremetal_sched.web import audit, body, metrics
from baremetal_sched.web.api import Api
from baremetal_sched.web.audit import loggable
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import HttpError, PathNotFound
from baremetal_sched.web.route import Methods, Route, by_path, choose, is_public
from baremetal_sched.web.slots import ACCEPTED_AT, REFUSAL

log = structlog.get_logger(__name__)

_HERE = str(Path(__file__).parent)


class _Application(Flask):
    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``func``. None of our functions is a coroutine, which Flask would check at every request."""
        return func


def build(api: Api, database: Database) -> Flask:
    """Return the WSGI application of ``api``, at its own root. Raises ValueError if a route has neither a policy nor is
    public."""
    unguarded = [f"{route.method} {route.path}" for route in api.routes if route.policy is None and not route.public]
    if unguarded:
        raise ValueError(f"routes of the API {api.name} that name no policy and are not public: {', '.join(unguarded)}")
    # With the paths given, Flask need not look for a package of this name.
    app = _Application(api.name, static_folder=None, root_path=_HERE, instance_path=_HERE)
    table = by_path(api.routes)
    app.url_map = _url_map(tuple(table))
    for path, methods in table.items():
        app.view_functions[path] = _dispatcher(api, methods, database)
    app.wsgi_app = _rewriting(api, app.wsgi_app)  # type: ignore[method-assign]
    app.before_request(lambda: _begin(api, table, database.limits.transaction))
    app.after_request(lambda response: _end(api, response))
    app.register_error_handler(Exception, lambda error: _fail(api, error))
    return app


class _Rule(Rule):
    """A rule that no URL is built from. The code for that takes longer to make than the rest of a rule."""

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        def build(*values: object, **more: object) -> tuple[str, str]:
            raise NotImplementedError

        return build


@lru_cache
def _url_map(paths: tuple[str, ...]) -> Map:
    """Return rules whose endpoints are their paths; each takes every method, so that HEAD, OPTIONS and 405 are handled
    here.

    Cached, because creating it takes longer than the rest of an application.
    """
    return Map([_Rule(path, endpoint=path, strict_slashes=True) for path in paths], merge_slashes=False)


def _rewriting(api: Api, wsgi: Callable[..., Any]) -> Callable[..., Any]:
    def rewritten(environ: WSGIEnvironment, start_response: StartResponse) -> Any:
        path = environ["PATH_INFO"]
        if not path.isascii() and any(ord(character) > 255 for character in path):
            # WSGI has bytes as latin-1 here; hosts that pass text are tolerated.
            environ["PATH_INFO"] = path.encode().decode("latin-1")
        api.rewrite_path(environ)
        return wsgi(environ, start_response)

    return rewritten


def _begin(api: Api, table: dict[str, Methods], timeout: float | None) -> Response | None:
    request_id = f"req-{uuid.uuid4()}"
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=request_id)
    # The request itself: Flask's proxy would look it up at every access.
    http: Request = request._get_current_object()  # type: ignore[attr-defined]
    call = g.call = api.new_call(http, request_id)
    call.policy = api.policy
    if timeout is not None:
        call.deadline = http.environ.get(ACCEPTED_AT, time.monotonic()) + timeout
    refusal: HttpError | None = http.environ.get(REFUSAL)
    if refusal is not None:
        raise refusal
    body.check_text(http.path)
    rule = http.url_rule
    # The route table would ignore a duplicate slash.
    if rule is not None and not http.environ["PATH_INFO"].startswith("//"):
        call.methods = table[rule.rule]
    api.authenticate(call, public=is_public(call.methods, http.method))
    if call.caller.user_id is not None:
        structlog.contextvars.bind_contextvars(user_id=call.caller.user_id, project_id=call.caller.project_id)
    return api.before_routing(call)


def _dispatcher(api: Api, methods: Methods, database: Database) -> Callable[..., Response]:
    def dispatch(**parameters: Any) -> Response:
        call: Call = g.call
        if not call.negotiated:
            api.negotiate(call)
        routes = methods.get(call.http.method)
        if routes is None:
            api.refuse_method(call, methods)
        route = call.route = choose(routes, call.version)
        api.before_view(call, route)
        if route.check is not None:
            route.check(call)
        view, deadline = route.view, call.deadline

        def work(reader: Any) -> Response:
            if call.attach is not None and isinstance(reader, Session):
                call.attach(reader)
            return view(call, reader, **parameters)

        match route.transaction:
            case "write":
                return api.run(call, lambda: _write(route, call, database, parameters, deadline))
            case "change":
                return api.run(call, lambda: database.change(work, deadline=deadline))
            case "read":
                return api.run(call, lambda: database.read(work, deadline=deadline))
            case "select":
                return api.run(call, lambda: database.select(work, deadline=deadline))
            case None:
                return view(call, None, **parameters)

    return dispatch


def _write(
    route: Route, call: Call, database: Database, parameters: dict[str, Any], deadline: float | None
) -> Response:
    prepare, view, asked = route.prepare, route.view, audit.requester_of(call)

    def change(session: Session) -> Response:
        requester.attach(session, asked)
        if call.attach is not None:
            call.attach(session)
        return view(call, session, **parameters)

    if prepare is not None:
        database.read(lambda session: prepare(view, call, session, **parameters), deadline=deadline)
    return database.write(change, deadline=deadline)


def _fail(api: Api, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        # Raised by Flask itself; our own code does not use these.
        error = PathNotFound() if error.code == 404 else error
    response = api.failure(g.call, error)
    if response.status_code == 500:
        log.error("request failed", path=loggable(request.path), method=request.method, exc_info=error)
    return response


def _end(api: Api, response: Response) -> Response:
    call: Call = g.call
    api.finish(call, response)
    http, status, seconds = call.http, response.status_code, time.perf_counter() - call.started
    metrics.count_request(api.name, http.method, status, seconds)
    audit.record(api.name, call, response, seconds)
    is_routine = call.route is not None and call.route.is_routine and status < 400
    level = logging.DEBUG if is_routine else logging.INFO
    if log.is_enabled_for(level):
        log.log(
            level,
            "request",
            api=api.name,
            method=http.method,
            path=loggable(http.full_path.rstrip("?")),
            status=status,
            version=call.version,
            milliseconds=round(seconds * 1000, 2),
        )
    return response
