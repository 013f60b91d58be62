"""Where pages are served: to browsers on this machine, or to callers who log in as browsers can."""

from typing import Any

from baremetal_sched import auth_settings
from baremetal_sched.settings import Settings
from baremetal_sched.web.forwarding import was_passed_on, without_port
from baremetal_sched.web.listener import arrived_on_loopback, is_loopback
from baremetal_sched.web.problems import Problem, RefusedRequest

_KEYSTONE = (
    "There are no pages here: callers are authenticated by tokens of Keystone ([api] auth_strategy = keystone), and a "
    "browser has none. Use the openstack command, or the API below /scheduling."
)
_SWITCHED_OFF = "There are no pages here: they are switched off ([ui] enabled = false)."
_LOOPBACK_ONLY = (
    "Nobody is authenticated here ([api] auth_strategy = none), so pages are shown to browsers on the machine of the "
    "service only, at an address such as http://127.0.0.1:6385/ui/. Set [api] auth_strategy = http_basic to see them "
    "from elsewhere."
)


class PagesOff(Problem):
    """No pages are served; the message says why."""

    status = 404


def why_off(settings: Settings) -> str | None:
    """Return why no pages are served with these settings; None if they are."""
    if not settings.ui.enabled:
        return _SWITCHED_OFF
    return _KEYSTONE if settings.api.auth_strategy == "keystone" else None


def check(settings: Settings, environ: dict[str, Any]) -> None:
    """Raise PagesOff if no pages are served, RefusedRequest if none are served here.

    Without authentication pages are for loopback only, whatever ``[api] insecure`` says. A proxy on this machine has a
    listener on loopback too, but its headers or the Host tell; and the name of a foreign site may lead a browser here.
    """
    reason = why_off(settings)
    if reason is not None:
        raise PagesOff(message=reason)
    if not auth_settings.is_open(settings):
        return
    host = without_port(environ.get("HTTP_HOST") or "localhost")
    if was_passed_on(environ) or not (arrived_on_loopback(environ) and is_loopback(host)):
        raise RefusedRequest(403, _LOOPBACK_ONLY)
