"""Changing a hold: its end, its reason and its extra. The node is held all the time.

The end decides whether a machine is given out, so the statement that writes it also tests that the hold has not ended.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import literal, or_, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal import events
from baremetal_sched.baremetal.holds import asserting, holds, rules
from baremetal_sched.baremetal.holds.rules import Actor
from baremetal_sched.db.clock import row_epoch
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.db.results import rows_changed
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.holds import HoldNotChangeable, HoldsKept
from baremetal_sched.settings import Settings


def change(
    session: Session, node: Node, hold: Hold, changes: Mapping[str, Any], actor: Actor, settings: Settings
) -> None:
    """Change ``ends_at``, ``reason`` or ``extra`` of a hold of ``node`` (its row locked).

    Raises HoldsKept if it is not the actor's to change, HoldNotChangeable if it is of a built-in type or has ended,
    InvalidValue for an end that cannot be, like ``asserting.require_no_other`` if another hold is in the way, and
    StaleDataError if it has ended.
    """
    refusal = rules.refusal(actor, hold, "change")
    if refusal is not None:
        raise HoldsKept(reasons=refusal)
    others = [other for other in holds.of_node(session, node) if other is not hold]
    moment = holds.now(session)
    _require_changeable(hold, moment)
    values = dict(changes)
    still_there = [Hold.id == hold.id, or_(Hold.ends_at.is_(None), Hold.ends_at > row_epoch())]
    if "ends_at" in values:
        _check_end(hold, values["ends_at"], moment)
    if values.keys() & {"ends_at", "reason"}:
        asserting.require_no_other(session, node, _as_changed(hold, values), others, actor)
    if values.get("ends_at") is not None:
        still_there.append(literal(values["ends_at"]) > row_epoch())
    if "reason" in values:
        values["written_at"] = moment
    # UPDATE holds SET … WHERE id = ? AND (ends_at IS NULL OR ends_at > now) AND <the new end> > now
    statement = update(Hold).where(*still_there).values(**values)
    if rows_changed(session.execute(statement, execution_options={"synchronize_session": False})) != 1:
        raise StaleDataError("the hold ended")
    session.refresh(hold)
    events.note_hold(session, hold, "changed")
    holds.record(session, node, hold, f"was changed ({', '.join(sorted(changes))})")
    holds.settle(node, [*others, hold], settings)


def _require_changeable(hold: Hold, moment: float) -> None:
    if hold.type in rules.BUILT_IN:
        raise HoldNotChangeable(uuid=hold.uuid, type=hold.type, reason="only the service writes entries of this type")
    if rules.end_of(hold) <= moment:
        raise HoldNotChangeable(uuid=hold.uuid, type=hold.type, reason="it has ended")


def _check_end(hold: Hold, ends_at: float | None, moment: float) -> None:
    """Raise InvalidValue unless ``hold`` may end at this time."""
    if ends_at is None:
        return
    if ends_at <= max(moment, rules.start_of(hold)):
        raise InvalidValue(message="ends_at must be later than now, and later than starts_at.")
    if not rules.is_active(hold) and hold.drain_deadline is not None and hold.drain_deadline >= ends_at:
        raise InvalidValue(message="ends_at must be later than drain_deadline.")


def _as_changed(hold: Hold, values: Mapping[str, Any]) -> Hold:
    """Return what the hold would be, of all that decides whether another one is in its way."""
    names = ("type", "scope", *rules.ASSERTER, "reason", "asserted_at", "starts_at", "ends_at")
    return Hold(**{name: values.get(name, getattr(hold, name)) for name in names})
