"""How callers are authenticated: one strategy for all APIs, chosen by ``[api] auth_strategy``."""

from collections.abc import Callable

from baremetal_sched.settings import Settings
from baremetal_sched.web.authentication.http_basic import HttpBasic
from baremetal_sched.web.authentication.strategy import NoAuth2, NoAuthentication, Strategy

__all__ = ["Strategy", "make"]


def _keystone(settings: Settings) -> Strategy:
    from baremetal_sched.web.authentication.keystone import Keystone  # imports much that others do not need

    return Keystone(settings)


#: Factories of the strategies, by name. ``noauth`` is Ironic's name for ``none``.
_STRATEGIES: dict[str, Callable[[Settings], Strategy]] = {
    "none": NoAuthentication,
    "noauth": NoAuthentication,
    "keystone": _keystone,
    "noauth2": NoAuth2,
    "http_basic": HttpBasic,
}


def make(settings: Settings) -> Strategy:
    """Return the strategy that the settings name."""
    return _STRATEGIES[settings.api.auth_strategy](settings)
