"""The listener at which a request arrived. Without authentication only loopback is served, unless the settings allow
more."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Any

import structlog

from baremetal_sched.web.environ import REFUSAL
from baremetal_sched.web.forwarding import WSGI
from baremetal_sched.web.http_errors import RefusedRequest

log = structlog.get_logger(__name__)

REMEDY = (
    "Callers are not authenticated ([api] auth_strategy = none), so only listeners on loopback are served. Set "
    "[api] auth_strategy, or, if only those who may do everything can reach this address, [api] insecure = true."
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


def arrived_on_loopback(environ: dict[str, Any]) -> bool:
    """Return whether the request arrived at a loopback address, or on a Unix socket, which has no port."""
    return not environ.get("SERVER_PORT") or is_loopback(environ["SERVER_NAME"])


def on_loopback_only(wsgi: WSGI) -> WSGI:
    """Return ``wsgi`` restricted to listeners on loopback and Unix sockets; others answer 403.

    The listener counts, not what the client says: behind a proxy on this machine everything is loopback.
    """
    warned: set[str] = set()

    def checked(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if not arrived_on_loopback(environ):
            name: str = environ["SERVER_NAME"]
            if name not in warned:
                warned.add(name)
                log.error("requests are refused", listener=name, reason=REMEDY)
            environ.setdefault(REFUSAL, RefusedRequest(403, REMEDY))
        return wsgi(environ, start_response)

    return checked
