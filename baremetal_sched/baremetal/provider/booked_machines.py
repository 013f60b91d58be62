"""The machines of bookings and plans: how they are closed to others, and opened again.

Every change of these rows locks their nodes, counts up the calendar of each, and has its ``closes_at`` follow in the
same transaction. So a claim or another booking that has looked at the machine before matches nothing, and looks again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, bindparam, delete, insert, select, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.holds import holds
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.compiled import insert_missing
from baremetal_sched.db.models import BookingLock, Node, table_of
from baremetal_sched.db.results import require_changed
from baremetal_sched.placement import gate
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS
from baremetal_sched.settings import Settings

_LOCKS = table_of(BookingLock)
_COUNT_UP = update(_LOCKS).where(_LOCKS.c.name == bindparam("locked")).values(number=_LOCKS.c.number + 1)


def count_up(session: Session, resource_class: str, project: str) -> None:
    """Count up the row of a class, and that of a project: whoever books machines of the class, or for the project,
    follows. To be called before any node is locked."""
    connection = session.connection()
    names = [f"class {resource_class}", f"project {project}"]
    for name in names:
        given = {"locked": name}
        if not connection.execute(_COUNT_UP, given).rowcount:
            insert_missing(connection, _LOCKS, [{"name": name, "number": 0}])
            require_changed(connection.execute(_COUNT_UP, given), "the row of a class or a project is being made")


class Calendar(NamedTuple):
    """The counter of a machine, and the amount that is used of it. While both are the same, so are its consumer and
    the moment at which it will be free."""

    provider: int
    class_id: int
    calendar: int
    used: int


#: SELECT n.id, p.id, i.resource_class_id, i.calendar, i.used FROM nodes n JOIN resource_providers p ON p.uuid = n.uuid
#: JOIN inventories i ON i.provider_id = p.id AND i.resource_class_id = p.mirrored_class_id WHERE n.id IN (…)
_CALENDARS = (
    select(Node.id, PROVIDERS.c.id, INVENTORIES.c.resource_class_id, INVENTORIES.c.calendar, INVENTORIES.c.used)
    .join(PROVIDERS, PROVIDERS.c.uuid == Node.uuid)
    .join(
        INVENTORIES,
        (INVENTORIES.c.provider_id == PROVIDERS.c.id)
        & (INVENTORIES.c.resource_class_id == PROVIDERS.c.mirrored_class_id),
    )
)
#: UPDATE inventories SET calendar = calendar + 1 WHERE … AND calendar = :seen AND used = :had
_TURN = (
    update(INVENTORIES)
    .where(
        INVENTORIES.c.provider_id == bindparam("provider"),
        INVENTORIES.c.resource_class_id == bindparam("class_id"),
        INVENTORIES.c.calendar == bindparam("seen"),
        INVENTORIES.c.used == bindparam("had"),
    )
    .values(calendar=INVENTORIES.c.calendar + 1)
)


def calendars(session: Session, nodes: Collection[int]) -> dict[int, Calendar]:
    """Return the calendars of nodes (ids) that have an inventory of their own class, by id."""
    rows = session.execute(_CALENDARS.where(Node.id.in_(nodes)))
    return {node: Calendar(*values) for node, *values in rows}


def lock(session: Session, nodes: Collection[int]) -> Sequence[Node]:
    """Lock nodes (ids), in the order of their ids, and return those that exist, as they are now."""
    locked = select(Node).where(Node.id.in_(nodes)).order_by(Node.id).with_for_update(of=Node)
    return session.scalars(locked.execution_options(populate_existing=True)).all()


def turn(session: Session, seen: Iterable[Calendar]) -> None:
    """Count up calendars, in the order of the providers. Raises StaleDataError if one is not what was seen."""
    for each in sorted(seen):
        given = {"provider": each.provider, "class_id": each.class_id, "seen": each.calendar, "had": each.used}
        require_changed(session.connection().execute(_TURN, given), "the calendar of a machine was changed")


def put(
    session: Session, nodes: Sequence[Node], seen: Mapping[int, Calendar], made_at: float, row: Mapping[str, Any]
) -> None:
    """Keep nodes, whose rows are locked, for a booking or a plan: ``row`` has the columns of ``booked_machines`` apart
    from the node and its turnaround, which ``turnaround`` has by node (an id). If the booking runs, those who wait
    under it get them at the end of the transaction.

    Raises StaleDataError if the calendar of one is not what was ``seen``, under its lock or before.
    """
    if any(node.id not in seen for node in nodes):
        raise StaleDataError("a machine no longer has an inventory")
    turn(session, (seen[node.id] for node in nodes))
    turnaround = row["turnaround"]
    rows = [{**row, "node_id": node.id, "turnaround": turnaround[node.id], "made_at": made_at} for node in nodes]
    session.connection().execute(insert(BOOKED), rows)
    for node in nodes:
        if node.closes_at is None or node.closes_at > made_at:
            node.closes_at = made_at
            node.touch()
    session.flush()
    gate.freed(session, nodes=[node.uuid for node in nodes])


def move(session: Session, ids: Collection[int], seen: Mapping[int, Calendar], times: Mapping[str, Any]) -> None:
    """Give rows (ids), whose nodes are locked, other times: ``times`` has columns. ``seen``: the calendars of their
    nodes. Raises StaleDataError if one is not what was seen."""
    turn(session, seen.values())
    session.connection().execute(update(BOOKED).where(BOOKED.c.id.in_(ids)).values(**times))


def drop(session: Session, settings: Settings, *conditions: ColumnElement[bool]) -> list[str]:
    """Delete the rows that meet the conditions, and have their nodes open again, as far as nothing else closes them;
    return the UUIDs of the nodes. What may be free now is handed over at the end of the transaction."""
    named = session.scalars(select(BOOKED.c.node_id).where(*conditions)).all()
    if not named:
        return []
    nodes = lock(session, named)
    ids = [node.id for node in nodes]
    own = BOOKED.c.node_id.in_(ids), *conditions
    turn(session, calendars(session, session.scalars(select(BOOKED.c.node_id).where(*own)).all()).values())
    session.connection().execute(delete(BOOKED).where(*own))
    reopen(session, settings, nodes)
    return [node.uuid for node in nodes]


def use(session: Session, booking_id: int, nodes: Collection[int]) -> None:
    """Note that machines (ids of nodes, whose rows are locked) of a booking are claimed under it, if it is the first
    time: that is no reason to turn their calendars."""
    unused = BOOKED.c.booking_id == booking_id, BOOKED.c.node_id.in_(nodes), BOOKED.c.used_at.is_(None)
    session.connection().execute(update(BOOKED).where(*unused).values(used_at=epoch()))


def reopen(session: Session, settings: Settings, nodes: Iterable[Node]) -> None:
    """Derive again when nodes, whose rows are locked, are closed, after a row of theirs was deleted or is over."""
    for node in nodes:
        holds.settle(node, holds.of_node(session, node), settings)
    session.flush()
