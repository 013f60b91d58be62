"""The gate: every change of who has a machine passes here.

- A consumer gets machines (``got``), gives them back (``given_back``), or loses them (``lost``): its events are noted.
- A machine may have become free (``freed``): it is handed over to waiting requests before the transaction commits.
  ``freed.freed_machines`` returns those that are free and for whose class requests wait.
- A request begins to wait, is decided, or leaves (``note_request``): its event is noted.
- A newcomer comes after the requests that wait: its statements claim a machine only if no request waits for its class,
  and if they change no row, the machine is handed over first (``require_unwanted``).
- One amount of one class of one provider, what Nova requests for each bare metal server, is claimed and given back in
  one statement on PostgreSQL, with its event, and in a few on other databases. The form is chosen here.

The database decides whether a provider is a machine.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import in_words
from baremetal_sched.db.event_types import EventType
from baremetal_sched.db.models.waiting_requests import class_of
from baremetal_sched.db.notes import UNLOCKED_COLUMNS, WaitedFor, notes_of, values_within
from baremetal_sched.placement import consumers, ending, single_claim
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.events import MACHINE_CLAIMED, MACHINE_RELEASED, OF_CLAIM, OF_STATES
from baremetal_sched.placement.tables import (
    ALLOCATIONS,
    CLASSES,
    CONSUMERS,
    GROUP_MEMBERS,
    INVENTORIES,
    PENDING_CLAIMS,
    PROVIDERS,
    first_waiting_for,
    queue_of,
)

#: The columns of a consumer that its events tell.
OWN_COLUMNS = (CONSUMERS.c.project_id, CONSUMERS.c.user_id)

#: The machine group (an id) of the consumer of an allocation.
GROUP_OF_HOLDER = (
    select(GROUP_MEMBERS.c.group_id).where(GROUP_MEMBERS.c.consumer_id == ALLOCATIONS.c.consumer_id).scalar_subquery()
)

_CLASS = select(CLASSES.c.name).where(CLASSES.c.id == INVENTORIES.c.resource_class_id).correlate(INVENTORIES)
#: SQL condition on an inventory: no request waits for machines of its class.
IS_UNWANTED = first_waiting_for(_CLASS.scalar_subquery()).is_(None)
_QUEUE = (
    select(queue_of(PROVIDERS, CLASSES.c.name))
    .where(PROVIDERS.c.id == INVENTORIES.c.provider_id, CLASSES.c.id == INVENTORIES.c.resource_class_id)
    .correlate(INVENTORIES)
)
#: The same of a machine that is closed to others: no request waits in its queue, which may be that of a booking.
IS_UNWANTED_OPENED = first_waiting_for(_QUEUE.scalar_subquery()).is_(None)
_WANTED = (
    select(INVENTORIES.c.provider_id)
    .distinct()
    .where(INVENTORIES.c.provider_id.in_(bindparam("providers", expanding=True)), ~IS_UNWANTED_OPENED)
)

# -- newcomers ---------------------------------------------------------------------------------------------------------


def offered(writer: Session | Connection) -> frozenset[int]:
    """Return the providers (ids) whose machines were offered to waiting requests a moment ago: newcomers may have the
    rest."""
    return notes_of(writer).offered


def is_newcomer(connection: Connection, provider: int | None = None) -> bool:
    """Return whether a claim of this provider (an id) must come after waiting requests: it is not made for one of them,
    and the provider has not just been offered to them."""
    notes = notes_of(connection)
    return not notes.gives and provider not in notes.offered


def require_unwanted(connection: Connection, providers: Iterable[int]) -> None:
    """Raise WaitedFor if a request waits for one of these providers (ids), so that a newcomer cannot claim it."""
    newcomers = [each for each in providers if is_newcomer(connection, each)]
    wanted = connection.scalars(_WANTED, {"providers": newcomers}).all() if newcomers else ()
    if wanted:
        raise WaitedFor(wanted)


# -- one amount --------------------------------------------------------------------------------------------------------


def enter(connection: Connection, requests: Sequence[ConsumerWrite]) -> tuple[dict[str, int], bool]:
    """Enter the consumers that are expected not to exist, and those of requests that waited. Return the ids of those
    that are new, by UUID, and whether all is claimed, as may be if one amount of one class is requested."""
    if single_claim.is_single(requests):
        new, is_claimed = _claim_single(connection, requests[0])
        return {} if new is None else {requests[0].uuid: new}, is_claimed
    entered = ((request.uuid, consumers.enter(connection, request)) for request in requests)
    return {uuid: new for uuid, new in entered if new is not None}, False


def _claim_single(connection: Connection, request: ConsumerWrite) -> tuple[int | None, bool]:
    """Enter a consumer and claim its amount. Return its id, None if it is not new, and whether it has the amount; if
    not, the general claim determines why. After machines were offered to waiting requests, only that knows which."""
    gives, is_general = not is_newcomer(connection), bool(offered(connection))
    new = consumers.take_reserved(connection, request)
    if new is None and request.generation is None and _is_at_once(connection) and not is_general:
        event = _within(connection, MACHINE_CLAIMED, request.uuid, request.project_id, request.user_id)
        return single_claim.enter(connection, request, gives=gives, event=event)
    new = consumers.enter_new(connection, request) if new is None else new
    if new is None or is_general or not single_claim.claim(connection, request, new, gives=gives):
        return new, False
    got(connection, request, request.allocations)
    return new, True


def give_all_back(
    connection: Connection, consumer: str, row: Any, holdings: Sequence[Any], roots: Collection[int]
) -> bool:
    """Note that a consumer, with its locked ``row``, gives back all that it has: ``holdings`` are its allocations,
    ``roots`` the providers (ids) that may be machines. Return whether the rows are deleted: one amount on PostgreSQL.
    """
    unwanted = [each.provider_id for each in holdings if each.first_waiting is None]
    freed(connection, [each.provider_id for each in holdings if each.serves_machines], unwanted=unwanted)
    if len(holdings) > 1 or not _is_at_once(connection):
        given_back(connection, consumer, row, roots)
        return False
    event = _within(connection, MACHINE_RELEASED, consumer, row.project_id, row.user_id)
    single_claim.release(connection, holdings[0], min(roots), event)
    return True


def _is_at_once(connection: Connection) -> bool:
    """Return whether the database changes several tables in one statement."""
    return connection.dialect.name == "postgresql"


def _within(connection: Connection, kind: EventType, consumer: str, project: str, user: str) -> dict[str, Any]:
    """Return the parameters of a statement that writes the event itself."""
    return values_within(connection, kind, _data(consumer, project, user), project)


# -- changes -----------------------------------------------------------------------------------------------------------


def changed(
    connection: Connection, request: ConsumerWrite, consumer: Any, before: Collection[int], after: Collection[int]
) -> None:
    """Note which machines, by ids of providers, the consumer of the request gives back and gets. ``consumer``: its row
    as it was, None if it is new. If its project changes, the former one gives all back, and the new one gets all."""
    stays = consumer is not None and consumer.project_id == request.project_id
    kept = {*before} & {*after} if stays else set()
    given_back(connection, request.uuid, consumer, {*before} - kept)
    got(connection, request, {*after} - kept)


def got(connection: Connection, request: ConsumerWrite, machines: Iterable[str | int]) -> None:
    """Note that the consumer of the request gets machines, known by their providers: UUIDs or ids."""
    for machine in machines:
        _note(connection, MACHINE_CLAIMED, machine, request.uuid, request.project_id, request.user_id)


def given_back(connection: Connection, consumer: str, row: Any, machines: Iterable[int]) -> None:
    """Note that a consumer gives back machines, known by ids of providers. ``row`` has its columns."""
    for machine in machines:
        _note(connection, MACHINE_RELEASED, machine, consumer, row.project_id, row.user_id)


def ended(connection: Connection, end: Any, machines: Collection[int]) -> None:
    """Note that machines, known by ids of providers, are given back at this end; None: it has not come."""
    if end is not None and machines:
        ending.given_back(connection, end, machines)


def freed(
    writer: Session | Connection,
    providers: Iterable[int] = (),
    *,
    nodes: Iterable[str] = (),
    groups: Iterable[int] = (),
    unwanted: Iterable[int] = (),
) -> None:
    """Note providers (ids) and nodes (UUIDs) that may be free for requests that wait, and machine groups (ids) whose
    consumers have fewer machines; ``unwanted``: those of the providers for which no request waited."""
    notes = notes_of(writer)
    notes.providers.update(providers)
    notes.nodes.update(nodes)
    notes.groups.update(groups)
    notes.unwanted.update(unwanted)


def moved(session: Session, old_root: int, new_root: int, providers: Collection[int]) -> None:
    """Note who gets or gives back a machine as providers (their ids) have moved from one tree to another."""
    is_moved, root = PROVIDERS.c.id.in_(providers), PROVIDERS.c.root_id
    movers, connection = _holders(session, is_moved), session.connection()
    for consumer in sorted(movers - _holders(session, root == old_root)):
        _note(connection, MACHINE_RELEASED, old_root, *consumer)
    for consumer in sorted(movers - _holders(session, root == new_root, ~is_moved)):
        _note(connection, MACHINE_CLAIMED, new_root, *consumer)


def lost(session: Session, machine: Mapping[str, str]) -> None:
    """Note that the consumers of a machine, whose provider is locked, lose it, as it is deleted. ``machine``: its UUID
    and NODE_COLUMNS."""
    holders = _holders(session, PROVIDERS.c.uuid == machine["uuid"], locks=True)
    if holders:
        left_groups(session, CONSUMERS.c.uuid.in_([consumer for consumer, *_ in holders]))
        ending.lost(session.connection(), machine["uuid"])
    for consumer in sorted(holders):
        _note(session.connection(), MACHINE_RELEASED, machine, *consumer)


def left_groups(session: Session, *conditions: ColumnElement[bool]) -> None:
    """Note the machine groups of the consumers that meet the conditions: they have fewer machines now."""
    groups = select(GROUP_MEMBERS.c.group_id).join(CONSUMERS, CONSUMERS.c.id == GROUP_MEMBERS.c.consumer_id)
    freed(session, groups=session.scalars(groups.where(GROUP_MEMBERS.c.group_id.is_not(None), *conditions)))


def _holders(session: Session, *conditions: ColumnElement[bool], locks: bool = False) -> set[tuple[str, str, str]]:
    """Return the consumers that hold something of the providers that meet the conditions: UUID, project and user. With
    ``locks`` none of them gives it back until the transaction ends."""
    query = select(CONSUMERS.c.uuid, *OWN_COLUMNS).join_from(CONSUMERS, ALLOCATIONS).join(PROVIDERS).where(*conditions)
    rows = session.execute(query.with_for_update() if locks else query)
    return {(uuid, project, user) for uuid, project, user in rows}


def _note(
    connection: Connection,
    kind: EventType,
    machine: str | int | Mapping[str, str],
    consumer: str,
    project: str,
    user: str,
) -> None:
    """Note the event of a machine, known by its provider, or by its columns if it is about to be deleted."""
    notes, data = notes_of(connection), _data(consumer, project, user)
    if isinstance(machine, Mapping):
        known = {name: machine[name] for name in ("uuid", *UNLOCKED_COLUMNS)}
        notes.add(kind, machine["uuid"], data, node=known, project=project)
    else:
        notes.add_of_machine(kind, machine, data, project=project)


def _data(consumer: str, project: str, user: str) -> dict[str, Any]:
    return {"consumer": {"uuid": consumer, "project_id": project, "user_id": user}}


# -- requests that wait ------------------------------------------------------------------------------------------------


def known_request(session: Session, uuid: str) -> Any:
    """Return what ``note_request`` needs of a request that is about to leave, and its state; None if there is none."""
    columns = [PENDING_CLAIMS.c[name] for name in ("state", *OF_CLAIM)]
    return session.connection().execute(select(*columns).where(PENDING_CLAIMS.c.uuid == uuid)).first()


def note_request(session: Session, state: str, claim: Any, reason: str | None = None) -> None:
    """Note that a request is now in this state, or has left it. ``claim`` has ``OF_CLAIM``. If it begins to wait,
    machines are looked for once more after the transaction."""
    data = {name: getattr(claim, name) for name in ("uuid", "kind", "resource_class", "priority")}
    data |= {"resource_class": class_of(claim.resource_class)}
    data |= {"asked_at": in_words(claim.asked_at), "deadline": in_words(claim.deadline), "reason": reason}
    told = {"claim": data, **_data(claim.uuid, claim.consumer_project, claim.consumer_user)}
    notes = notes_of(session)
    notes.add(OF_STATES[state], claim.uuid, told, project=claim.consumer_project)
    if state == "waiting":
        waits(session, claim.uuid)


def waits(session: Session, uuid: str) -> None:
    """Note that machines are looked for once more after the transaction, for a request that waits."""
    notes_of(session).waiting.append(uuid)
