"""Requests that a browser sends for the page of another site: those that would change something are refused.

A browser that can reach the service, or that is logged in to it, sends what any page asks it to; it only hides the
answers. It says where a request comes from in Sec-Fetch-Site and Origin, which pages cannot set, and which clients that
are no browsers do not send.
"""

from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import urlsplit

from baremetal_sched.web.environ import REFUSAL
from baremetal_sched.web.forwarding import WSGI, is_host
from baremetal_sched.web.http_errors import RefusedRequest

#: Methods that change nothing.
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": "80", "https": "443"}

_REMEDY = (
    "Pages of other sites may not change anything here, and the headers Origin and Sec-Fetch-Site of this request do "
    "not say that it comes from this site. To allow the pages of an origin, name it in [cors] allowed_origin."
)


def refusing_cross_site(wsgi: WSGI, allowed: Collection[str]) -> WSGI:
    """Return ``wsgi`` with a check of all requests that may change something: 403 if a page sent them whose origin is
    neither this site nor among ``allowed``."""
    origins = frozenset(allowed)

    def checked(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] not in _SAFE and not _may_write(environ, origins):
            environ.setdefault(REFUSAL, RefusedRequest(403, _REMEDY))
        return wsgi(environ, start_response)

    return checked


def _may_write(environ: dict[str, Any], allowed: frozenset[str]) -> bool:
    origin: str | None = environ.get("HTTP_ORIGIN")
    site: str | None = environ.get("HTTP_SEC_FETCH_SITE")
    if origin is not None and _is_allowed(origin, allowed):
        return True
    if site is not None:
        return site in ("same-origin", "none")
    return origin is None or _is_here(origin, environ.get("HTTP_HOST", ""))


def _is_allowed(origin: str, allowed: frozenset[str]) -> bool:
    """Return whether the settings allow this origin. ``null`` is any page, such as one in a frame: ``*`` is not it."""
    return origin in allowed or ("*" in allowed and origin != "null")


def _is_here(origin: str, host: str) -> bool:
    """Return whether ``origin`` has the same host and port as ``host``. The scheme does not count, as that of a proxy
    need not be known."""
    scheme, separator, place = origin.partition("://")
    if not separator or scheme not in _PORTS or not is_host(place):
        return False
    return _with_port(place, scheme) == _with_port(host, scheme)


def _with_port(host: str, scheme: str) -> tuple[str | None, str]:
    parts = urlsplit(f"//{host}")
    return parts.hostname, str(parts.port or _PORTS[scheme])
