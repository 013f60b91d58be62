"""The gate: every change of who has a machine passes here.

- A consumer gets machines (``got``), gives them back (``given_back``), or loses them (``lost``): its events are noted.
- A machine may have become free (``freed``): it is handed over to waiting requests before the transaction commits.
  ``freed_machines`` returns those that are free and for whose class requests wait.
- A request begins to wait, is decided, or leaves (``note_request``): its event is noted.
- A newcomer comes after the requests that wait: its statements claim a machine only if no request waits for its class,
  and if they change no row, the machine is handed over first (``require_unwanted``).
- One amount of one class of one provider, what Nova requests for each bare metal server, is claimed and given back in
  one statement on PostgreSQL, with its event, and in a few on other databases. The form is chosen here.

The database decides whether a provider is a machine.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Select, and_, bindparam, or_, select, union_all
from sqlalchemy.orm import Session

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import in_words, statement_epoch
from baremetal_sched.db.compiled import IDS
from baremetal_sched.db.event_types import EventType
from baremetal_sched.db.models.waiting_requests import class_of
from baremetal_sched.db.notes import UNLOCKED_COLUMNS, Notes, WaitedFor, notes_of, values_within
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
    PROVIDER_AGGREGATES,
    PROVIDERS,
    SHARES,
    first_waiting_for,
    is_open,
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


# -- freed machines, and the machines that share with them -------------------------------------------------------------

_ROOTS = PROVIDERS.alias("root")

#: SELECT r.id, <its queue> FROM resource_providers p JOIN resource_providers r ON r.id = p.root_id
#: JOIN resource_classes c ON c.id = r.mirrored_class_id
#: JOIN inventories i ON i.provider_id = r.id AND i.resource_class_id = r.mirrored_class_id AND i.free > 0
#: WHERE (<it is open> OR <its queue is that of a booking>)
#: AND ((SELECT w.id FROM pending_claims w WHERE w.state = 'waiting' AND w.resource_class = <its queue> LIMIT 1)
#: IS NOT NULL OR (… 'gathering' …) IS NOT NULL) AND p.… (An EXISTS becomes a join, which reads all that wait.)
_QUEUE_OF_ROOT = queue_of(_ROOTS, CLASSES.c.name)
_WAITING, _GATHERING = (first_waiting_for(_QUEUE_OF_ROOT, state) for state in ("waiting", "gathering"))
_FREE_AND_WANTED = (
    select(_ROOTS.c.id, _QUEUE_OF_ROOT.label("name"), _WAITING.label("waiting"), _GATHERING.label("gathering"))
    .select_from(_ROOTS)
    .join(CLASSES, CLASSES.c.id == _ROOTS.c.mirrored_class_id)
    .join(
        INVENTORIES,
        and_(
            INVENTORIES.c.provider_id == _ROOTS.c.id,
            INVENTORIES.c.resource_class_id == _ROOTS.c.mirrored_class_id,
            INVENTORIES.c.free > 0,
        ),
    )
    .where(or_(is_open(INVENTORIES, statement_epoch), CLASSES.c.name != _QUEUE_OF_ROOT))
    .where(or_(_WAITING.is_not(None), _GATHERING.is_not(None)))
)
_WANTED_MACHINES = _FREE_AND_WANTED.join(PROVIDERS, PROVIDERS.c.root_id == _ROOTS.c.id)

#: The most machines that are looked at for a shared resource that becomes free; the sweep looks at all.
_MOST_SHARING = 10
_OWN, _OTHERS = PROVIDER_AGGREGATES.alias("own"), PROVIDER_AGGREGATES.alias("others")
#: The same for machines that share what a provider gives:
#: … JOIN provider_aggregates others ON others.provider_id = r.id JOIN provider_aggregates own
#: ON own.aggregate_id = others.aggregate_id JOIN resource_providers p ON p.id = own.provider_id
#: WHERE p.mirrored_class_id IS NULL AND <p has the trait of those that share> … LIMIT 10
_WANTED_SHARING = (
    _FREE_AND_WANTED.join(_OTHERS, _OTHERS.c.provider_id == _ROOTS.c.id)
    .join(_OWN, _OWN.c.aggregate_id == _OTHERS.c.aggregate_id)
    .join(PROVIDERS, PROVIDERS.c.id == _OWN.c.provider_id)
    .where(PROVIDERS.c.mirrored_class_id.is_(None), SHARES)
)


def _with_sharing(condition: ColumnElement[bool]) -> Select[Any]:
    """Return the query of the machines of providers that meet the condition, and of machines that share these."""
    sharing = _WANTED_SHARING.where(condition).limit(_MOST_SHARING).subquery("sharing")
    found = union_all(_WANTED_MACHINES.where(condition), select(sharing)).subquery("wanted")
    return select(found)


_WANTED_PROVIDER = _with_sharing(PROVIDERS.c.id == bindparam("provider", type_=Integer))  # PostgreSQL keeps its plan
_WANTED_PROVIDERS = _with_sharing(PROVIDERS.c.id.in_([IDS]))
_WANTED_NODE = _WANTED_MACHINES.where(PROVIDERS.c.uuid == bindparam("node"))
_WANTED_NODES = _WANTED_MACHINES.where(PROVIDERS.c.uuid.in_(bindparam("nodes", expanding=True)))


@dataclass(frozen=True)
class FreedMachines:
    """Machines that are free, the queue by the id of the provider: those for which requests for one machine wait, and
    those for which requests for several do. The queue is the class, or that of the booking that has the machine now."""

    wanted: dict[int, str]
    gathered: dict[int, str]


def freed_machines(connection: Connection, notes: Notes) -> FreedMachines:
    """Return the noted machines that are free now and in whose queue requests wait, by the notes of a transaction."""
    found: list[Any] = []
    if len(notes.providers) == 1:
        found += compiled.run(connection, _WANTED_PROVIDER, {"provider": min(notes.providers)}).all()
    elif notes.providers:
        found += compiled.run(connection, _WANTED_PROVIDERS, {}, sorted(notes.providers)).all()
    if len(notes.nodes) == 1:
        found += compiled.run(connection, _WANTED_NODE, {"node": min(notes.nodes)}).all()
    elif notes.nodes:
        found += connection.execute(_WANTED_NODES, {"nodes": sorted(notes.nodes)}).all()
    found.sort(key=lambda row: row.id)
    wanted = {provider: name for provider, name, waiting, _ in found if waiting is not None}
    return FreedMachines(wanted, {provider: name for provider, name, _, several in found if several is not None})
