"""Events of consumers: machines that they get and give back, and claims that wait.

The database decides whether a provider is a machine.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import in_words
from baremetal_sched.db.event_types import NODE_COLUMNS, EventType
from baremetal_sched.db.notes import UNLOCKED_COLUMNS, notes_of, values_within
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.tables import ALLOCATIONS, CONSUMERS, GROUP_MEMBERS, PENDING_CLAIMS, PROVIDERS

#: An earlier release wrote the state of the node as well, and so does this one while that may read it.
_of_machine = partial(EventType, subject="node", members=("uuid", "name", "consumer"), optional=NODE_COLUMNS[1:])
MACHINE_CLAIMED = _of_machine("scheduling.machine.claimed", "A consumer has got the node, through any API.")
MACHINE_RELEASED = _of_machine("scheduling.machine.released", "A consumer has given the node back, or has lost it.")

#: States of events only: a claim that was given back, and one that left the queue before it was decided.
RELEASED = "released"
WITHDRAWN = "withdrawn"

#: The types of what becomes of a claim, by its state.
_OF_STATES = {
    state: EventType(f"scheduling.claim.{state}", sentence, "claim", ("claim", "consumer"))
    for state, sentence in {
        "waiting": "A claim, an allocation or a server (``kind``) waits for a machine.",
        "claimed": "The claim, allocation or server has got its machine.",
        "timed_out": "It has waited until its deadline, and got no machine.",
        "failed": "It can get no machine, for the ``reason``.",
        WITHDRAWN: "It was deleted while it waited.",
        RELEASED: "It was deleted after it had got its machine.",
    }.items()
}
EVENT_TYPES = (MACHINE_CLAIMED, MACHINE_RELEASED, *_OF_STATES.values())

#: The columns of a consumer that its events tell.
OWN_COLUMNS = (CONSUMERS.c.project_id, CONSUMERS.c.user_id)

#: The machine group (an id) of the consumer of an allocation.
GROUP_OF_HOLDER = (
    select(GROUP_MEMBERS.c.group_id).where(GROUP_MEMBERS.c.consumer_id == ALLOCATIONS.c.consumer_id).scalar_subquery()
)

#: The columns that the events of claims tell.
OF_CLAIM = (
    *("uuid", "kind", "resource_class", "priority", "asked_at", "deadline"),
    *("consumer_project", "consumer_user"),
)


def claimed_within(request: ConsumerWrite) -> dict[str, Any]:
    """Return the parameters of a statement that writes the event itself, on PostgreSQL (``insert_within``)."""
    data = _data(request.uuid, request.project_id, request.user_id)
    return values_within(MACHINE_CLAIMED, data, request.project_id)


def released_within(consumer: str, row: Any) -> dict[str, Any]:
    """The same if the consumer gives back its machine. ``row`` has its columns."""
    return values_within(MACHINE_RELEASED, _data(consumer, row.project_id, row.user_id), row.project_id)


def note_change(
    connection: Connection, request: ConsumerWrite, consumer: Any, before: Collection[int], after: Collection[int]
) -> None:
    """Note which machines, by ids of providers, the consumer of the request gives back and gets. ``consumer``: its row
    as it was, None if it is new. If its project changes, the former one gives all back, and the new one gets all."""
    stays = consumer is not None and consumer.project_id == request.project_id
    kept = {*before} & {*after} if stays else set()
    note_released(connection, request.uuid, consumer, {*before} - kept)
    note_claimed(connection, request, {*after} - kept)


def note_claimed(connection: Connection, request: ConsumerWrite, roots: Iterable[str | int]) -> None:
    """Note that the consumer of the request gets machines, known by their providers: UUIDs or ids."""
    for root in roots:
        _note(connection, MACHINE_CLAIMED, root, request.uuid, request.project_id, request.user_id)


def note_released(connection: Connection, consumer: str, row: Any, roots: Iterable[int]) -> None:
    """Note that a consumer gives back machines, known by ids of providers. ``row`` has its columns."""
    for root in roots:
        _note(connection, MACHINE_RELEASED, root, consumer, row.project_id, row.user_id)


def _holders(session: Session, *conditions: ColumnElement[bool], locks: bool = False) -> set[tuple[str, str, str]]:
    """Return the consumers that hold something of the providers that meet the conditions: UUID, project and user. With
    ``locks`` none of them gives it back until the transaction ends."""
    query = select(CONSUMERS.c.uuid, *OWN_COLUMNS).join_from(CONSUMERS, ALLOCATIONS).join(PROVIDERS).where(*conditions)
    rows = session.execute(query.with_for_update() if locks else query)
    return {(uuid, project, user) for uuid, project, user in rows}


def note_moved(session: Session, old_root: int, new_root: int, moved: Collection[int]) -> None:
    """Note who gets or gives back a machine as providers (their ids) have moved from one tree to another."""
    is_moved, root = PROVIDERS.c.id.in_(moved), PROVIDERS.c.root_id
    movers, connection = _holders(session, is_moved), session.connection()
    for consumer in sorted(movers - _holders(session, root == old_root)):
        _note(connection, MACHINE_RELEASED, old_root, *consumer)
    for consumer in sorted(movers - _holders(session, root == new_root, ~is_moved)):
        _note(connection, MACHINE_CLAIMED, new_root, *consumer)


def note_lost(session: Session, machine: Mapping[str, str]) -> None:
    """Note that the consumers of a machine, whose provider is locked, lose it, as it is deleted. ``machine``: its UUID
    and NODE_COLUMNS."""
    uuid, told = machine["uuid"], {name: machine[name] for name in ("uuid", *UNLOCKED_COLUMNS)}
    holders = _holders(session, PROVIDERS.c.uuid == uuid, locks=True)
    if holders:
        note_groups(session, CONSUMERS.c.uuid.in_([consumer for consumer, *_ in holders]))
    for consumer in sorted(holders):
        notes_of(session).add(MACHINE_RELEASED, uuid, _data(*consumer), node=told, project=consumer[1])


def note_groups(session: Session, *conditions: ColumnElement[bool]) -> None:
    """Note the machine groups of the consumers that meet the conditions: they have fewer machines now."""
    groups = select(GROUP_MEMBERS.c.group_id).join(CONSUMERS, CONSUMERS.c.id == GROUP_MEMBERS.c.consumer_id)
    found = session.scalars(groups.where(GROUP_MEMBERS.c.group_id.is_not(None), *conditions))
    notes_of(session).groups.update(found)


def _note(connection: Connection, kind: EventType, root: str | int, consumer: str, project: str, user: str) -> None:
    notes_of(connection).add_of_machine(kind, root, _data(consumer, project, user), project=project)


def _data(consumer: str, project: str, user: str) -> dict[str, Any]:
    return {"consumer": {"uuid": consumer, "project_id": project, "user_id": user}}


def known_claim(session: Session, uuid: str) -> Any:
    """Return what ``note_claim`` needs of a claim that is about to leave, and its state; None if there is none."""
    columns = [PENDING_CLAIMS.c[name] for name in ("state", *OF_CLAIM)]
    return session.connection().execute(select(*columns).where(PENDING_CLAIMS.c.uuid == uuid)).first()


def note_claim(session: Session, state: str, claim: Any, reason: str | None = None) -> None:
    """Note that a claim is now in this state, or has left it. ``claim`` has ``OF_CLAIM``."""
    data = {
        "uuid": claim.uuid,
        "kind": claim.kind,
        "resource_class": claim.resource_class,
        "priority": claim.priority,
        "asked_at": in_words(claim.asked_at),
        "deadline": in_words(claim.deadline),
        "reason": reason,
    }
    consumer = {"uuid": claim.uuid, "project_id": claim.consumer_project, "user_id": claim.consumer_user}
    told = {"claim": data, "consumer": consumer}
    notes_of(session).add(_OF_STATES[state], claim.uuid, told, project=claim.consumer_project)
