"""Where pages are served: to browsers on this machine, or to callers who log in as browsers can."""

from wsgiref.types import WSGIEnvironment

from baremetal_sched import auth_settings
from baremetal_sched.settings import Settings
from baremetal_sched.web.forwarding import was_passed_on, without_port
from baremetal_sched.web.http_errors import HttpError, RefusedRequest
from baremetal_sched.web.listener import arrived_on_loopback, is_loopback

_SWITCHED_OFF = "These pages are not available: they are switched off ([ui] enabled = false)."
_LOOPBACK_ONLY = (
    "Callers are not authenticated ([api] auth_strategy = none), so pages are shown to browsers on the machine of the "
    "service only, at an address such as http://127.0.0.1:6385/ui/. Set [api] auth_strategy = http_basic to see them "
    "from elsewhere."
)
_IN_CLEAR = (
    "This request came over plain HTTP, where others can read a password and the cookie of a session, so log-in is "
    "refused. Use https. If a proxy has the certificate, let it set X-Forwarded-Proto, and set [oslo_middleware] "
    "enable_proxy_headers_parsing = true."
)


class PagesOff(HttpError):
    """No pages are served; the message says why."""

    status = 404


def why_off(settings: Settings) -> str | None:
    """Return why no pages are served with these settings; None if they are."""
    return None if settings.ui.enabled else _SWITCHED_OFF


def check(settings: Settings, environ: WSGIEnvironment) -> None:
    """Raise PagesOff if no pages are served, RefusedRequest if they are not served to this client.

    Without authentication, pages are for loopback only, whatever ``[api] insecure`` says. A proxy on this machine uses
    loopback too, but its headers or the Host header reveal it, even if ``[api] allowed_hosts`` has its name.
    """
    reason = why_off(settings)
    if reason is not None:
        raise PagesOff(message=reason)
    if not auth_settings.is_open(settings):
        return
    if not _is_on_loopback(environ):
        raise RefusedRequest(403, _LOOPBACK_ONLY)


def why_no_passwords(environ: WSGIEnvironment) -> str | None:
    """Return why this client may not send a password; None if the connection is encrypted or local."""
    return None if environ["wsgi.url_scheme"] == "https" or _is_on_loopback(environ) else _IN_CLEAR


def _is_on_loopback(environ: WSGIEnvironment) -> bool:
    host = without_port(environ.get("HTTP_HOST") or "localhost")
    return not was_passed_on(environ) and arrived_on_loopback(environ) and is_loopback(host)
