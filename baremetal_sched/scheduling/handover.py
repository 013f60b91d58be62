"""Handing over: a machine that becomes free goes to the first request in the queue that it satisfies.

Requests that it does not satisfy keep their place. The story of a hand-over:

1. Code that frees a machine notes it in its transaction (``db.handover``), and knows no queue.
2. At the end of that transaction, ``wanted`` asks which of the noted machines are free and have a queue. Mostly none.
3. ``serve`` locks each of these machines, takes the first request that it may satisfy, and opens a savepoint. The door
   of the request's kind gives it the machine by the code that also chooses for new requests.
4. A request that is not satisfied after all, or that fails, is undone by its savepoint, and the next one is tried.
5. The commit frees the machine and gives it away at once: no search sees it free in between.
6. After the commit, ``look_after`` reads once which of the machines are still free. It serves requests that have begun
   to wait, and servers of server groups, which step 3 passes over, since their groups must be locked before a machine:
   the queues are read without locks, and the groups that they chose are locked. Then it serves requests for several
   machines (``gathering``), and makes their plans anew (``planning``). The ``sweep`` finds the rest.

Locks are taken in the order server group, node, provider, inventory, waiting request, server or allocation, consumer.
If another transaction has locked a freed machine, the whole transaction is repeated, with that machine locked first.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Protocol

import structlog
from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.allocations import placing
from baremetal_sched.baremetal.matching import free_machine
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.compute import server_groups
from baremetal_sched.compute.servers import waiting_servers
from baremetal_sched.db import requester
from baremetal_sched.db.faults import Fault, classify
from baremetal_sched.db.models import Node, WaitingRequest
from baremetal_sched.db.notes import Notes, notes_of
from baremetal_sched.db.requester import Requester
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import SchedulerError, UnavailableError
from baremetal_sched.errors.placement import ConsumerConflict, SearchTookTooLong, TooManyCandidates
from baremetal_sched.errors.scheduling import CannotBegin
from baremetal_sched.placement import queue_entries, waiting_requests
from baremetal_sched.placement.freed import FreedMachines, freed_machines
from baremetal_sched.placement.queue_entries import FreeUntil, QueueEntry
from baremetal_sched.placement.tables import PROVIDERS
from baremetal_sched.placement.waiting_requests import (
    ALLOCATION,
    CLAIM,
    FAILED,
    GATHERING,
    SERVER,
    WAITING,
)
from baremetal_sched.scheduling import claims, gathering, machine_groups, planning, plans
from baremetal_sched.scheduling.bookings import keeping
from baremetal_sched.scheduling.queue import MachineQueue, current_request, machine_queues, request_of, room_of
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)


#: All entries of a queue, for callers that have the time.
ALL = 100_000


class Door(Protocol):
    """How a kind of request is given machines: claims of the scheduling API, allocations, or servers."""

    def give(self, context: MachineContext, waiting: WaitingRequest, node: Node) -> bool:
        """Give the node (both rows locked) to the claim, whose end the context has; return whether it fits. If not, all
        of it is rolled back."""

    def end(self, context: MachineContext, waiting: WaitingRequest, state: str, reason: str) -> None:
        """End a claim (its row locked) that waited in vain, or that failed."""

    def leave_out(self, context: MachineContext, waiting: WaitingRequest, node: str, reason: str) -> None:
        """Let a claim (its row locked) wait for other nodes than this one (a UUID), where it could not begin; or end
        it, if that cannot help. The context has its end."""


#: The doors, by kind of claim.
DOORS: dict[str, Door] = {CLAIM: claims, ALLOCATION: placing, SERVER: waiting_servers}


class SessionHandover:
    """Hands machines over within a transaction.

    ``groups``: the server groups (UUIDs) that it has locked, before any machine: it passes over servers of others.
    """

    def __init__(self, session: Session, settings: Settings, groups: Collection[str] = ()) -> None:
        self.session = session
        self._settings = settings
        self._groups = groups
        self._context = MachineContext(session, settings)

    def serve(self, queues: Iterable[MachineQueue], most: int) -> bool:
        """Give each machine to the first claim that it satisfies; return whether one was given. At most ``most``
        entries of a queue are tested."""
        is_given = False
        notes_of(self.session).gives = True
        for queue in queues:
            # The first request for the next machine depends on the one that got this machine.
            is_given |= self._serve(self._again(queue, most) if is_given else queue, most)
        return is_given

    def _serve(self, queue: MachineQueue, most: int) -> bool:
        node = free_machine.lock_free(self.session, queue.machine) if queue.entries else None
        room = None if node is None else room_of(self.session, self._settings, node, queue.entries[0].resource_class)
        is_given: bool | None = False
        failed: list[int] = []
        while room and node and (is_given := self._give_first(queue.entries, node, room, failed)) is None:
            queue = self._again(queue, most)
        if queue.is_cut and not is_given:
            log.warning("too many different claims may fit: a machine is left to the sweep", node=queue.machine)
        return bool(is_given)

    def _again(self, queue: MachineQueue, most: int) -> MachineQueue:
        """Return who may get the machine as the queue is now."""
        machines = freed_machines(self.session.connection(), Notes(nodes={queue.machine})).wanted
        queues = self._queues(machines, most)
        return queues[0] if queues else replace(queue, entries=(), is_cut=False)

    def serve_machines(self, machines: Mapping[int, str], most: int) -> bool:
        """Give each machine, given like those of ``machine_queues``, to the first claim of its queue that it satisfies;
        return whether one was given. At most ``most`` entries of a queue are tested."""
        return self.serve(self._queues(machines, most), most)

    def _queues(self, machines: Mapping[int, str], most: int) -> list[MachineQueue]:
        return machine_queues(self.session.connection(), self._settings, machines, most, self._groups)

    def _give_first(self, entries: Iterable[QueueEntry], node: Node, room: FreeUntil, failed: list[int]) -> bool | None:
        """Give the node to the first claim that it satisfies; return whether there was one. None: a claim has
        failed (its id is added to ``failed``), so that the queue is another one now."""
        for entry in entries:
            is_given = self._give(entry, node, room, failed)
            if is_given is not False:
                return is_given
        return False

    def _give(self, entry: QueueEntry, node: Node, room: FreeUntil, failed: list[int]) -> bool | None:
        """Give the node to the first claim of the entry that has not failed; return whether it fits. None: this one has
        failed."""
        savepoint = self.session.begin_nested()
        waiting = queue_entries.take_first(self.session, entry, failed, room)
        if waiting is None:
            savepoint.rollback()
            return False
        claim_id, uuid = waiting.id, waiting.uuid
        context = self._context.of_waiting(waiting)
        try:
            with _on_behalf_of(self.session, waiting):
                fits = DOORS[waiting.kind].give(context, waiting, node)
                self.session.flush()
        except UnavailableError as error:
            savepoint.rollback()
            if not isinstance(error, SearchTookTooLong | TooManyCandidates):
                raise
            log.warning("a claim that waits cannot be looked at", claim=uuid, reason=str(error))
            return False
        except CannotBegin as error:
            savepoint.rollback()
            failed.append(claim_id)
            self._leave_out(uuid, node, error)
            return None
        except (SchedulerError, IntegrityError) as error:
            savepoint.rollback()
            failed.append(claim_id)
            self._fail(uuid, _sentence(error))
            return None
        except Exception as error:
            if classify(error) is not Fault.BUG:
                raise
            # A change that frees a machine must not fail because of a waiting request.
            savepoint.rollback()
            failed.append(claim_id)
            log.exception("a claim that waits cannot be served", claim=uuid)
            return None
        if not fits:
            savepoint.rollback()
            return False
        savepoint.commit()
        log.info("handed a machine over", node=node.uuid, claim=uuid, kind=waiting.kind)
        return True

    def _leave_out(self, uuid: str, node: Node, error: CannotBegin) -> None:
        """Make a claim, if it still waits, wait for other nodes than this one."""
        waiting = waiting_requests.find(self.session, uuid, lock=True)
        if waiting is not None:
            with _on_behalf_of(self.session, waiting):
                DOORS[waiting.kind].leave_out(self._context.of_waiting(waiting), waiting, node.uuid, str(error))
                self.session.flush()

    def end(self, waiting: WaitingRequest, state: str, reason: str) -> None:
        """End a claim that waits (its row locked)."""
        with _on_behalf_of(self.session, waiting):
            DOORS[waiting.kind].end(self._context, waiting, state, reason)
            self.session.flush()
        log.info("a claim waited in vain", claim=waiting.uuid, kind=waiting.kind, state=state, reason=reason)

    def _fail(self, uuid: str, reason: str) -> None:
        """End the claim with this UUID if it still waits: it cannot be served."""
        waiting = waiting_requests.find(self.session, uuid, lock=True)
        if waiting is not None and waiting.state == WAITING:
            self.end(waiting, FAILED, reason)


def _sentence(error: Exception) -> str:
    """Return the text for a claim that could not be served. Its owner does not see errors of the database."""
    is_internal = not isinstance(error, SchedulerError) or isinstance(error, ConsumerConflict)
    return "Its UUID is in use by something else." if is_internal else str(error)


def _on_behalf_of(session: Session, waiting: WaitingRequest) -> AbstractContextManager[None]:
    """Within this, changes are recorded as those of the caller who made the claim."""
    return requester.attached(session, Requester(waiting.request_id, waiting.user_id, waiting.project_id))


def groups_that_wait(
    connection: Connection, settings: Settings, machines: Mapping[int, str], most: int
) -> frozenset[str] | None:
    """Return the server groups (UUIDs) of servers that may get one of the free machines; None if no request may.
    Nothing is locked."""
    queues = machine_queues(connection, settings, machines, most, None, locks=False)
    return _groups_of(queues) if queues else None


def serve_free(
    session: Session, settings: Settings, machines: Mapping[int, str], most: int, groups: Collection[str] | None = None
) -> bool:
    """Give free machines to the first requests that they fit, like ``SessionHandover.serve_machines``, servers of
    server groups included: the ``groups`` of ``groups_that_wait``, which is asked if they are not given, are locked
    before the machines."""
    if groups is None:
        groups = groups_that_wait(session.connection(), settings, machines, most)
    if groups is None:
        return False
    return SessionHandover(session, settings, server_groups.lock_all(session, groups)).serve_machines(machines, most)


def _groups_of(queues: Iterable[MachineQueue]) -> frozenset[str]:
    return frozenset(group for queue in queues for group in queue.groups)


class ClaimHandover:
    """Serves waiting requests, at the end of the transactions of a database (see ``db.handover.Handover``)."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._most: int = settings.scheduling.most_tested

    def wanted(self, connection: Connection, notes: Notes) -> Sequence[MachineQueue]:
        """Return the machines that were freed and that may fit a waiting request, unless a running booking is short of
        them, or they are kept for a large group: these get them after the commit."""
        machines = keeping.bookings_first(connection, freed_machines(connection, notes).wanted)
        kept = plans.classes_kept(connection, self._settings, {*machines.values()})
        machines = {each: name for each, name in machines.items() if name not in kept} if kept else machines
        return machine_queues(connection, self._settings, machines, self._most) if machines else ()

    def serve(self, session: Session, machines: Sequence[MachineQueue]) -> None:
        """Give each machine to the first claim that it satisfies."""
        SessionHandover(session, self._settings).serve(machines, self._most)

    def offer(self, machines: Collection[int], deadline: float | None) -> None:
        """Give free machines, known by their providers (ids), to bookings that are short, and to waiting requests.
        Raises the errors of ``write``."""
        freed = self._database.select(partial(freed_machines, notes=Notes(providers=set(machines))), deadline=deadline)
        keeping.serve_first(self._database, self._settings, freed, (), deadline)
        self._database.write(partial(self._offer, machines=machines), deadline=deadline)

    def _offer(self, session: Session, machines: Collection[int]) -> None:
        wanted = freed_machines(session.connection(), Notes(providers=set(machines))).wanted
        serve_free(session, self._settings, wanted, self._most)

    def lock(self, connection: Connection, nodes: Collection[str]) -> None:
        """Lock these machines; wait for transactions that have locked them."""
        free_machine.lock_all(connection, nodes)

    def look_after(self, notes: Notes, deadline: float | None) -> None:
        """Hand over the machines that a transaction has freed, after its commit, to requests that have begun
        to wait."""

        def look(connection: Connection) -> tuple[FreedMachines, frozenset[str] | None, bool, plans.Noted]:
            freed = freed_machines(connection, notes)
            groups = groups_that_wait(connection, self._settings, freed.wanted, self._most) if freed.wanted else None
            planned = plans.noted(connection, self._settings, notes, freed.gathered.values())
            return freed, groups, gathering.may_help(connection, freed.gathered, notes.groups), planned

        try:
            freed, groups, helps, planned = self._database.select(look, deadline=deadline)
            if keeping.serve_first(self._database, self._settings, freed, notes.booked, deadline):
                freed, groups, helps, planned = self._database.select(look, deadline=deadline)
            planning.look_after(self._database, self._settings, planned, deadline)
            if groups is not None:
                serve = partial(serve_free, machines=freed.wanted, most=self._most, groups=groups)
                self._database.write(partial(serve, settings=self._settings), deadline=deadline)
            if helps:
                gathering.serve_freed(self._database, self._settings, freed.gathered, notes.groups, deadline)
        except SchedulerError as error:
            log.info("what was freed is left to the sweep", reason=str(error))
        except Exception:  # what freed it is committed: its request has succeeded
            log.exception("cannot look for those who wait again")

    def look_again(self, waiting: Collection[str], deadline: float | None) -> None:
        """Look for machines for claims that have just begun to wait, until ``deadline``. Failures are left to the
        sweep."""
        for uuid in waiting:
            look = partial(self._offer_fitting, uuid=uuid, groups=set())
            try:
                while self._database.write(look, deadline=deadline):
                    pass
                planning.begins_to_wait(self._database, self._settings, uuid, deadline)
            except SchedulerError as error:
                log.info("a claim that waits is left to the sweep", claim=uuid, reason=str(error))
            except Exception:  # the claim is committed: its request has succeeded
                log.exception("cannot look for a machine again", claim=uuid)

    def _offer_fitting(self, session: Session, uuid: str, groups: set[str]) -> bool:
        """Give a machine that would fit the claim to the first request in its queue; return whether to look again. One
        of several machines is served itself, if enough are free.

        ``groups``: the server groups to lock before the machine. It gets those of the queue that are missing: then no
        machine is given.
        """
        waiting = waiting_requests.find(session, uuid)
        if waiting is not None and waiting.state == GATHERING:
            return machine_groups.serve(session, self._settings, uuid, request_of(waiting.request))
        if waiting is None or waiting.state != WAITING:
            return False
        server_groups.lock_all(session, groups)
        context = MachineContext(session, self._settings).of_waiting(waiting)
        host = current_request(context, waiting.request).choose(context)
        if host is None:
            return False
        provider = session.scalars(select(PROVIDERS.c.id).where(PROVIDERS.c.uuid == host.node.uuid)).one()
        machines = {provider: waiting.resource_class}
        queues = machine_queues(session.connection(), self._settings, machines, ALL, None)
        if not groups.issuperset(_groups_of(queues)):
            groups |= _groups_of(queues)
            return True
        return SessionHandover(session, self._settings, groups).serve(queues, ALL)


def install(database: Database, settings: Settings) -> None:
    """Have the database's transactions hand over what they free."""
    database.handover = ClaimHandover(database, settings)
