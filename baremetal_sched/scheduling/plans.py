"""Plans of large groups: the machines that are kept for a request for several that waits, until all can be had at once.

A plan is not a booking: it keeps off newcomers that do not end in time, and gives way to those who use its machines, to
operators and to failures. One request of each class has one. ``planning`` makes it; here is how it is read, and how it
ends: in the transaction that ends the waiting of its request, which also hands its machines over.

Rows that a release or a setting has left behind are deleted by the sweep.
"""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Double, literal, or_, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.provider import booked_machines
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Node, WaitingRequest
from baremetal_sched.db.notes import Notes
from baremetal_sched.db.types import Reader
from baremetal_sched.placement import gate
from baremetal_sched.placement.tables import PROVIDERS
from baremetal_sched.placement.waiting_requests import GATHERING, IS_GATHERING
from baremetal_sched.settings import Settings

# Values of [scheduling] gather.
OFF = "off"
ALL = "all"


#: Requests (UUIDs) with plans, and classes.
Noted = tuple[list[str], set[str]]


def are_made(settings: Settings) -> bool:
    """Return whether requests get plans."""
    return bool(settings.scheduling.gather != OFF)


def start_of(reader: Reader, waiting_id: int) -> float | None:
    """Return the planned start of a request that waits (an id); None: it has no plan."""
    found = reader.execute(select(BOOKED.c.starts_at).where(BOOKED.c.waiting_id == waiting_id).limit(1)).first()
    return None if found is None else float(found.starts_at)


def planned(reader: Reader, waiting: Collection[int]) -> set[int]:
    """Return which of these requests (ids) have a plan."""
    query = select(BOOKED.c.waiting_id).distinct().where(BOOKED.c.waiting_id.in_(waiting))
    return {waiting_id for (waiting_id,) in reader.execute(query)}


def of_class(session: Session, resource_class: str) -> Sequence[Any]:
    """Return the rows of the plans of a class, in the order of the nodes."""
    query = select(BOOKED).join(WaitingRequest, WaitingRequest.id == BOOKED.c.waiting_id)
    return session.execute(
        query.where(WaitingRequest.resource_class == resource_class).order_by(BOOKED.c.node_id)
    ).all()


def noted(connection: Connection, settings: Settings, notes: Notes, freed: Collection[str]) -> Noted:
    """Return the requests (UUIDs) in whose plans the noted machines are; and the classes whose plans are to be made
    anew: theirs, and those whose machines are kept, of the ones of which machines were ``freed``.

    SELECT DISTINCT w.uuid, w.resource_class FROM booked_machines b JOIN nodes n ON … JOIN resource_providers p ON
    p.uuid = n.uuid JOIN pending_claims w ON w.id = b.waiting_id WHERE p.id IN (…) OR n.uuid IN (…)
    """
    nodes = notes.nodes | notes.booked
    if not are_made(settings) or not (notes.providers or nodes):
        return [], set()
    is_noted = or_(PROVIDERS.c.id.in_(notes.providers), Node.uuid.in_(nodes))
    query = (
        select(WaitingRequest.uuid, WaitingRequest.resource_class)
        .distinct()
        .select_from(BOOKED)
        .join(Node, Node.id == BOOKED.c.node_id)
        .join(PROVIDERS, PROVIDERS.c.uuid == Node.uuid)
        .join(WaitingRequest, WaitingRequest.id == BOOKED.c.waiting_id)
    )
    found = connection.execute(query.where(is_noted)).all()
    return [uuid for uuid, _ in found], {name for _, name in found} | classes_kept(connection, settings, {*freed})


def classes_kept(reader: Reader, settings: Settings, classes: Collection[str]) -> set[str]:
    """Return those of the classes whose machines are kept for a request when they are freed.

    SELECT DISTINCT resource_class FROM pending_claims WHERE <it waits> AND kept_since > now - :most AND …
    """
    if settings.scheduling.gather != ALL or not classes:
        return set()
    is_kept = WaitingRequest.kept_since > epoch() - literal(float(settings.scheduling.gather_at_most), Double())
    query = select(WaitingRequest.resource_class).distinct()
    kept = reader.execute(query.where(IS_GATHERING, is_kept, WaitingRequest.resource_class.in_(classes)))
    return {name for (name,) in kept}


def end(session: Session, settings: Settings, ids: Collection[int]) -> None:
    """End the plans of requests (ids) that are about to be decided, changed or deleted, before their rows are locked.
    The machines are handed over at the end of the transaction; after it another request of the class gets a plan."""
    if not are_made(settings):
        return
    columns = select(WaitingRequest.resource_class, WaitingRequest.id)
    asked = columns.where(WaitingRequest.id.in_(ids), WaitingRequest.state == GATHERING)
    by_class: dict[str, list[int]] = {}
    for name, waiting_id in session.execute(asked.order_by(WaitingRequest.id)):
        by_class.setdefault(name, []).append(waiting_id)
    for name, own in by_class.items():
        if booked_machines.drop(session, settings, BOOKED.c.waiting_id.in_(own)):
            ended(session, name, own)


def ended(session: Session, resource_class: str, ids: Collection[int]) -> None:
    """Have a plan of the class made after the transaction, for others than these requests, whose plans have ended.
    Raises StaleDataError if these have been made anew."""
    if planned(session, ids):
        raise StaleDataError("a plan was made anew")
    others = IS_GATHERING, WaitingRequest.resource_class == resource_class, WaitingRequest.id.not_in(ids)
    for uuid in session.scalars(select(WaitingRequest.uuid).where(*others).limit(1)):
        gate.waits(session, uuid)
