"""What a reader may see of an event: as the API's answers are masked for it today."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from baremetal_sched.baremetal.holds import rules
from baremetal_sched.baremetal.nodes.redaction import REPLACEMENTS, Restriction
from baremetal_sched.db.event_types import NODE_COLUMNS, USER
from baremetal_sched.scheduling.events.reading import Event

_ERROR, _REASON = "last_error", "maintenance_reason"

#: The members of a hold that name its asserter, and those that are hidden from a reader who may not see the hold.
_ACTOR = frozenset(rules.ASSERTER)
_OF_HOLD = _ACTOR | {"type", "reason", "extra"}


@dataclass(frozen=True)
class Mask:
    """The rights of a reader. ``project``: its project; None: it sees the events of all.

    ``sees_workers``: it sees the consumers of other projects. ``errors``: who sees ``last_error``; None: all who see
    the node. ``is_system``: it reads holds as the system does, so that no actor is hidden from it. ``sees_hold``
    and ``sees_texts`` return whether it sees a hold, and all texts about holds, of a node with this owner and lessee.
    """

    project: str | None = None
    sees_workers: bool = True
    errors: Restriction | None = None
    is_system: bool = True
    sees_hold: Callable[[str | None, str | None, Mapping[str, Any]], bool] = lambda owner, lessee, hold: True
    sees_texts: Callable[[str | None, str | None], bool] = lambda owner, lessee: True

    def apply(self, event: Event) -> Event:
        """Return the event as the reader may see it."""
        data: dict[str, Any] = dict(event.data)
        if self.project is not None and self.project not in (event.owner, event.lessee):
            # A consumer knows which machine it has, as placement says it, and not whose that is.
            for name in (*NODE_COLUMNS, "changed"):
                data.pop(name, None)
        if not self.sees_workers and "consumer" in data and event.project != self.project:
            data["consumer"] = None
        if not self.sees_workers and "booking" in data and event.project != self.project:
            data["booking"] = {**data["booking"], "user_id": None}
        if _ERROR in data.get("changed", {}) and self._hides_error(event):
            hidden = dict.fromkeys(("before", "after"), REPLACEMENTS[_ERROR])
            data["changed"] = {**data["changed"], _ERROR: hidden}
        if _REASON in data.get("changed", {}) and not self.sees_texts(event.owner, event.lessee):
            data["changed"] = {**data["changed"], _REASON: {"before": None, "after": None}}
        if "hold" in data:
            unseen = self._unseen(event, data["hold"])
            data["hold"] = {name: None if name in unseen else value for name, value in data["hold"].items()}
        if event.user is not None and self._sees_user(event):
            data[USER] = event.user or None
        return replace(event, data=data)

    def _sees_user(self, event: Event) -> bool:
        """Whether the reader sees who made the change: like who asserted a hold, from the same project or from a lower
        scope. A project is that of the system only to readers who are the system."""
        if self.is_system or event.user == "":
            return True
        is_below = event.user_project == event.lessee and self.project == event.owner
        if self.project is None or event.user_project is None or not (event.user_project == self.project or is_below):
            return False
        return "hold" not in event.data or not (_ACTOR & self._unseen(event, event.data["hold"]))

    def _unseen(self, event: Event, hold: dict[str, Any]) -> frozenset[str]:
        """The members of a hold that the reader does not get."""
        if not self.sees_hold(event.owner, event.lessee, hold):
            return _OF_HOLD
        return _ACTOR if self._hides_actor(event, hold) else frozenset()

    def _hides_error(self, event: Event) -> bool:
        return self.errors is not None and self.errors.hides(event.owner, event.lessee, self.project)

    def _hides_actor(self, event: Event, hold: dict[str, Any]) -> bool:
        scope = rules.scope_of(self.project, event.owner, event.lessee, has_system_authority=self.is_system)
        return rules.is_masked_from(
            hold["scope"], hold["asserted_by_project"], scope or rules.LESSEE, self.project or ""
        )
