"""/: the fleet by state and class, and whether conductors serve it."""

from typing import Any

from flask import Response
from sqlalchemy import Connection, select

from baremetal_sched.baremetal import fleet
from baremetal_sched.baremetal.api.hold_readers import reader
from baremetal_sched.baremetal.api.resources.owners import creates_own_nodes
from baremetal_sched.baremetal.conductors.ownership import live_members
from baremetal_sched.baremetal.domains.domain_list import count_inside
from baremetal_sched.baremetal.nodes.node_list import NodeFilters
from baremetal_sched.baremetal.provider.availability import (
    HAS_STARTED,
    HELD_COLUMNS,
    POWER_UNKNOWN,
    Held,
    held_by_type,
)
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.errors import NotAllowed
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.scheduling import capacity, capacity_history
from baremetal_sched.scheduling.api.claims import visible_to as claims_visible_to
from baremetal_sched.scheduling.api.holds import seen_by
from baremetal_sched.scheduling.api.policies import ALL_CAPACITY, CAPACITY, DOMAINS, GET_CLAIM, MANAGE_WEBHOOKS
from baremetal_sched.scheduling.api.webhooks import visible_to as webhooks_visible_to
from baremetal_sched.scheduling.capacity import Figures
from baremetal_sched.ui import attention, ends
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.pictures.day import DaySample, day
from baremetal_sched.ui.rendering import page

#: The number of classes and groups on the page, the ones with most nodes; the others are counted.
MOST_ROWS = 50
#: The number of classes whose last day is drawn.
MOST_PICTURED = 5
#: The number of classes that a line names.
MOST_NAMED = 20

SEE_CONDUCTORS = "baremetal:conductor:get"
ENROL = "baremetal:node:create"


def show_fleet(call: UiCall, connection: Connection) -> Response:
    """GET /"""
    call.refuse_query()
    visible = call.listed("node")
    states = fleet.count_states(connection, visible)
    waiting = _waiting(call, connection)
    classes = _classes(call, connection, visible) if call.allows(CAPACITY) else None
    groups = fleet.count_groups(connection, live_members(connection, call.settings), visible)
    timeout = call.settings.conductor.heartbeat_timeout
    conductors = fleet.count_conductors(connection, timeout) if call.allows(SEE_CONDUCTORS) else None
    unserved = [group for group in groups if group.unserved]
    wrong = attention.of_nodes(connection, states, classes, visible)
    if call.allows(GET_CLAIM):
        wrong += attention.of_late_ends(ends.count_late(call, connection))
    inside = count_inside(connection, visible) if call.allows(DOMAINS) else {}
    total = fleet.total(states)
    if conductors is not None:
        wrong += attention.of_conductors(connection, timeout)
    if call.allows(MANAGE_WEBHOOKS):
        wrong += attention.of_webhooks(connection, webhooks_visible_to(call))
    return page(
        call,
        "fleet.html",
        everything=visible.everything,
        wrong=wrong,
        failures=attention.newest_failures(connection, states, visible),
        waiting=None if waiting is None else waiting[:MOST_NAMED],
        free_unwanted=_free(classes),
        requests=sum(number for _, number in waiting or ()),
        held=_held(call, connection),
        exhausted=[
            each.keys["resource_class"] for each in classes or () if each.keys["resource_class"] and not each.free
        ],
        power_unknown=sum(each.unavailable.get(POWER_UNKNOWN, 0) for each in classes or ()),
        most_named=MOST_NAMED,
        shows_errors=visible.everything and call.redaction.of("last_error") is None,
        shows_reasons=call.redaction.of("maintenance_reason") is None,
        now=utcnow(),
        total=total,
        may_enrol=call.allows(ENROL) or creates_own_nodes(call),
        outside=[(level, max(0, total - nodes)) for level, nodes in inside.items()],
        states=states,
        sums=None if classes is None else _sum(classes),
        classes=None if classes is None else classes[:MOST_ROWS],
        more_classes=0 if classes is None else max(0, len(classes) - MOST_ROWS),
        day=_day(connection, classes) if classes is not None and call.allows(ALL_CAPACITY) else None,
        conductors=conductors,
        unserved=unserved[:MOST_ROWS],
        more_unserved=max(0, len(unserved) - MOST_ROWS),
        nodes_unserved=sum(group.unserved for group in unserved),
    )


def _waiting(call: UiCall, connection: Connection) -> list[tuple[str, int]] | None:
    """The classes that requests wait for, with their numbers, those with most first; None: the caller may see none."""
    if not call.allows(GET_CLAIM):
        return None
    own = claims_visible_to(call)
    counted = fleet.waiting_by_class(fleet.MOST_CLASSES, *([] if own is None else [own]))
    return [(name, number) for name, number in connection.execute(counted)]


def _held(call: UiCall, connection: Connection) -> list[Held] | None:
    """Return how many machines have started holds, by type; None: the caller may see none.

    SELECT type, count(DISTINCT node_id), … FROM holds h JOIN nodes n … WHERE <it has started> GROUP BY type
    """
    try:
        seen_by(call)
    except NotAllowed:
        return None
    seen = reader(call).conditions
    holds = select(*HELD_COLUMNS).join(Node, Node.id == Hold.node_id).where(HAS_STARTED, *seen)
    return [held for _, held in held_by_type(connection, holds)]


def _classes(call: UiCall, connection: Connection, visible: Visibility) -> list[Figures]:
    """The figures of each resource class, that with most nodes first."""
    found = capacity.measure(connection, call.settings, ["resource_class"], NodeFilters(), visible)
    return sorted(found, key=lambda each: (-each.total, each.keys["resource_class"] or ""))


def _day(connection: Connection, classes: list[Figures]) -> list[dict[str, Any]]:
    """The last day of the classes with most machines, as far as something is known of it; one statement."""
    largest = [each for each in classes if each.keys["resource_class"]][:MOST_PICTURED]
    names = {resource_class_of(each.keys["resource_class"]): each for each in largest}
    samples: dict[str, list[DaySample]] = {}
    for row in capacity_history.read_day(connection, names):
        samples.setdefault(row.resource_class, []).append(DaySample(row.at, row.free, row.in_use, row.waiting))
    begins = max((each[-1].at for each in samples.values()), default=0) - capacity_history.DAY + capacity_history.EVERY
    return [
        {
            "name": (name := figures.keys["resource_class"]),
            "free": figures.free,
            "least": min(figures.free, *(each.free for each in samples[key])),
            "waiting": max(each.waiting for each in samples[key]),
            "picture": day(f"day-{place}", f"{name} over the last day", samples[key], begins),
        }
        for place, (key, figures) in enumerate(names.items())
        if key in samples
    ]


def _free(classes: list[Figures] | None) -> dict[str, int]:
    """Return the number of free machines by class, as placement names it, of classes that have any."""
    names = ((resource_class_of(each.keys["resource_class"] or ""), each.free) for each in classes or ())
    return {name: free for name, free in names if free}


def _sum(classes: list[Figures]) -> Figures:
    """The figures of all classes together."""
    everything = Figures({})
    for each in classes:
        everything.free += each.free
        everything.allocated += each.allocated
        for why, count in each.unavailable.items():
            everything.add(why, count)
    return everything
