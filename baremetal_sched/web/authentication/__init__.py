"""How callers are authenticated: one strategy for all APIs, chosen by ``[api] auth_strategy``."""

from collections.abc import Callable

from baremetal_sched.settings import Settings
from baremetal_sched.web.authentication.strategy import NoAuth2, NoAuthentication, Strategy

__all__ = ["Strategy", "make"]


def _http_basic(settings: Settings) -> Strategy:
    from baremetal_sched.web.authentication.http_basic import HttpBasic  # imports what others do not need

    return HttpBasic(settings)


def _keystone(settings: Settings) -> Strategy:
    from baremetal_sched.web.authentication.keystone import Keystone  # see above

    return Keystone(settings)


#: Factories of the strategies, by name. ``noauth`` is Ironic's name for ``none``.
_STRATEGIES: dict[str, Callable[[Settings], Strategy]] = {
    "none": NoAuthentication,
    "noauth": NoAuthentication,
    "keystone": _keystone,
    "noauth2": NoAuth2,
    "http_basic": _http_basic,
}


def make(settings: Settings) -> Strategy:
    """Return the strategy that the settings name."""
    return _STRATEGIES[settings.api.auth_strategy](settings)
