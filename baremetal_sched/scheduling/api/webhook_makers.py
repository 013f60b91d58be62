"""The makers of webhooks: their credentials, and what they may read by the rights and the policies of today."""

from collections.abc import Callable
from dataclasses import asdict, fields
from functools import cache
from typing import Any

from baremetal_sched.auth_settings import is_open, names_strategy
from baremetal_sched.errors import AuthenticationUnavailable
from baremetal_sched.errors.webhooks import MakerGone
from baremetal_sched.scheduling.api.event_masks import mask_of
from baremetal_sched.scheduling.api.policies import BORROWED, RULES
from baremetal_sched.scheduling.events.masks import Mask
from baremetal_sched.scheduling.webhooks.webhooks import Document
from baremetal_sched.settings import Settings
from baremetal_sched.web import authentication
from baremetal_sched.web.authentication import Strategy
from baremetal_sched.web.caller import Caller
from baremetal_sched.web.policy import Policy

_NAMES = {each.name for each in fields(Caller)}
_STRATEGY = "auth_strategy"


def document_of(caller: Caller, settings: Settings) -> dict[str, Any]:
    """Return the credentials of a caller, which hold nothing secret, and the strategy that found them, as JSON."""
    known = {name: value for name, value in asdict(caller).items() if value not in (None, ())}
    return {**known, _STRATEGY: _strategy_of(settings)}


class Makers:
    """What makers of webhooks may read today. ``strategy`` looks up users whose rights the service itself knows; None:
    there are none."""

    def __init__(self, settings: Settings, policy: Policy, strategy: Strategy | None) -> None:
        self._settings = settings
        self._policy = policy
        self._strategy = strategy

    def mask(self, maker: Document) -> Mask | None:
        """Return what this maker may see of events; None: nothing. Raises MakerGone, AuthenticationUnavailable."""
        return mask_of(self._caller(maker), self._policy, self._settings)

    def _caller(self, maker: Document) -> Caller:
        if _written_by(maker) != _strategy_of(self._settings):
            raise MakerGone(reason="It was made under another [api] auth_strategy.")
        known: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in maker.items() if name in _NAMES
        }
        stored = Caller(**known)
        today = stored if self._strategy is None else self._strategy.today(stored)
        if today is None:
            raise MakerGone(reason=f"Its maker {stored.user_id} is no longer a user.")
        if today.project_id != stored.project_id:
            raise MakerGone(reason=f"Its maker {stored.user_id} has another project or scope now.")
        return today


def rights(settings: Settings) -> Callable[[Document], Mask | None]:
    """Return ``Makers.mask`` for a conductor, by the policies of this process. All processes of the service need the
    same ones.

    Raises oslo.config's ``cfg.Error`` if the conductor sends events, and a file of users or roles cannot be read.
    """
    sends = settings.events.webhooks_interval > 0
    strategy = authentication.make(settings) if sends and settings.api.auth_strategy == "http_basic" else None
    makers = cache(lambda: Makers(settings, Policy(settings, (*RULES, *BORROWED)), strategy))

    def mask(maker: Document) -> Mask | None:
        if _written_by(maker) != _strategy_of(settings) and not names_strategy(settings):
            raise AuthenticationUnavailable(reason="[api] auth_strategy is not set for this conductor")
        return makers().mask(maker)

    return mask


def _strategy_of(settings: Settings) -> str:
    """Return the strategy; ``noauth`` is another name for ``none``."""
    name: str = settings.api.auth_strategy
    return "none" if is_open(settings) else name


def _written_by(maker: Document) -> str:
    """Return the strategy under which a webhook was made. Releases that did not note it are known by what they noted:
    only Keystone's users have a name that is not their id, and only those of files one that is."""
    noted: str | None = maker.get(_STRATEGY)
    if noted is not None:
        return noted
    name, ident = maker.get("user_name"), maker.get("user_id")
    if name is not None:
        return "http_basic" if name == ident else "keystone"
    return "none" if maker.get("unrestricted") else "noauth2"
