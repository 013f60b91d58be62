"""Whose the holds are that an action on several rows would end: it means one's own, unless all are chosen."""

from collections import Counter
from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.resources.hold_actors import view_of
from baremetal_sched.baremetal.holds import rules
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.ui.call import UiCall

#: The value of the field ``whose`` that includes the holds of others.
ALL = "all"


def of_others(call: UiCall, session: Session, action: str, items: Sequence[str]) -> dict[str, str]:
    """Return those of several items that end holds of others which the caller sees, with a person for each, empty where
    that is hidden: ticked holds (node/hold), and nodes whose maintenance is ended. One statement, none for other
    actions."""
    if len(items) < 2 or action not in ("release", "maintenance off"):
        return {}
    is_release = action == "release"
    ticked = {item.rpartition("/")[2]: item for item in items}
    chosen: tuple[ColumnElement[bool], ...] = (Hold.uuid.in_(ticked),)
    if not is_release:
        chosen = (Node.uuid.in_(ticked), Hold.begun_at.is_not(None), Hold.type.not_in(rules.BUILT_IN))
    query = select(Hold, Node.uuid, Node.owner, Node.lessee).join(Node, Node.id == Hold.node_id).where(*chosen)
    found: dict[str, str] = {}
    for hold, node, owner, lessee in session.execute(query.where(*call.visible.conditions()).order_by(Hold.id)):
        view = view_of(call, owner, lessee)
        if view.sees(hold) and not rules.is_of(hold, call.caller.user_id or ""):
            item = ticked[hold.uuid if is_release else node]
            found.setdefault(item, rules.person_of(hold) if view.names(hold) else "")
    return found


def in_words(others: Mapping[str, str]) -> str:
    """Return how many rows would end holds of others, and whose these are; empty without any."""
    if not others:
        return ""
    counts = Counter(person or "others" for person in others.values())
    who = ", ".join(f"{person} {count}" for person, count in sorted(counts.items()))
    return f"{len(others)} of the ticked rows {'is' if len(others) == 1 else 'are'} held by others: {who}."
