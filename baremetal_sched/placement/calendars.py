"""Calendars: the counter of a machine's inventory that counts the changes of when the machine will be free.

Those are changes of ends, planned holds and bookings. A claim changes ``used`` of the same row, so that two of them
meet on every database, Galera included.
"""

from collections.abc import Mapping

from sqlalchemy import Connection, bindparam, select, update
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db import compiled
from baremetal_sched.db.compiled import IDS
from baremetal_sched.db.results import require_changed
from baremetal_sched.placement.tables import ALLOCATIONS, INVENTORIES, PROVIDERS

_ROOT = PROVIDERS.alias("root")
_MIRRORED = select(_ROOT.c.mirrored_class_id).where(_ROOT.c.id == INVENTORIES.c.provider_id).scalar_subquery()
_OWN = select(PROVIDERS.c.root_id).join_from(ALLOCATIONS, PROVIDERS, PROVIDERS.c.id == ALLOCATIONS.c.provider_id)
_MACHINES = (
    select(INVENTORIES.c.provider_id, INVENTORIES.c.resource_class_id, INVENTORIES.c.calendar)
    .where(
        INVENTORIES.c.provider_id.in_(_OWN.where(ALLOCATIONS.c.consumer_id.in_([IDS]))),
        INVENTORIES.c.resource_class_id == _MIRRORED,
    )
    .order_by(INVENTORIES.c.provider_id)
)
#: UPDATE inventories SET calendar = calendar + 1 WHERE … AND calendar = :seen
_TURN = (
    update(INVENTORIES)
    .where(
        INVENTORIES.c.provider_id == bindparam("provider"),
        INVENTORIES.c.resource_class_id == bindparam("class_id"),
        INVENTORIES.c.calendar == bindparam("seen"),
    )
    .values(calendar=INVENTORIES.c.calendar + 1)
)


def turn(connection: Connection, *consumers: int) -> None:
    """Count up the calendars of the machines that consumers (ids) have. Raises StaleDataError if one has changed."""
    for provider, class_id, seen in compiled.run(connection, _MACHINES, {}, consumers).all():
        given = {"provider": provider, "class_id": class_id, "seen": seen}
        changed = compiled.change(connection, _TURN, given)
        require_changed(changed, "the calendar of a machine was changed")


#: SELECT p.id, p.uuid, p.mirrored_class_id FROM resource_providers p WHERE p.uuid IN (…) ORDER BY p.id
_NAMED = (
    select(PROVIDERS.c.id, PROVIDERS.c.uuid, PROVIDERS.c.mirrored_class_id)
    .where(PROVIDERS.c.uuid.in_(bindparam("uuids", expanding=True)))
    .order_by(PROVIDERS.c.id)
)


def turn_seen(connection: Connection, calendars: Mapping[str, int]) -> frozenset[int]:
    """Count up the calendars of machines (UUIDs of providers), which are what was seen of them; return the ids of the
    providers. Raises StaleDataError if one has changed since, or is gone."""
    if not calendars:
        return frozenset()
    found = connection.execute(_NAMED, {"uuids": [*calendars]}).all()
    for row_id, uuid, class_id in found:
        given = {"provider": row_id, "class_id": class_id, "seen": calendars[uuid]}
        require_changed(compiled.change(connection, _TURN, given), "the calendar of a machine was changed")
    if len(found) < len(calendars):
        raise StaleDataError("a machine was deleted")
    return frozenset(row_id for row_id, *_ in found)
