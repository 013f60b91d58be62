"""The rules of holds, in plain Python: types and scopes, who may release what, and what follows from a node's holds.

They are those of Ironic's specification of typed maintenance entries, with times. A hold is *active* from when it
begins until it ends or is released: the node is in maintenance for it. Before that it is planned.
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from baremetal_sched.db.models import Hold

#: Types that only this service asserts: by the flag that every microversion knows; because of a failure.
LEGACY = "legacy"
FAULT = "fault"
#: The type that keeps also this service from the machine.
LOCKOUT = "lockout"
#: Types that callers assert.
TYPES = ("hardware_failure", "operator_hold", LOCKOUT, "window")
BUILT_IN = (LEGACY, FAULT)

#: The most characters of a reason that is made of several, which the node's column holds in every database.
_LONGEST_REASON = 16_000

#: The most holds of a node that callers of one project may have; callers without a project count as one.
MOST_OF_PROJECT = 20

#: The columns that name who asserted a hold. All are hidden together.
ASSERTER = ("asserted_by", "asserted_by_name", "asserted_by_project")

SYSTEM, OWNER, LESSEE = "system", "owner", "lessee"
#: A scope outranks those before it.
SCOPES = (LESSEE, OWNER, SYSTEM)


def outranks(scope: str, other: str) -> bool:
    """Return whether ``scope`` strictly outranks ``other``."""
    return SCOPES.index(scope) > SCOPES.index(other)


@dataclass(frozen=True)
class Actor:
    """A caller who asserts, changes or releases holds of a node: its relation to the node, its user and project.

    ``refuses`` returns whether policy keeps it from changing or releasing a hold, ``hides`` from seeing it. ``name``:
    that of the user, empty if the log-in has none.
    """

    scope: str
    user: str = ""
    project: str = ""
    refuses: Callable[[Hold], bool] = lambda hold: False
    hides: Callable[[Hold], bool] = lambda hold: False
    name: str = ""


@dataclass(frozen=True)
class HoldView:
    """What a caller may see of the holds of a node: ``sees`` returns whether it sees a hold, and ``names`` whether it
    sees who asserted it."""

    sees: Callable[[Hold], bool] = lambda hold: True
    names: Callable[[Hold], bool] = lambda hold: True


#: The view of the service itself.
EVERYTHING = HoldView()

#: The service itself.
INTERNAL = Actor(SYSTEM)


def scope_of(project: str | None, owner: str | None, lessee: str | None, *, has_system_authority: bool) -> str | None:
    """Return the relation of a caller with this project to a node; None if there is none."""
    if has_system_authority:
        return SYSTEM
    if not project:
        return None
    return OWNER if project == owner else LESSEE if project == lessee else None


def refusal(actor: Actor, hold: Hold, verb: str = "release") -> str | None:
    """Return why ``actor`` must not release ``hold``, or do with it what ``verb`` says; None if it may.

    The policy comes first. Then ``actor`` needs a scope above the hold's, or the same scope and the same project; in
    the system's scope any project will do. The built-in types need only the policy.
    """
    kind = "" if actor.hides(hold) else f"type {hold.type}, "
    named = f"Cannot {verb} hold {hold.uuid} ({kind}scope {hold.scope}"
    if actor.refuses(hold):
        return f"{named}): not permitted by policy"
    if hold.type in BUILT_IN or actor.scope == SYSTEM or outranks(actor.scope, hold.scope):
        return None
    if outranks(hold.scope, actor.scope):
        return f"{named}): not permitted at {actor.scope} scope"
    if actor.project == hold.asserted_by_project:
        return None
    return f"{named}): not asserted by your project"


def is_masked(hold: Hold, scope: str, project: str) -> bool:
    """Return whether who asserted ``hold`` is hidden from a caller with this ``scope`` and ``project``: from a lower
    scope, and from another project in the same scope, for example the next lessee."""
    return is_masked_from(hold.scope, hold.asserted_by_project, scope, project)


def is_masked_from(hold_scope: str, asserted_by_project: str, scope: str, project: str) -> bool:
    """The same of a hold with this scope and this project."""
    is_others = scope != SYSTEM and hold_scope == scope and asserted_by_project != project
    return is_others or outranks(hold_scope, scope)


# -- what follows from the holds of a node -----------------------------------------------------------------------------


def is_active(hold: Hold) -> bool:
    """Return whether the node is in maintenance for the hold."""
    return hold.begun_at is not None


def active(holds: Iterable[Hold]) -> list[Hold]:
    """Return the active ones, in the order in which they were asserted."""
    return sorted((hold for hold in holds if is_active(hold)), key=lambda hold: (hold.asserted_at, hold.id or math.inf))


def is_plain(holds: Iterable[Hold]) -> bool:
    """Return whether all active holds are of the types that Ironic has without entries: its flag and its faults."""
    return all(hold.type in BUILT_IN for hold in active(holds))


def reason_of(holds: Collection[Hold]) -> str | None:
    """Return the node's ``maintenance_reason``: the text that was written last while only ``legacy`` and ``fault`` are
    active, otherwise type and reason of each active hold."""
    found = active(holds)
    if not found:
        return None
    if is_plain(found):
        return max(found, key=lambda hold: (hold.written_at, hold.id or math.inf)).reason
    return "; ".join(f"{hold.type}: {hold.reason}" if hold.reason else hold.type for hold in found)[:_LONGEST_REASON]


def loosens(holds: Iterable[Hold]) -> bool:
    """Return whether guards are off that are off in maintenance: of deleting a node or an allocation, of MAC addresses
    and interfaces. A lockout and the holds of a lessee do not switch them off."""
    return any(hold.type == LEGACY or (hold.type != LOCKOUT and hold.scope != LESSEE) for hold in active(holds))


def lockout_among(holds: Iterable[Hold]) -> Hold | None:
    """Return the active lockout that was asserted first, None if there is none."""
    return next((hold for hold in active(holds) if hold.type == LOCKOUT), None)


# -- time --------------------------------------------------------------------------------------------------------------


def start_of(hold: Hold) -> float:
    """Return when the hold starts: as planned, or when it was asserted."""
    return hold.asserted_at if hold.starts_at is None else hold.starts_at


def end_of(hold: Hold) -> float:
    """Return when the hold ends; infinite if only a release ends it."""
    return math.inf if hold.ends_at is None else hold.ends_at


def overlap(one: Hold, other: Hold) -> bool:
    """Return whether two holds share a moment. Their ends do not belong to them."""
    return start_of(one) < end_of(other) and start_of(other) < end_of(one)


def same_project(one: Hold, other: Hold) -> bool:
    """Return whether two holds have the same type, scope and project."""
    return (one.type, one.scope, one.asserted_by_project) == (other.type, other.scope, other.asserted_by_project)


def same_source(one: Hold, other: Hold) -> bool:
    """Return whether two holds have the same type, scope, project, person and reason: only one of these may exist at
    any time."""
    same_words = (one.asserted_by, one.reason or "") == (other.asserted_by, other.reason or "")
    return same_words and same_project(one, other)


def count_of_project(holds: Iterable[Hold], project: str) -> int:
    """Return how many of the holds callers of the project asserted; those of the built-in types do not count."""
    return sum(hold.asserted_by_project == project and hold.type not in BUILT_IN for hold in holds)


def is_of(hold: Hold, user: str) -> bool:
    """Return whether this user asserted the hold. Without a user, as without authentication, all holds are one's own,
    except those that the service asserts."""
    return hold.asserted_by == user if user else hold.type != FAULT


def person_of(hold: Hold) -> str:
    """Return the name of who asserted the hold, or the id without one. It is empty without a log-in."""
    return hold.asserted_by_name or hold.asserted_by or ""


def in_words(hold: Hold, view: HoldView) -> str:
    """Return the type of the hold, its reason, and who asserted it, as far as the viewer, who sees it, may know."""
    person = person_of(hold) if view.names(hold) else ""
    return f"{hold.type}{f' ({hold.reason})' if hold.reason else ''}{f' of {person}' if person else ''}"


def closing_time(holds: Sequence[Hold], ahead: float, booked_since: float | None = None) -> float | None:
    """Return the time after which the node is not to be claimed without an end: since when it is booked, or ``ahead``
    seconds before the first hold that has not begun; None if there is neither. A hold that drains closes the node from
    its start on."""
    starts = [start_of(hold) - ahead for hold in holds if not is_active(hold)]
    return min([*starts, *([] if booked_since is None else [booked_since])], default=None)
