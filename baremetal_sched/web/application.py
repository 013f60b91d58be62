"""The life of a request, the same for every API.

A request goes: request id -> what the API checks before routing -> route table -> what it checks before the view
(microversion, policy) -> the view, inside one transaction -> response. Whatever is raised on the way becomes that API's
error body. The transaction is run again here, and only here, when it lost against another.
"""

import logging
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import structlog
from flask import Flask, Request, Response, g, request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule

from baremetal_sched.db.transaction import Database
from baremetal_sched.web import body, metrics
from baremetal_sched.web.call import Call
from baremetal_sched.web.problems import MethodNotAllowed, PathNotFound

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Route:
    """One line of a route table.

    The view is called as ``view(call, session, **path parameters)``; ``transaction`` "select" means that it selects
    columns only, for which a connection will do, None that it needs no database (its session is None). ``since`` is
    the minor part of the first microversion that has the route.
    """

    method: str
    path: str
    view: Callable[..., Response]
    since: int = 0
    transaction: Literal["read", "select", "write"] | None = "read"


class Api(ABC):
    """What one mirrored API does its own way."""

    name: str
    routes: Iterable[Route]

    @abstractmethod
    def new_call(self, http: Request, request_id: str) -> Call:
        """The request, as the views of this API see it."""

    def rewrite_path(self, environ: dict[str, Any]) -> None:  # noqa: B027 - most have nothing to do here
        """Bring PATH_INFO into the form that the route table has."""

    def before_routing(self, call: Call) -> Response | None:
        """Checks that come before 404 and 405. What they raise or return is the answer."""
        return None

    def before_view(self, call: Call, route: Route) -> None:  # noqa: B027
        """Checks that come after: microversion, media types, policy."""

    def run(self, transaction: Callable[[], Response]) -> Response:
        """Run the transaction of a view."""
        return transaction()

    @abstractmethod
    def failure(self, call: Call, error: Exception) -> Response:
        """``error`` as this API says it."""

    @abstractmethod
    def finish(self, call: Call, response: Response) -> None:
        """Add the headers that every response of this API has."""


class _Application(Flask):
    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """No function of ours is a coroutine. Flask would ask of each at every request."""
        return func


def build(api: Api, database: Database) -> Flask:
    """The WSGI application of ``api``, at its own root."""
    app = _Application(api.name, static_folder=None)
    by_path: dict[str, dict[str, Route]] = {}
    for route in api.routes:
        by_path.setdefault(route.path, {})[route.method] = route
    app.url_map = _url_map(tuple(by_path))
    for path, methods in by_path.items():
        app.view_functions[path] = _dispatcher(api, methods, database)
    app.wsgi_app = _rewriting(api, app.wsgi_app)  # type: ignore[method-assign]
    app.before_request(lambda: _begin(api))
    app.after_request(lambda response: _end(api, response))
    app.register_error_handler(Exception, lambda error: _fail(api, error))
    return app


@lru_cache
def _url_map(paths: tuple[str, ...]) -> Map:
    """Rules whose endpoints are their paths; each takes every method, so that HEAD, OPTIONS and 405 are ours.

    Kept, because it takes longer to make than the rest of an application.
    """
    return Map([Rule(path, endpoint=path, strict_slashes=True) for path in paths], merge_slashes=False)


def _rewriting(api: Api, wsgi: Callable[..., Any]) -> Callable[..., Any]:
    def rewritten(environ: dict[str, Any], start_response: Any) -> Any:
        path = environ["PATH_INFO"]
        if not path.isascii() and any(ord(character) > 255 for character in path):
            # WSGI has bytes as latin-1 here; a host that hands over text all the same is forgiven.
            environ["PATH_INFO"] = path.encode().decode("latin-1")
        api.rewrite_path(environ)
        return wsgi(environ, start_response)

    return rewritten


def _begin(api: Api) -> Response | None:
    request_id = f"req-{uuid.uuid4()}"
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=request_id)
    # The request itself: whoever asks Flask's proxy for anything has it looked up again.
    http: Request = request._get_current_object()  # type: ignore[attr-defined]
    call = g.call = api.new_call(http, request_id)
    body.check_text(http.path)
    return api.before_routing(call)


def _dispatcher(api: Api, methods: dict[str, Route], database: Database) -> Callable[..., Response]:
    def dispatch(**parameters: Any) -> Response:
        call: Call = g.call
        route = methods.get(call.http.method)
        if route is None:
            raise MethodNotAllowed(method=call.http.method, allowed=list(methods))
        api.before_view(call, route)
        view = route.view
        match route.transaction:
            case "write":
                return api.run(lambda: database.write(lambda session: view(call, session, **parameters)))
            case "read":
                return api.run(lambda: database.read(lambda session: view(call, session, **parameters)))
            case "select":
                return api.run(lambda: database.select(lambda connection: view(call, connection, **parameters)))
            case None:
                return view(call, None, **parameters)

    return dispatch


def _fail(api: Api, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        # Raised by Flask itself; our own code does not use these.
        error = PathNotFound() if error.code == 404 else error
    response = api.failure(g.call, error)
    if response.status_code == 500:
        log.error("request failed", path=request.path, method=request.method, exc_info=error)
    return response


def _end(api: Api, response: Response) -> Response:
    call: Call = g.call
    api.finish(call, response)
    http, status, seconds = call.http, response.status_code, time.perf_counter() - call.started
    metrics.count_request(api.name, http.method, status, seconds)
    if log.is_enabled_for(logging.INFO):
        log.info(
            "request",
            api=api.name,
            method=http.method,
            path=http.full_path.rstrip("?"),
            status=status,
            version=call.version,
            milliseconds=round(seconds * 1000, 2),
        )
    return response
