"""The composition root: wiring, and nothing else."""

import gc
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from flask import Flask
from oslo_middleware import cors
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.middleware.proxy_fix import ProxyFix

from baremetal_sched import settings as settings_module
from baremetal_sched.baremetal.api.edge import BaremetalApi
from baremetal_sched.baremetal.metrics import figures
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement.api.edge import PlacementApi
from baremetal_sched.settings import Settings
from baremetal_sched.web.application import build
from baremetal_sched.web.health import RootApi

WSGI = Callable[[dict[str, Any], Any], Iterable[bytes]]


def create_app(settings: Settings | Mapping[str, Mapping[str, Any]] | None = None) -> Flask:
    """The WSGI application: every API below its mount, health and metrics at the root.

    ``settings`` may be a plain dictionary ``{group: {option: value}}`` (on top of files and environment), or None for
    just those. Nothing connects to the database before the first request, so a server may fork after this.
    The database is ``app.extensions["database"]`` (call its ``dispose()`` when done), the settings are beside it.
    """
    if not isinstance(settings, Settings):
        settings = settings_module.load(overrides=settings)
    database = Database(settings)
    app = build(RootApi(settings, database, partial(figures, settings=settings)), database)
    mounts = {
        "/baremetal": _rooted(build(BaremetalApi(settings), database)),
        "/placement": _rooted(build(PlacementApi(settings), database)),
    }
    app.wsgi_app = with_middleware(DispatcherMiddleware(app.wsgi_app, mounts), settings)  # type: ignore[method-assign, assignment]
    app.extensions["database"] = database
    app.extensions["settings"] = settings
    return app


def settle() -> None:
    """Call when everything is imported: what is there now stays, so the garbage collector need not look at it again.
    And it looks less often: a list of thousands of nodes is garbage only once it is sent."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def with_middleware(wsgi: WSGI, settings: Settings) -> WSGI:
    """``wsgi`` behind what the settings ask for: CORS, and belief in a proxy's headers."""
    if settings.cors.allowed_origin:
        wsgi = cors.CORS(wsgi, settings)
    if settings.oslo_middleware.enable_proxy_headers_parsing:
        wsgi = ProxyFix(wsgi, x_for=1, x_proto=1, x_host=1, x_prefix=1)
    return wsgi


def _rooted(app: Flask) -> WSGI:
    """``/baremetal`` without a slash is the root of that API too."""

    def wsgi(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ["PATH_INFO"] = environ.get("PATH_INFO") or "/"
        return app(environ, start_response)

    return wsgi
