"""Callers as asserters and releasers of holds, for the bare metal API and for the scheduling API."""

from functools import partial

from baremetal_sched.baremetal.api.hold_readers import FACTS, reader
from baremetal_sched.baremetal.api.policies.checks import service_project
from baremetal_sched.baremetal.api.policies.holds import AS_SYSTEM, REMOVE
from baremetal_sched.baremetal.holds import rules
from baremetal_sched.baremetal.holds.hold_list import Asserter, names_asserter
from baremetal_sched.baremetal.holds.rules import Actor, HoldView
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Hold
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.call import Call
from baremetal_sched.web.policy import Target

#: The word for the caller in filters by person.
ME = "me"


def target_of(call: Call, owner: str | None, lessee: str | None, **entry: str) -> Target:
    """Return the target of rules about a node with this owner and lessee, and about an ``entry`` of it: its type,
    scope, asserted_by and asserted_by_project."""
    node = {name: fact for name, fact in (("node.owner", owner), ("node.lessee", lessee)) if fact is not None}
    service = service_project(call.settings)
    return {**call.target, **service, **node, **{f"maintenance.{name}": fact for name, fact in entry.items()}}


def nodes_by(call: Call, rule: str) -> Visibility:
    """Return the nodes to which the rule allows the caller access."""
    return Visibility.of(
        call.caller.project_id, lambda owner, lessee: call.allows(rule, target_of(call, owner, lessee))
    )


def scope_of(call: Call, owner: str | None, lessee: str | None) -> str | None:
    """Return what the caller is to a node with this owner and lessee; None if it is nothing to it."""
    has_authority = call.allows(AS_SYSTEM, target_of(call, None, None))
    return rules.scope_of(call.caller.project_id, owner, lessee, has_system_authority=has_authority)


def actor_of(call: Call, owner: str | None, lessee: str | None, rule: str = REMOVE) -> Actor:
    """Return the caller as one who releases holds of a node with this owner and lessee, or sets its flag, or does with
    holds what ``rule`` is about.

    A caller without a relation to the node, whom the operator's rules nevertheless allow, has the lowest scope.
    """

    def refuses(hold: Hold) -> bool:
        entry = {name: getattr(hold, name) for name in FACTS}
        return not call.allows(rule, target_of(call, owner, lessee, **entry))

    def hides(hold: Hold) -> bool:
        return not reader(call).sees(owner, lessee, hold)

    scope = scope_of(call, owner, lessee) or rules.LESSEE
    return Actor(scope, call.caller.user_id or "", call.caller.project_id or "", refuses, hides, name_of(call))


def name_of(call: Call) -> str:
    """Return the name of the caller, empty if the log-in has none."""
    return call.caller.user_name or ""


def sees_all_asserters(call: Call) -> bool:
    """Return whether the caller may see who asserted each hold that it sees, as the system may."""
    return call.caller.system_scope == "all" or call.allows(AS_SYSTEM, target_of(call, None, None))


def view_of(call: Call, owner: str | None, lessee: str | None) -> HoldView:
    """Return what the caller may see of the holds of a node with this owner and lessee."""
    return HoldView(partial(reader(call).sees, owner, lessee), partial(_names, call, owner, lessee))


def _names(call: Call, owner: str | None, lessee: str | None, hold: Hold) -> bool:
    scope = rules.SYSTEM if sees_all_asserters(call) else scope_of(call, owner, lessee) or rules.LESSEE
    return not rules.is_masked(hold, scope, call.caller.project_id or "")


def asserter_named(call: Call, person: str | None) -> Asserter | None:
    """Return the filter by this person, the id or the name of a user or ``ME``, of holds whose asserter the caller may
    see; None without one. Raises InvalidValue."""
    if person is None:
        return None
    if not person:
        raise InvalidValue(message=f"Expected a person for asserted_by: the id or the name of a user, or {ME}.")
    conditions = () if sees_all_asserters(call) else names_asserter(call.caller.project_id or "")
    return Asserter(call.caller.user_id if person == ME else person, conditions)
