"""Where pages are served: to browsers on this machine, or to callers who log in as browsers can."""

from wsgiref.types import WSGIEnvironment

from baremetal_sched import auth_settings
from baremetal_sched.settings import Settings
from baremetal_sched.web.forwarding import was_passed_on, without_port
from baremetal_sched.web.http_errors import HttpError, RefusedRequest
from baremetal_sched.web.listener import arrived_on_loopback, is_loopback

_KEYSTONE = (
    "These pages are not available: callers are authenticated by tokens of Keystone ([api] auth_strategy = keystone), "
    "which a browser does not have. Use the openstack command, or the API below /scheduling."
)
_SWITCHED_OFF = "These pages are not available: they are switched off ([ui] enabled = false)."
_LOOPBACK_ONLY = (
    "Callers are not authenticated ([api] auth_strategy = none), so pages are shown to browsers on the machine of the "
    "service only, at an address such as http://127.0.0.1:6385/ui/. Set [api] auth_strategy = http_basic to see them "
    "from elsewhere."
)


class PagesOff(HttpError):
    """No pages are served; the message says why."""

    status = 404


def why_off(settings: Settings) -> str | None:
    """Return why no pages are served with these settings; None if they are."""
    if not settings.ui.enabled:
        return _SWITCHED_OFF
    return _KEYSTONE if settings.api.auth_strategy == "keystone" else None


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
    host = without_port(environ.get("HTTP_HOST") or "localhost")
    if was_passed_on(environ) or not (arrived_on_loopback(environ) and is_loopback(host)):
        raise RefusedRequest(403, _LOOPBACK_ONLY)
