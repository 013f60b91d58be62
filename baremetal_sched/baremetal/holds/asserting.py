"""Asserting holds of nodes whose rows are locked, and when another hold stands in the way.

Two requests that meet are done one after the other: each changes the revision of the node's row, so of two that have
read the same holds one is run again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.holds import guards, holds, rules
from baremetal_sched.baremetal.holds.rules import LOCKOUT, MOST_OF_PROJECT, Actor
from baremetal_sched.db import schema_state
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.errors import ConflictError, InvalidValue
from baremetal_sched.errors.baremetal import NodeLocked
from baremetal_sched.errors.holds import HoldExists, HoldOfProjectExists, HoldsNotServed, TooManyHolds
from baremetal_sched.settings import Settings

#: The first schema whose releases all know holds.
FIRST_REVISION = "0023"
#: The first schema whose releases all know that a project may have several holds of a type at a time.
BY_PERSON_REVISION = "0036"


@dataclass(frozen=True)
class NewHold:
    """A hold that is to be asserted. Times are seconds since 1970 by the clock of the database."""

    type: str
    reason: str | None = None
    extra: Mapping[str, Any] | None = None
    starts_at: float | None = None
    ends_at: float | None = None
    drain: bool = False
    drain_deadline: float | None = None


def assert_hold(session: Session, node: Node, new: NewHold, actor: Actor, settings: Settings) -> Hold:
    """Assert a hold of ``node``, and return it. Raises like ``attempts`` and ``carry_out``."""
    (attempt,) = found = attempts(session, [(node, actor)], new)
    carry_out(session, found, settings)
    return attempt.hold


@dataclass(frozen=True)
class Attempt:
    """A hold that is to be asserted of ``node``, which has ``others``. ``refusal``: why it cannot be; None: it can.

    ``existing``: the one that is refused for being the same again.
    """

    node: Node
    hold: Hold
    others: Sequence[Hold]
    refusal: ConflictError | None
    existing: Hold | None = None


def attempts(session: Session, asserters: Sequence[tuple[Node, Actor]], new: NewHold) -> list[Attempt]:
    """Return for each node (its row locked) its hold, which is not in the session, and whether it can be asserted.

    Raises InvalidValue for times that cannot be, and HoldsNotServed while a release that knows no holds may serve the
    database.
    """
    oldest = schema_state.oldest(session.connection())
    if not schema_state.is_since(oldest, FIRST_REVISION):
        raise HoldsNotServed
    known, moment = holds.of_nodes(session, [node for node, _ in asserters])
    _check_times(new, moment)
    by_person = schema_state.is_since(oldest, BY_PERSON_REVISION)
    return [_attempt(node, actor, new, known[node.id], moment, by_person) for node, actor in asserters]


def carry_out(session: Session, found: Sequence[Attempt], settings: Settings) -> None:
    """Assert all of these holds. They begin now, when they are planned to start, or when the node rests (``drain``).

    Raises HoldExists if a node has one of the same source at that time, HoldOfProjectExists while an earlier release
    would refuse it, TooManyHolds, and NodeLocked for a lockout that is to begin while a conductor works on the node.
    """
    for refusal in (each.refusal for each in found if each.refusal is not None):
        raise refusal
    for each in found:
        node, hold = each.node, each.hold
        session.add(hold)
        holds.note(session, node, hold, "asserted")
        starts = rules.start_of(hold) <= hold.asserted_at
        if starts and (not hold.drain or guards.rests(session, node)):
            hold.begun_at = hold.asserted_at
        holds.settle(node, [*each.others, hold], settings)


def _attempt(node: Node, actor: Actor, new: NewHold, others: Sequence[Hold], moment: float, by_person: bool) -> Attempt:
    hold = holds.new_row(
        node,
        actor,
        type=new.type,
        reason=new.reason,
        extra=dict(new.extra or {}),
        asserted_at=moment,
        written_at=moment,
        starts_at=new.starts_at,
        ends_at=new.ends_at,
        drain=new.drain,
        drain_deadline=new.drain_deadline,
    )
    existing = same_at_that_time(hold, others)
    if existing is not None:
        return Attempt(node, hold, others, _exists(node, existing, actor), existing)
    is_at_work = new.type == LOCKOUT and not new.drain and node.reservation is not None
    refusal: ConflictError | None = None if by_person else of_project_at_that_time(node, hold, others, actor)
    if refusal is None and rules.count_of_project(others, actor.project) >= MOST_OF_PROJECT:
        refusal = TooManyHolds(node=node.uuid, limit=MOST_OF_PROJECT)
    if refusal is None and is_at_work and rules.start_of(hold) <= moment:
        refusal = NodeLocked(node=node.uuid, host=node.reservation)
    return Attempt(node, hold, others, refusal)


def require_no_other(session: Session, node: Node, hold: Hold, others: Sequence[Hold], actor: Actor) -> None:
    """Raise HoldExists if ``others`` of the node have a hold of the same source at that time, and HoldOfProjectExists
    if they have one that an earlier release, which may serve the database, would refuse."""
    existing = same_at_that_time(hold, others)
    if existing is not None:
        raise _exists(node, existing, actor)
    refusal = of_project_at_that_time(node, hold, others, actor)
    if refusal is not None and not schema_state.has_finished(session.connection(), BY_PERSON_REVISION):
        raise refusal


def same_at_that_time(hold: Hold, others: Sequence[Hold]) -> Hold | None:
    """Return that of ``others`` which has the same source and shares a moment with ``hold``."""
    return next((each for each in others if rules.same_source(hold, each) and rules.overlap(hold, each)), None)


def of_project_at_that_time(node: Node, hold: Hold, others: Sequence[Hold], actor: Actor) -> HoldOfProjectExists | None:
    """Return the error that ``others`` have one of the same type, scope and project that shares a moment with it."""
    for other in others:
        if rules.same_project(hold, other) and rules.overlap(hold, other):
            return HoldOfProjectExists(node=node.uuid, uuid=other.uuid, type=other.type, by=_by(other, actor))
    return None


def _exists(node: Node, existing: Hold, actor: Actor) -> HoldExists:
    return HoldExists(node=node.uuid, uuid=existing.uuid, type=existing.type, by=_by(existing, actor))


def _by(hold: Hold, actor: Actor) -> str:
    """Return who asserted the hold, in words for the actor; nothing if that is hidden from it."""
    if actor.hides(hold) or rules.is_masked(hold, actor.scope, actor.project):
        return ""
    if hold.asserted_by == actor.user[: holds.LONGEST]:
        return " by you"
    person = rules.person_of(hold)
    return f" by {person}" if person else ""


def _check_times(new: NewHold, moment: float) -> None:
    start = moment if new.starts_at is None else max(new.starts_at, moment)
    if new.ends_at is not None and new.ends_at <= start:
        raise InvalidValue(message="ends_at must be later than now, and later than starts_at.")
    if new.drain_deadline is None:
        return
    if not new.drain:
        raise InvalidValue(message="drain_deadline needs drain: other holds begin when they start.")
    if new.drain_deadline < start or (new.ends_at is not None and new.drain_deadline >= new.ends_at):
        raise InvalidValue(message="drain_deadline must not be before the start of the hold, and before its end.")
