"""/holds: why machines must not be used, who asserted that, from when to when."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched import commands
from baremetal_sched.baremetal.api.resources.hold_actors import actor_of
from baremetal_sched.baremetal.holds import hold_list, rules
from baremetal_sched.db.clock import utcnow
from baremetal_sched.scheduling.api.holds import documents_of, seen_by
from baremetal_sched.scheduling.schemas.holds import ACTIVE, HOLD, PLANNED
from baremetal_sched.ui import exports
from baremetal_sched.ui.actions import ACTIONS
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.rendering import page

#: The number of holds on the page.
MOST_HOLDS = 200


def show_holds(call: UiCall, session: Session) -> Response:
    """GET /holds. Raises NotAllowed for callers who may see none, InvalidValue for an unknown format."""
    wanted = exports.format_of(call)
    call.refuse_query()
    if wanted:
        return exports.export(
            call, wanted, "holds", exports.members(wanted, HOLD, HOLD["required"]), _documents(call, session)
        )
    rows = list(hold_list.by_time(session, seen_by(call), MOST_HOLDS + 1))
    documents = documents_of(call, session, rows[:MOST_HOLDS])
    mine = {
        hold.uuid for hold, _, _, owner, lessee in rows if rules.refusal(actor_of(call, owner, lessee), hold) is None
    }
    return page(
        call,
        "holds.html",
        at=utcnow(),
        now=[_with_times(each) for each in documents if each["state"] == ACTIVE],
        later=[_with_times(each) for each in documents if each["state"] != ACTIVE],
        planned=PLANNED,
        mine=mine,
        offers=[("release", ACTIONS["release"].label)] if mine else [],
        has_more=len(rows) > MOST_HOLDS,
        most=MOST_HOLDS,
    )


def _documents(call: UiCall, session: Session) -> Iterator[object]:
    for chunk in exports.chunks(hold_list.by_time(session, seen_by(call), exports.MOST + 1)):
        yield from documents_of(call, session, chunk)


def _with_times(document: dict[str, Any]) -> dict[str, Any]:
    """Return the hold with ``since`` and ``until`` as times (UTC), its person by name, and the command that releases
    it."""
    since = document["begun_at"] or document["starts_at"] or document["asserted_at"]
    until = document["ends_at"]
    handle = commands.called(document["node_name"], document["node_uuid"])
    return {
        **document,
        "asserted_by": document["asserted_by_name"] or document["asserted_by"],
        "since": datetime.fromisoformat(since),
        "until": until and datetime.fromisoformat(until),
        "command": commands.RELEASE_HOLD.of(node=handle, hold=document["uuid"]),
    }
