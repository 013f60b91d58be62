"""Whose the ticked holds are: an action on several holds means one's own, unless all are chosen."""

from collections import Counter
from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.resources.hold_actors import view_of
from baremetal_sched.baremetal.holds import rules
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.ui.call import UiCall

#: The action that this is about, and the value of its field ``whose`` that includes the holds of others.
RELEASE, ALL = "release", "all"


def of_others(call: UiCall, session: Session, action: str, items: Sequence[str]) -> dict[str, str]:
    """Return those of several items (node/hold) that others asserted and the caller sees, with their persons; empty
    where these are hidden. One statement, none for other actions."""
    if action != RELEASE or len(items) < 2:
        return {}
    wanted = {item.rpartition("/")[2]: item for item in items}
    query = select(Hold, Node.owner, Node.lessee).join(Node, Node.id == Hold.node_id).where(Hold.uuid.in_(wanted))
    found = {}
    for hold, owner, lessee in session.execute(query.where(*call.visible.conditions()).order_by(Hold.id)):
        view = view_of(call, owner, lessee)
        if view.sees(hold) and not rules.is_of(hold, call.caller.user_id or ""):
            found[wanted[hold.uuid]] = rules.person_of(hold) if view.names(hold) else ""
    return found


def in_words(others: Mapping[str, str]) -> str:
    """Return how many holds of others there are, and whose they are; empty without any."""
    if not others:
        return ""
    counts = Counter(person or "others" for person in others.values())
    who = ", ".join(f"{person} {count}" for person, count in sorted(counts.items()))
    return f"{len(others)} {'hold is' if len(others) == 1 else 'holds are'} of others: {who}."
