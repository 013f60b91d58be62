"""The holds that a caller may see, by ``baremetal:node:maintenance:get``.

Every door asks here: both APIs, the pages, and events, also those that webhooks send. That needs no request: the makers
of webhooks are callers, too.
"""

from collections.abc import Mapping
from functools import cached_property, partial
from itertools import product
from typing import Any

from sqlalchemy import and_, or_, tuple_

from baremetal_sched.baremetal.api.policies.checks import service_project
from baremetal_sched.baremetal.api.policies.holds import GET
from baremetal_sched.baremetal.holds.holds import EVENT_TYPE
from baremetal_sched.baremetal.holds.rules import BUILT_IN, SCOPES, TYPES
from baremetal_sched.baremetal.visibility import Conditions, Visibility
from baremetal_sched.db.models import Hold, NodeHistory
from baremetal_sched.settings import Settings
from baremetal_sched.web.call import Call
from baremetal_sched.web.caller import Caller
from baremetal_sched.web.policy import Policy

#: The facts about a hold that rules compare with the caller.
FACTS = ("type", "scope", "asserted_by", "asserted_by_project")
#: What can be known of holds before they are read.
_KINDS = tuple(product((*TYPES, *BUILT_IN), SCOPES))


class HoldReader:
    """What a caller may see of holds."""

    def __init__(self, caller: Caller, policy: Policy, settings: Settings) -> None:
        self._caller, self._policy = caller, policy
        self._known = {**service_project(settings), **({"project_id": caller.project_id} if caller.project_id else {})}

    def sees(self, owner: str | None, lessee: str | None, hold: Hold | Mapping[str, Any] | None = None) -> bool:
        """Return whether the caller may see a hold of a node with this owner and lessee; None: whether it may see the
        node's holds (each is then checked by itself)."""
        node = {name: fact for name, fact in (("node.owner", owner), ("node.lessee", lessee)) if fact is not None}
        facts = {name: getattr(hold, name) for name in FACTS} if isinstance(hold, Hold) else hold or {}
        entry = {f"maintenance.{name}": facts[name] for name in FACTS if name in facts}
        return self._policy.allows(self._caller, GET, {**self._known, **node, **entry})

    @cached_property
    def nodes(self) -> Visibility:
        """The nodes whose holds the caller may see."""
        return Visibility.of(self._caller.project_id, self.sees)

    @cached_property
    def _by_kind(self) -> dict[Visibility, list[tuple[str, str]]]:
        """The types and scopes of holds by the nodes on which the caller may see them."""
        found: dict[Visibility, list[tuple[str, str]]] = {}
        for kind, scope in _KINDS:
            seen = Visibility.of(self._caller.project_id, partial(self.sees, hold={"type": kind, "scope": scope}))
            found.setdefault(seen, []).append((kind, scope))
        return found

    @cached_property
    def conditions(self) -> Conditions:
        """The condition on ``Hold`` and ``Node`` that the caller may see the hold: for counts, which know no actors.

        (h.type, h.scope) IN (…) AND (n.owner = <project> OR …) OR …
        """
        if len(self._by_kind) == 1:
            return next(iter(self._by_kind)).conditions()
        kind = tuple_(Hold.type, Hold.scope)
        return (or_(*(and_(kind.in_(kinds), *nodes.conditions()) for nodes, kinds in self._by_kind.items())),)

    @cached_property
    def texts(self) -> Visibility:
        """The nodes whose holds of every kind the caller may see, and so texts about them: ``maintenance_reason``,
        and the history of the holds."""
        kinds = [*self._by_kind]
        if all(each.everything for each in kinds):
            return kinds[0]
        return Visibility(
            self._caller.project_id,
            all(each.everything or each.as_owner for each in kinds),
            all(each.everything or each.as_lessee for each in kinds),
        )

    def of_history(self, owner: str | None, lessee: str | None) -> Conditions:
        """Return the condition on entries of the history of a node with this owner and lessee."""
        return () if self.texts.covers(owner, lessee) else (NodeHistory.event_type != EVENT_TYPE,)


def reader_of(caller: Caller, policy: Policy, settings: Settings) -> HoldReader:
    """Return what the caller may see of holds, by the policies of this moment."""
    return policy.remembered((GET, caller), lambda: HoldReader(caller, policy, settings))


def reader(call: Call) -> HoldReader:
    """Return what the caller of a request may see of holds."""
    return reader_of(call.caller, call.policy, call.settings)
