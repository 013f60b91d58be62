"""The audit log: who changed what, or tried to. One line for each request that would change something if allowed.

The line has the caller, the route with its parameters, and the status of the answer. It has no body, no header and no
query string, so no secrets of clients. Its logger has its own name, so that it can be sent elsewhere.
"""

from urllib.parse import unquote_plus

import structlog
from flask import Response

from baremetal_sched import masking
from baremetal_sched.web.call import Call
from baremetal_sched.web.route import Route

LOGGER = "baremetal_sched.audit"
log = structlog.get_logger(LOGGER)


_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

#: Servers may allow paths of any length; log lines are limited.
_LONGEST = 255


def changes_something(route: Route | None, method: str) -> bool:
    """Return whether a request changes something if allowed. ``route``: None if there is none."""
    if route is None or route.transaction is None:
        return method not in _SAFE
    return route.writes


def record(api: str, call: Call, response: Response, seconds: float) -> None:
    """Write the line of a request that was answered after ``seconds``, if it belongs in the audit log."""
    http = call.http
    # A request that was refused before its route was chosen is described by the routes of its path.
    route = call.route or next(iter(call.methods.get(http.method, ())), None)
    if not changes_something(route, http.method):
        return
    caller = call.caller
    log.info(
        "audit",
        api=api,
        method=http.method,
        route=None if http.url_rule is None else http.url_rule.rule,
        target=_target(call),
        location=response.headers.get("Location", "").partition("?")[0] or None,
        version=call.versions.text(call.version) if call.negotiated and call.versions is not None else None,
        status=response.status_code,
        milliseconds=round(seconds * 1000, 2),
        remote_address=http.remote_addr,
        user_id=caller.user_id,
        user_name=caller.user_name,
        project_id=caller.project_id,
        project_name=caller.project_name,
        domain_id=caller.domain_id,
        roles=caller.roles,
        system_scope=caller.system_scope,
        service_user_id=caller.service_user_id,
    )


def _target(call: Call) -> dict[str, str]:
    """Return the target of the request: the parameters of the route, and what replaces them in other requests."""
    named = {**(call.http.view_args or {}), **call.named}
    return {name: str(value)[:_LONGEST] for name, value in named.items()}


#: Longer paths are cut.
_MOST = 1000


def loggable(path: str) -> str:
    """Return a path with its query string for logging: without secrets, and cut if it is long."""
    path, mark, query = path.partition("?")
    if query:
        query = "&".join(map(_masked, query.split("&")))
    line = path + mark + query
    return line if len(line) <= _MOST else line[:_MOST] + "…"


def _masked(parameter: str) -> str:
    """Mask one parameter. Names and values may be encoded, which hides them from the masking of the whole line."""
    name, _, value = parameter.partition("=")
    if not value:
        return parameter
    plain = unquote_plus(name)
    if masking.names_secret(plain) or "configdrive" in plain.lower():
        return f"{name}={masking.MASK}"
    text = unquote_plus(value)
    return parameter if masking.mask_text(text) == text else f"{name}={masking.MASK}"
