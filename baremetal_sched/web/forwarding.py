"""Where a request was sent, the headers of a trusted proxy, and requests that a browser sends for another site."""

import re
from collections.abc import Callable, Collection, Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug.http import parse_list_header
from werkzeug.middleware.proxy_fix import ProxyFix

from baremetal_sched.web.http_errors import RefusedRequest
from baremetal_sched.web.slots import REFUSAL

#: A name (with underscores, as upstreams of proxies have them), an IPv4 address or an IPv6 address, and a port.
#: Between its dots, a name has from 1 to 63 characters: Werkzeug cannot encode others.
_NAME = r"(?=[^:]{1,255}(:|$))[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?"
_HOST = re.compile(rf"({_NAME}|\[[0-9A-Fa-f:.]{{2,45}}])(:(?P<port>[0-9]{{1,5}}))?")
_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+;=:@%-]+)*/?")
#: Prefixes of headers that proxies add to forwarded requests.
_OF_PROXIES = ("HTTP_FORWARDED", "HTTP_X_FORWARDED_", "HTTP_X_REAL_IP", "HTTP_VIA")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def is_host(text: str) -> bool:
    """Return whether ``text`` is a host, or a host and a port."""
    match = _HOST.fullmatch(text)
    return match is not None and (match["port"] is None or 0 < int(match["port"]) < 65536)


#: Headers that ``ProxyFix`` does not check: key in the environment, name, expected value.
_FORWARDED: tuple[tuple[str, str, str, Callable[[str], bool]], ...] = (
    ("HTTP_X_FORWARDED_PROTO", "X-Forwarded-Proto", "http or https", lambda value: value in ("http", "https")),
    ("HTTP_X_FORWARDED_HOST", "X-Forwarded-Host", "a host, or a host and a port", is_host),
    ("HTTP_X_FORWARDED_PREFIX", "X-Forwarded-Prefix", "a path", lambda value: _PATH.fullmatch(value) is not None),
)


def host_of(environ: WSGIEnvironment) -> str:
    """Return the Host of the request for links: without a default port; empty if the request has none."""
    host: str = environ.get("HTTP_HOST", "")
    return host.removesuffix(_DEFAULT_PORTS.get(environ["wsgi.url_scheme"], ""))


def without_port(host: str) -> str:
    """Return the name or address in ``host``, which must satisfy ``is_host``."""
    return host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]


def was_passed_on(environ: WSGIEnvironment) -> bool:
    """Return whether a header shows that a proxy forwarded the request."""
    return any(key.startswith(_OF_PROXIES) for key in environ)


def is_from_this_machine(environ: WSGIEnvironment) -> bool:
    """Return whether the request came from a loopback address without a proxy."""
    if was_passed_on(environ):
        return False
    try:
        address = ip_address(environ.get("REMOTE_ADDR", ""))
    except ValueError:
        return False  # a Unix socket, as proxies use
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def with_checked_host(wsgi: WSGIApplication) -> WSGIApplication:
    """Return ``wsgi`` with a check of Host: 400 if it is not valid."""

    def checked(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        host = environ.get("HTTP_HOST")
        if host and not is_host(host):
            environ[REFUSAL] = RefusedRequest(400, "The header Host must be a host, or a host and a port.")
            del environ["HTTP_HOST"]
        return wsgi(environ, start_response)

    return checked


def behind_proxy(wsgi: WSGIApplication) -> WSGIApplication:
    """Return ``wsgi`` with the last value of each X-Forwarded header applied; 400 if it is not valid."""
    followed = ProxyFix(wsgi, x_for=1, x_proto=1, x_host=1, x_prefix=1)

    def checked(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        for key, name, expected, is_valid in _FORWARDED:
            values = parse_list_header(environ.get(key, ""))
            if values and values[-1] and not is_valid(values[-1]):
                environ[REFUSAL] = RefusedRequest(
                    400, f"The header {name} must be {expected}; check the configuration of the proxy."
                )
                del environ[key]
        if "HTTP_X_FORWARDED_PREFIX" in environ:
            environ["HTTP_X_FORWARDED_PREFIX"] = environ["HTTP_X_FORWARDED_PREFIX"].rstrip("/ ")
        return followed(environ, start_response)

    return checked


#: Methods that change nothing.
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": "80", "https": "443"}

_REMEDY = (
    "Pages of other sites may not change anything here, and the headers Origin and Sec-Fetch-Site of this request do "
    "not say that it comes from this site. To allow the pages of an origin, name it in [cors] allowed_origin."
)


def refusing_cross_site(wsgi: WSGIApplication, allowed: Collection[str]) -> WSGIApplication:
    """Return ``wsgi`` with a check of all requests that may change something: 403 if a page sent them whose origin is
    neither this site nor among ``allowed``."""
    origins = frozenset(allowed)

    def checked(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] not in _SAFE and not _may_write(environ, origins):
            environ.setdefault(REFUSAL, RefusedRequest(403, _REMEDY))
        return wsgi(environ, start_response)

    return checked


def is_from_here(environ: WSGIEnvironment) -> bool:
    """Return whether a page of this very site sent the request, or no page at all."""
    return _may_write(environ, frozenset())


def _may_write(environ: WSGIEnvironment, allowed: frozenset[str]) -> bool:
    origin: str | None = environ.get("HTTP_ORIGIN")
    site: str | None = environ.get("HTTP_SEC_FETCH_SITE")
    if origin is not None and _is_allowed(origin, allowed):
        return True
    if site is not None:
        return site in ("same-origin", "none")
    return origin is None or _is_here(origin, environ.get("HTTP_HOST", ""))


def _is_allowed(origin: str, allowed: frozenset[str]) -> bool:
    """Return whether the settings allow this origin. ``null`` is any page, for example one in a frame: ``*`` is not
    it."""
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
