"""The life cycle of a request, the same for every API.

A request goes: request id -> authentication -> what the API checks before routing -> route table -> microversion ->
what it checks before the view (media types, policy) -> the view, inside one transaction -> response. Every exception on
the way becomes that API's error body. The transaction is retried here, and only here, if it lost a race against
another.
"""

import logging
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from flask import Request, Response
from sqlalchemy import Connection
from sqlalchemy.orm import Session
from werkzeug.exceptions import NotFound
from werkzeug.routing import Map, Rule

from baremetal_sched.db import requester
from baremetal_sched.db.transaction import Database
from baremetal_sched.web import audit, body, metrics
from baremetal_sched.web.api import Api
from baremetal_sched.web.audit import loggable
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import HttpError, PathNotFound
from baremetal_sched.web.route import Route, by_path, choose, is_public
from baremetal_sched.web.slots import ACCEPTED_AT, REFUSAL

log = structlog.get_logger(__name__)


class _Application:
    """The WSGI application of one API. Its steps are those of this module instead of Flask's, whose contexts, hooks,
    signals and sessions take as long as a SELECT and are used by nothing here."""

    def __init__(self, api: Api, database: Database) -> None:
        self._api = api
        self._database = database
        self._table = by_path(api.routes)
        # No route redirects, so the host does not matter.
        self._paths = _url_map(tuple(self._table)).bind("localhost")

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if not path.isascii() and any(ord(character) > 255 for character in path):
            # WSGI has bytes as latin-1 here; hosts that pass text are tolerated.
            environ["PATH_INFO"] = path.encode().decode("latin-1")
        self._api.rewrite_path(environ)
        call = self._api.new_call(Request(environ), f"req-{uuid.uuid4()}")
        try:
            response = self._answer(call)
        except Exception as error:
            response = _fail(self._api, call, error)
        _end(self._api, call, response)
        if response.status_code == 200 and call.http.method != "HEAD" and isinstance(response.response, list):
            # As it is: Werkzeug looks for what it would have to change in others, in a copy of the headers.
            start_response(response.status, response.headers.to_wsgi_list())
            return response.response
        return response(environ, start_response)

    def _answer(self, call: Call) -> Response:
        api, http = self._api, call.http
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=call.request_id)
        call.policy = api.policy
        with suppress(NotFound):
            http.url_rule, parameters = self._paths.match(http.path, http.method, return_rule=True)
            http.view_args = dict(parameters)
        timeout = self._database.limits.transaction
        if timeout is not None:
            call.deadline = http.environ.get(ACCEPTED_AT, time.monotonic()) + timeout
        refusal: HttpError | None = http.environ.get(REFUSAL)
        if refusal is not None:
            raise refusal
        body.check_text(http.path)
        # The route table would ignore a duplicate slash.
        if http.url_rule is not None and not http.environ["PATH_INFO"].startswith("//"):
            call.methods = self._table[http.url_rule.rule]
        api.authenticate(call, public=is_public(call.methods, http.method))
        if call.caller.user_id is not None:
            structlog.contextvars.bind_contextvars(user_id=call.caller.user_id, project_id=call.caller.project_id)
        return api.before_routing(call) or self._dispatch(call)

    def _dispatch(self, call: Call) -> Response:
        api, rule, parameters = self._api, call.http.url_rule, call.http.view_args
        if rule is None or parameters is None:
            raise PathNotFound
        if not call.negotiated:
            api.negotiate(call)
        methods = self._table[rule.rule]
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
                return api.run(call, lambda: _write(route, call, self._database, parameters, deadline))
            case "change":
                return api.run(call, lambda: _change(call, self._database, work, deadline))
            case "read":
                return api.run(call, lambda: self._database.read(work, deadline=deadline))
            case "select":
                return api.run(call, lambda: self._database.select(work, deadline=deadline))
            case None:
                return view(call, None, **parameters)


def build(api: Api, database: Database) -> WSGIApplication:
    """Return the WSGI application of ``api``, at its own root. Raises ValueError if a route has neither a policy nor is
    public."""
    unguarded = [f"{route.method} {route.path}" for route in api.routes if route.policy is None and not route.public]
    if unguarded:
        raise ValueError(f"routes of the API {api.name} that name no policy and are not public: {', '.join(unguarded)}")
    return _Application(api, database)


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


def _change(call: Call, database: Database, work: Callable[[Connection], Response], deadline: float | None) -> Response:
    asked = call.requested_by

    def change(connection: Connection) -> Response:
        requester.attach(connection, asked)
        return work(connection)

    return database.change(change, deadline=deadline)


def _write(
    route: Route, call: Call, database: Database, parameters: dict[str, Any], deadline: float | None
) -> Response:
    prepare, view, asked = route.prepare, route.view, call.requested_by

    def change(session: Session) -> Response:
        requester.attach(session, asked)
        if call.attach is not None:
            call.attach(session)
        return view(call, session, **parameters)

    if prepare is not None:
        database.read(lambda session: prepare(view, call, session, **parameters), deadline=deadline)
    return database.write(change, deadline=deadline)


def _fail(api: Api, call: Call, error: Exception) -> Response:
    response = api.failure(call, error)
    if response.status_code == 500:
        log.error("request failed", path=loggable(call.http.path), method=call.http.method, exc_info=error)
    return response


def _end(api: Api, call: Call, response: Response) -> None:
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
