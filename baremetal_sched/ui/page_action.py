"""An action that pages propose, and the fields of its form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from baremetal_sched.errors import InvalidValue
from baremetal_sched.ui.action_bodies import Body, Values


@dataclass(frozen=True)
class FormField:
    """A field of the form that confirms an action. ``kind``: that of its control; a choice without ``options`` has
    those of the order. ``of_many``: it is only there for several items."""

    name: str
    label: str
    kind: str = "text"
    hint: str = ""
    options: tuple[tuple[str, str], ...] = ()
    required: bool = False
    of_many: bool = False


@dataclass(frozen=True)
class PageAction:
    """An action on items: nodes and domains (their UUIDs), holds (node/hold), waiting requests (kind/UUID), claims
    and bookings (UUIDs), servers (server/UUID), a request of the form that finds machines (its parameters).

    ``sentence`` says what will happen, ``done`` what has happened. ``noun``: a word for an item, whose plural has an s.
    ``stops_servers``: whether servers on the machines stop, so that the confirmation names them. ``paths``: that of the
    API's request, by the kind of the item; ``""`` for all others. ``rule``: the policy rule of this request. ``body``
    makes its body of the item and the form's fields; ``outcome`` says by the answer's document what has happened,
    instead of ``done``.
    """

    label: str
    sentence: str
    done: str
    method: str
    paths: Mapping[str, str]
    rule: str
    fields: tuple[FormField, ...] = ()
    body: Callable[[str, Values], Body | None] = lambda item, values: None
    outcome: Callable[[Any], str] | None = None
    noun: str = "machine"
    stops_servers: bool = False

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the form's fields."""
        return frozenset(each.name for each in self.fields)

    def path(self, item: str) -> str:
        """Return the path of the request about ``item``. Raises InvalidValue if it is no such item."""
        parts = [quote(part, safe="") for part in item.split("/")]
        path = self.paths.get(parts[0]) or self.paths.get("", "")
        is_plain = len(parts) == (2 if "{1}" in path else 1) and all(parts)
        if not path or ("{" in path and not is_plain):
            raise InvalidValue(message=f"{self.label} cannot be done with {item[:255]}.")
        return path.format(*parts)
