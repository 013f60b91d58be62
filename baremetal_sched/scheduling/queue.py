"""The queue of waiting requests: the conditions of each, and the requests that may get a free machine."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, and_, func, literal, or_, select, tuple_
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED, COUNTS, booked_from, held_from, is_clear
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.holds.rules import EVERYTHING, HoldView
from baremetal_sched.baremetal.matching import free_machine
from baremetal_sched.baremetal.matching.free_machine import FreeMachine
from baremetal_sched.baremetal.matching.node_explanation import Finding, NodeExplanation, explain
from baremetal_sched.baremetal.matching.node_request import NodeRequest
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.compute import server_group_places
from baremetal_sched.db import compiled
from baremetal_sched.db.clock import in_words
from baremetal_sched.db.compiled import IDS
from baremetal_sched.db.models import Node, WaitingRequest
from baremetal_sched.db.models.waiting_requests import is_of_booking
from baremetal_sched.db.types import Query, as_text
from baremetal_sched.placement import queue_entries, tables, waiting_requests
from baremetal_sched.placement.queue_entries import ENDLESS, FreeUntil, QueueEntry
from baremetal_sched.placement.tables import CLASSES, PENDING_CLAIMS, PROVIDERS
from baremetal_sched.placement.waiting_requests import ENDS_AT, IS_WAITING, WAITING
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class KnownRequest:
    """The request of claims with the same key, which never changes; the project that asked first. ``shared_key``: the
    same for requests that differ only in their project, or in their group."""

    project: str
    request: MachineRequest
    shared_key: str

    @classmethod
    def of(cls, project: str, document: Mapping[str, Any]) -> "KnownRequest":
        """Return what ``document`` was made of."""
        request = request_of(document)
        return cls(project, request, waiting_requests.key_of(request.of_anyone().document()))


#: Requests by their keys: most claims wait for longer than one hand-over.
_requests: dict[str, KnownRequest] = {}
_MOST_REQUESTS = 10_000

#: If a queue has more entries than may be tested, this many are read to find the ones that may fit.
_MOST_READ = 5_000


def request_of(document: Mapping[str, Any]) -> MachineRequest:
    """Return the request that ``document`` was made of."""
    return TreeRequest.of(document) if "query" in document else NodeRequest.of(document)


def current_request(context: MachineContext, document: Mapping[str, Any]) -> MachineRequest:
    """Return the request like ``request_of``, with the conditions of its server group at this moment."""
    return server_group_places.narrowed(context, request_of(document))


#: UUIDs of server groups; None: of all.
Groups = Collection[str] | None


@dataclass(frozen=True)
class MachineQueue:
    """The entries of the queue that may get a machine (a node's UUID), in their order.

    ``groups``: the server groups (UUIDs) of their servers. ``is_cut``: there are more entries that may fit.
    """

    machine: str
    entries: Sequence[QueueEntry]
    groups: frozenset[str]
    is_cut: bool


def machine_queues(
    connection: Connection,
    settings: Settings,
    machines: Mapping[int, str],
    most: int,
    groups: Groups = (),
    *,
    locks: bool = True,
) -> list[MachineQueue]:
    """Return the requests that may get the machines, given as ids of providers with the names of their queues.

    At most ``most`` entries of a queue are returned: the ones that may fit, each project in turn; servers of server
    groups only if the group is among ``groups``, and may have a server on the machine at this moment. With ``locks``
    the rows of the nodes are locked. Raises MachineLocked.
    """
    queues: list[MachineQueue] = []
    for provider, name in machines.items():
        # Before the machine is read: a change of it looks at waiting requests only while the machine is free.
        machine = free_machine.lock(connection, provider) if locks else free_machine.read(connection, provider)
        if machine is not None:
            queues.append(_queue(connection, settings, machine, name, most, groups))
    return [each for each in queues if each.entries or each.is_cut]


def queue_of(
    connection: Connection, node: str, resource_class: str, most: int, settings: Settings
) -> MachineQueue | None:
    """Return the requests that may get the node (a UUID), of this class, when it is free; None if none waits. Nothing
    is locked."""
    machine = free_machine.find(connection, node)
    return None if machine is None else _queue(connection, settings, machine, resource_class, most, None)


def _queue(
    connection: Connection, settings: Settings, machine: FreeMachine, class_name: str, most: int, groups: Groups
) -> MachineQueue:
    queue = queue_entries.entries(connection, class_name, machine.traits, most + 1)
    if len(queue) > most and most < _MOST_READ:
        queue = queue_entries.entries(connection, class_name, machine.traits, _MOST_READ + 1)
    known = known_requests(connection, {entry.first: entry.request_key for entry in queue})
    fitting: list[tuple[QueueEntry, str]] = []
    group_of: dict[QueueEntry, str] = {}
    for entry in queue:
        each = known.get(entry.request_key)
        group = None if each is None else each.request.server_group
        is_among = group is None or groups is None or group in groups
        if each is not None and is_among and each.request.may_fit(machine):
            entry = replace(entry, is_strict=each.request.strict_end)
            fitting.append((entry, each.project))
            if group is not None:
                group_of[entry] = group
    chosen = _shared(fitting, most)
    of_chosen = {group_of[entry] for entry in chosen if entry in group_of}
    level = settings.compute.server_group_level
    may = frozenset(server_group_places.admitting(connection, level, machine.uuid, of_chosen) if of_chosen else ())
    is_cut = len(chosen) < len(fitting) or len(queue) > max(most, _MOST_READ)
    entries = [entry for entry in chosen if entry not in group_of or group_of[entry] in may]
    return MachineQueue(machine.uuid, entries, may, is_cut)


def _shared(queue: Sequence[tuple[QueueEntry, str]], most: int) -> list[QueueEntry]:
    """Return at most ``most`` entries of a queue, in its order: of each priority, the highest first, one of each
    project in turn."""
    if len(queue) <= most:
        return [entry for entry, _ in queue]
    turns: Counter[tuple[int, str]] = Counter()
    ranked: list[tuple[int, int, int]] = []
    for place, (entry, project) in enumerate(queue):
        ranked.append((-entry.priority, turns[entry.priority, project], place))
        turns[entry.priority, project] += 1
    return [queue[place][0] for place in sorted(place for *_, place in sorted(ranked)[:most])]


def known_requests(connection: Connection, keys: Mapping[int, str]) -> dict[str, KnownRequest]:
    """Return the requests of claims, known by ids and keys, by their keys, except those of deleted claims."""
    known = {key: _requests.get(key) for key in keys.values()}
    missing = {claim_id: key for claim_id, key in keys.items() if known[key] is None}
    for claim_id, (project, document) in _requests_of(connection, missing.keys()).items():
        known[missing[claim_id]] = KnownRequest.of(project, document)
    found = {key: each for key, each in known.items() if each is not None}
    if len(_requests) > _MOST_REQUESTS:
        _requests.clear()
    _requests.update(found)
    return found


_WAITING = PENDING_CLAIMS.c
_REQUESTS = select(_WAITING.id, _WAITING.consumer_project, as_text(_WAITING.request)).where(_WAITING.id.in_([IDS]))


def _requests_of(connection: Connection, firsts: Collection[int]) -> dict[int, tuple[str, Mapping[str, Any]]]:
    """Return the projects and requests of claims by their ids."""
    if not firsts:
        return {}
    rows = compiled.run(connection, _REQUESTS, {}, firsts)
    return {claim_id: (project, orjson.loads(text)) for claim_id, project, text in rows}


def room_of(session: Session, settings: Settings, node: Node, queue: str) -> FreeUntil:
    """Return until when a free node leaves its time to the requests of a queue."""
    # A booked machine is closed to all others, and open to its booking until this is over.
    if node.closes_at is None or is_of_booking(queue):
        return ENDLESS
    booked_at = booked_from(session, settings, Node.id == node.id)
    closes_at = node.closes_at if booked_at is None else held_from(session, settings, node.id)
    return FreeUntil(closes_at, booked_at)


def in_gaps(settings: Settings) -> Query:
    """Return the query of free machines, with their classes, that are booked later than one of the requests that wait
    for their class would need them.

    SELECT n.*, p.id FROM … JOIN resource_classes c … WHERE <it is free, and booked> AND <it is clear until (SELECT
    min(<end>) FROM pending_claims w WHERE <it waits> AND w.resource_class = c.name)>
    """
    waits = IS_WAITING, WaitingRequest.state == WAITING, WaitingRequest.resource_class == CLASSES.c.name
    shortest = select(func.min(ENDS_AT)).where(*waits).correlate(CLASSES).scalar_subquery()
    kept = Node.id.in_(select(BOOKED.c.node_id).where(COUNTS))
    free = free_machine.idle_nodes(kept, shortest.is_not(None), is_clear(settings, shortest))
    return free.join(CLASSES, CLASSES.c.id == PROVIDERS.c.mirrored_class_id)


#: SQL: the name of the queue from which a machine of a query with its class is given.
QUEUE: ColumnElement[str] = tables.queue_of(PROVIDERS, CLASSES.c.name)


def in_bookings() -> Query:
    """Return the query of free machines, with their classes, of bookings that run and under which requests wait.

    SELECT n.*, p.id FROM … JOIN resource_classes c … WHERE <it is idle> AND n.id IN (SELECT b.node_id FROM
    booked_machines b JOIN pending_claims w ON w.booking_id = b.booking_id WHERE <it waits>) AND <its queue> IN (…)
    """
    waits = IS_WAITING, WaitingRequest.state == WAITING, WaitingRequest.booking_id.is_not(None)
    names = select(WaitingRequest.resource_class).where(*waits)
    kept = select(BOOKED.c.node_id).join(WaitingRequest, WaitingRequest.booking_id == BOOKED.c.booking_id).where(*waits)
    free = free_machine.idle_nodes(Node.id.in_(kept), QUEUE.in_(names))
    return free.join(CLASSES, CLASSES.c.id == PROVIDERS.c.mirrored_class_id)


# -- places in the queue ----------------------------------------------------------------------------------------------


def place_of(session: Session, claim: WaitingRequest) -> int:
    """Return the place of a waiting claim in the queue of its class; the first is 1."""
    earlier: ColumnElement[bool] = or_(
        WaitingRequest.priority > claim.priority,
        and_(
            WaitingRequest.priority == claim.priority,
            tuple_(WaitingRequest.asked_at, WaitingRequest.id) < tuple_(claim.asked_at, claim.id),
        ),
    )
    ahead = select(func.count()).where(IS_WAITING, WaitingRequest.resource_class == claim.resource_class, earlier)
    return 1 + (session.scalar(ahead) or 0)


def places_of(session: Session, requests: Sequence[WaitingRequest]) -> dict[int, int]:
    """Return the places of claims in the queues of their classes, by id; claims that do not wait have none.

    SELECT id, place FROM (SELECT id, row_number() OVER (PARTITION BY resource_class ORDER BY priority DESC, asked_at,
    id) AS place FROM pending_claims WHERE state = 'waiting' AND … AND resource_class IN (…)) AS queue WHERE id IN (…)
    """
    order = (WaitingRequest.priority.desc(), WaitingRequest.asked_at, WaitingRequest.id)
    place = func.row_number().over(partition_by=WaitingRequest.resource_class, order_by=order).label("place")
    classes = {claim.resource_class for claim in requests}
    queue = select(WaitingRequest.id, place).where(IS_WAITING, WaitingRequest.resource_class.in_(classes)).subquery()
    rows = session.execute(select(queue).where(queue.c.id.in_([claim.id for claim in requests])))
    return {claim_id: number for claim_id, number in rows}


# -- the next request --------------------------------------------------------------------------------------------------


def next_for(session: Session, node: str, resource_class: str, settings: Settings) -> WaitingRequest | None:
    """Return the claim that would get the node (a UUID), of this class in placement, if it were free; None if none
    waits for it. While it is booked, that is one under its booking.

    Traits, owner and names are compared; conditions that need a search in the node's tree are not.
    """
    of_node = select(tables.queue_of(PROVIDERS, literal(resource_class))).where(PROVIDERS.c.uuid == node)
    name = session.scalar(of_node) or resource_class
    found = queue_of(session.connection(), node, name, settings.scheduling.most_tested, settings)
    entries = () if found is None else found.entries
    row = session.scalars(select(Node).where(Node.uuid == node)).first() if entries else None
    room = ENDLESS if row is None else room_of(session, settings, row, name)
    return next(filter(None, (queue_entries.first_of(session, entry, room) for entry in entries)), None)


def explain_node(
    session: Session,
    node: Node,
    membership: Membership,
    settings: Settings,
    *,
    names_others: bool = True,
    project: str | None = None,
    view: HoldView = EVERYTHING,
    sees_booking: Callable[[str], bool] = lambda project: True,
) -> NodeExplanation:
    """Explain whether the node is offered, and who is next.

    ``names_others``: whether consumers, and the conductor that works on it, are named. A claim of ``project``, that of
    the caller, is always named. ``view``, ``sees_booking``: as ``explain`` has them.
    """
    explained = explain(session, node, membership, names_others=names_others, view=view, sees_booking=sees_booking)
    name = explained.resource_class
    waiting = None if name is None else next_for(session, node.uuid, name, settings)
    if waiting is None:
        return explained
    return replace(explained, remarks=[*explained.remarks, _finding(waiting, names_others, project)])


def _finding(waiting: WaitingRequest, names_others: bool, project: str | None) -> Finding:
    who = f"{waiting.kind} {waiting.uuid}"
    if waiting.consumer_project == project:
        who += " of your project"
    else:
        who = f"{who} of project {waiting.consumer_project}" if names_others else "another project"
    return Finding(
        "next claim",
        f"When it is free, it goes to {who}, which has waited since {in_words(waiting.asked_at)}.",
        "Nothing needs to be done. To give the machine to another request, cancel that claim.",
    )
