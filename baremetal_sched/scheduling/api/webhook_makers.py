"""The makers of webhooks: their credentials, and what they may read with them by the policies of today."""

from collections.abc import Callable
from dataclasses import asdict, fields
from functools import cache
from typing import Any

from baremetal_sched.auth_settings import is_open
from baremetal_sched.scheduling.api.event_masks import mask_of
from baremetal_sched.scheduling.api.policies import BORROWED, RULES
from baremetal_sched.scheduling.events.masks import Mask
from baremetal_sched.scheduling.webhooks.webhooks import Document
from baremetal_sched.settings import Settings
from baremetal_sched.web.caller import Caller
from baremetal_sched.web.policy import Policy

_NAMES = {each.name for each in fields(Caller)}


def document_of(caller: Caller) -> dict[str, Any]:
    """Return the credentials of a caller, which hold nothing secret, as JSON."""
    return {name: value for name, value in asdict(caller).items() if value not in (None, ())}


def _caller_of(document: Document, settings: Settings) -> Caller:
    """Return the caller again. A caller without authentication may do everything only while the API needs none."""
    known: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in document.items() if name in _NAMES
    }
    known["unrestricted"] = bool(known.get("unrestricted")) and is_open(settings)
    return Caller(**known)


def maker_mask(maker: Document, policy: Policy, settings: Settings) -> Mask | None:
    """Return what this maker may see of events; None: nothing."""
    return mask_of(_caller_of(maker, settings), policy, settings)


def rights(settings: Settings) -> Callable[[Document], Mask | None]:
    """Return ``maker_mask`` by the policies of this process. All processes of the service need the same ones."""
    policy = cache(lambda: Policy(settings, (*RULES, *BORROWED)))
    return lambda maker: maker_mask(maker, policy(), settings)
