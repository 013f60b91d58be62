"""The listener at which a request arrived, and the name that led there. Without authentication only loopback is served,
unless the settings allow more, and only under names that lead there."""

from collections.abc import Collection, Iterable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog

from baremetal_sched.web.forwarding import without_port
from baremetal_sched.web.http_errors import RefusedRequest
from baremetal_sched.web.slots import REFUSAL

log = structlog.get_logger(__name__)

REMEDY = (
    "Callers are not authenticated ([api] auth_strategy = none), so only listeners on loopback are served. Set "
    "[api] auth_strategy, or, if only those who may do everything can reach this address, [api] insecure = true."
)

_FOREIGN_NAME = (
    "Callers are not authenticated ([api] auth_strategy = none), so on loopback the header Host must be an address, "
    "localhost, or a name in [api] allowed_hosts. Use an address such as http://127.0.0.1:6385, or, if a proxy on this "
    "machine passes the name on, add it to [api] allowed_hosts."
)


@lru_cache(maxsize=128)
def is_loopback(host: str) -> bool:
    """Return whether ``host``, a name or an address, can be reached only from this machine."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost"
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


def arrived_on_loopback(environ: WSGIEnvironment) -> bool:
    """Return whether the request arrived at a loopback address, or on a Unix socket, which has no port."""
    return not environ.get("SERVER_PORT") or is_loopback(environ["SERVER_NAME"])


def on_loopback_only(wsgi: WSGIApplication) -> WSGIApplication:
    """Return ``wsgi`` restricted to listeners on loopback and Unix sockets; others answer 403.

    The listener counts, not what the client says: behind a proxy on this machine everything is loopback.
    """
    warned: set[str] = set()

    def checked(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if not arrived_on_loopback(environ):
            name: str = environ["SERVER_NAME"]
            if name not in warned:
                warned.add(name)
                log.error("requests are refused", listener=name, reason=REMEDY)
            environ.setdefault(REFUSAL, RefusedRequest(403, REMEDY))
        return wsgi(environ, start_response)

    return checked


def for_known_hosts(wsgi: WSGIApplication, allowed: Collection[str]) -> WSGIApplication:
    """Return ``wsgi`` with a check of requests that arrive at a loopback address: 403 if their Host is a name other
    than ``localhost`` and those ``allowed``.

    The owner of a name may let it lead to 127.0.0.1. To a browser, pages of that name are then pages of this service:
    neither CORS nor the origin of a request tells them apart. Host must be valid; headers of proxies do not count,
    because these pages can send them. Names cannot lead to a Unix socket.
    """
    names = {"", "localhost", *map(_canonical, allowed)}

    def checked(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("SERVER_PORT") and is_loopback(environ["SERVER_NAME"]):
            host = without_port(environ.get("HTTP_HOST", ""))
            if _canonical(host) not in names and not _is_address(host):
                environ.setdefault(REFUSAL, RefusedRequest(403, _FOREIGN_NAME))
        return wsgi(environ, start_response)

    return checked


def _canonical(name: str) -> str:
    return name.lower().removesuffix(".")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
