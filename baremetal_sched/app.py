"""The composition root: wiring, and nothing else."""

import gc
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from werkzeug.middleware.dispatcher import DispatcherMiddleware

import baremetal_sched.compute.hosts.node_changes  # noqa: F401 - it follows nodes
from baremetal_sched import auth_settings, start_warnings
from baremetal_sched import settings as settings_module
from baremetal_sched.allowed_hosts import allowed_hosts
from baremetal_sched.baremetal.api.edge import BaremetalApi
from baremetal_sched.baremetal.api.waiting import WaitingApi
from baremetal_sched.baremetal.conductors.driver_client import DriverClient
from baremetal_sched.baremetal.fleet import figures
from baremetal_sched.compute.api.edge import ComputeApi
from baremetal_sched.db import limits
from baremetal_sched.db.transaction import Database
from baremetal_sched.image.api.edge import ImageApi
from baremetal_sched.options.service import CORS as CORS_OPTIONS
from baremetal_sched.placement.api.edge import PlacementApi
from baremetal_sched.scheduling import handover
from baremetal_sched.scheduling.api.edge import SchedulingApi
from baremetal_sched.scheduling.decisions import Decisions
from baremetal_sched.scheduling.metrics import CapacityMetrics, of_bookings, of_ends, of_events, of_webhooks
from baremetal_sched.scheduling.webhooks.webhooks import hosts_of
from baremetal_sched.settings import Settings
from baremetal_sched.ui.api import UiApi
from baremetal_sched.web import authentication, metrics, slots
from baremetal_sched.web.api import Api
from baremetal_sched.web.application import build
from baremetal_sched.web.forwarding import behind_proxy, refusing_cross_site, with_checked_host
from baremetal_sched.web.health import RootApi
from baremetal_sched.web.listener import for_known_hosts, on_loopback_only
from baremetal_sched.web.route import largest_body
from baremetal_sched.web.slots import with_slots

log = structlog.get_logger(__name__)

#: Every API; each is served below its name.
APIS: tuple[type[Api], ...] = (BaremetalApi, PlacementApi, ComputeApi, SchedulingApi, ImageApi)


@dataclass
class Application:
    """The WSGI application, and its parts. ``largest_body``: the bytes of the largest body that any route accepts."""

    wsgi: WSGIApplication
    settings: Settings
    database: Database
    drivers: DriverClient
    decisions: Decisions
    largest_body: int

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return self.wsgi(environ, start_response)


def create_app(settings: Settings | Mapping[str, Mapping[str, Any]] | None = None) -> Application:
    """Return the WSGI application: every API below its mount, pages below ``/ui``, health and metrics at the root.

    ``settings`` may be a plain dictionary ``{group: {option: value}}``, which overrides files and environment; None
    uses only these. Nothing connects to the database before the first request, so a server may fork after this. Call
    ``dispose()`` of its ``database`` when done. Raises InvalidValue for a list of hosts with an entry that names none.
    """
    if not isinstance(settings, Settings):
        settings = settings_module.load(overrides=settings)
    if settings.api.auth_strategy == "noauth2":
        log.warning("NO AUTHENTICATION: with noauth2 callers are trusted to be who they claim; for tests only")
    if auth_settings.is_open(settings) and settings.api.insecure:
        log.warning("NO AUTHENTICATION: everyone who can reach the service can do everything ([api] insecure)")
    allowed_hosts(settings)
    hosts_of(settings, "https")
    start_warnings.warn(settings)
    database = Database(settings, limits.for_requests(settings))
    handover.install(database, settings)
    strategy = authentication.make(settings)
    apis = [api(settings, strategy) for api in APIS]
    drivers = DriverClient(database, settings, slots)
    decisions = Decisions(database, settings.scheduling.most_polls, slots)
    for api in apis:
        if isinstance(api, WaitingApi):
            api.drivers, api.database = drivers, database
        if isinstance(api, SchedulingApi):
            api.decisions, api.database = decisions, database
            api.apis = {each.name: each for each in apis}
    pages = UiApi(settings, strategy, database)
    served = [api.name for api in (*apis, pages) if api is not pages or pages.is_served]
    capacity = CapacityMetrics(settings)
    own = (of_events, of_webhooks, of_ends, of_bookings)
    measured = metrics.together(partial(figures, settings=settings), capacity.figures, *own)
    root = RootApi(settings, strategy, database, measured, served)
    start_warnings.warn_of_roles(strategy.roles, settings, (rule for api in (*apis, root) for rule in api.rules))
    mounts = {f"/{api.name}": _rooted(build(api, database)) for api in apis}
    pages.apis = mounts
    mounts = {**mounts, f"/{pages.name}": _rooted(build(pages, database))}
    at_work = with_slots(DispatcherMiddleware(build(root, database), mounts), settings)
    largest = max(settings.api.max_json_body_size, *(largest_body(api.routes) for api in apis))
    return Application(with_middleware(at_work, settings), settings, database, drivers, decisions, largest)


def settle() -> None:
    """Freeze the objects of the start-up out of the garbage collector, and raise its thresholds. Call after all
    imports.

    Collections are rarer then: a list of thousands of nodes becomes garbage only once it is sent.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 10)


def with_middleware(wsgi: WSGIApplication, settings: Settings) -> WSGIApplication:
    """Wrap ``wsgi`` in the middleware that the settings ask for: CORS, and trust in a proxy's headers. The Host header
    and the origin of writes are always checked; without authentication the listener and the name are, too."""
    # Within the proxy's headers, as its Host counts, and within CORS, so that pages that may read see the refusal.
    wsgi = refusing_cross_site(wsgi, settings.cors.allowed_origin or ())
    if settings.cors.allowed_origin:
        wsgi = _with_cors(wsgi, settings)
    if settings.oslo_middleware.enable_proxy_headers_parsing:
        wsgi = behind_proxy(wsgi)
    if auth_settings.is_open(settings):
        wsgi = for_known_hosts(wsgi, settings.api.allowed_hosts)
    wsgi = with_checked_host(wsgi)
    if auth_settings.is_open(settings) and not settings.api.insecure:
        wsgi = on_loopback_only(wsgi)
    return wsgi


def _with_cors(wsgi: WSGIApplication, settings: Settings) -> WSGIApplication:
    from oslo_config.cfg import ConfigOpts
    from oslo_middleware.cors import CORS  # imports WebOb and much more, which only CORS needs

    middleware = CORS(wsgi, ConfigOpts())
    middleware.add_origin(**{option.dest: settings.cors[option.dest] for option in CORS_OPTIONS})
    pages = f"/{UiApi.name}/"

    def for_apis(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        # No other origin may read pages, whose forms have the tokens of sessions.
        is_page = f"{environ['PATH_INFO']}/".startswith(pages)
        return (wsgi if is_page else middleware)(environ, start_response)

    return for_apis


def _rooted(app: WSGIApplication) -> WSGIApplication:
    """Serve ``/baremetal``, without a slash, as the root of that API, too."""

    def wsgi(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ["PATH_INFO"] = environ.get("PATH_INFO") or "/"
        return app(environ, start_response)

    return wsgi
