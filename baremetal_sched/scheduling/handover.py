"""Handing over: a machine that becomes free goes to the first claim that waits for it, before anybody sees it free.

Whatever frees a machine notes it in its transaction (``db.handover``); at the end of that transaction the machine is
given to the first claim, by priority and time, that it fits. It is kept back for nobody whom it does not fit. What no
transaction frees, and what was not handed over, ``sweep`` gives away.

Locks are taken in the order node, provider, inventory, pending claim, server or allocation, consumer. If another
transaction has locked a freed machine, the whole transaction is repeated, with that machine locked first.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol

import structlog
from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.allocations import placing
from baremetal_sched.baremetal.conductors.ownership import NO_MEMBERS, live_members
from baremetal_sched.compute.hosts.booting import TAKEN_MEANWHILE, BootContext
from baremetal_sched.compute.servers import waiting_servers
from baremetal_sched.db import requester
from baremetal_sched.db.faults import Fault, classify
from baremetal_sched.db.handover import HandoverNotes, notes_of
from baremetal_sched.db.models import Node, PendingClaim
from baremetal_sched.db.requester import Requester
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import SchedulerError, UnavailableError
from baremetal_sched.errors.placement import ConsumerConflict, SearchTookTooLong, TooManyCandidates
from baremetal_sched.errors.scheduling import CannotBegin
from baremetal_sched.placement import freed_machines, pending_claims
from baremetal_sched.placement.pending_claims import ALLOCATION, CLAIM, FAILED, SERVER, WAITING, QueueEntry
from baremetal_sched.placement.tables import PROVIDERS
from baremetal_sched.scheduling import claim_requests, claims, free_machines
from baremetal_sched.scheduling.chances import Chance, chances
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)


#: All entries of a queue, for those that have the time.
_ALL = 100_000


class Door(Protocol):
    """How a kind of claims is given machines: those of the scheduling API, allocations, or servers."""

    def give(self, context: BootContext, claim: PendingClaim, node: Node) -> bool:
        """Give the node (both rows locked) to the claim; return whether it fits. If not, all of it is rolled back."""

    def end(self, context: BootContext, claim: PendingClaim, state: str, reason: str) -> None:
        """End a claim (its row locked) that waited in vain, or that failed."""


class _AllocationDoor:
    """The door of bare metal allocations."""

    def give(self, context: BootContext, claim: PendingClaim, node: Node) -> bool:
        try:
            return placing.give(context.session, claim, node, context.membership, context.settings)
        except TAKEN_MEANWHILE as error:
            raise StaleDataError("a part of the machine was taken meanwhile") from error

    def end(self, context: BootContext, claim: PendingClaim, state: str, reason: str) -> None:
        placing.end(context.session, claim, state, reason)


#: The doors, by kind of claim.
DOORS: dict[str, Door] = {CLAIM: claims, ALLOCATION: _AllocationDoor(), SERVER: waiting_servers}


@dataclass(frozen=True)
class Desk:
    """The session in which machines are handed over. The live conductors are read if they are needed."""

    session: Session
    settings: Settings

    @cached_property
    def context(self) -> BootContext:
        return BootContext(self.session, live_members(self.session, self.settings), self.settings)

    def _context_of(self, claim: PendingClaim) -> BootContext:
        """Return the context for a claim: one of the scheduling API needs no conductor, unless it asks for one."""
        needs_conductors = claim.kind != CLAIM or claim.request.get("served", False)
        return self.context if needs_conductors else BootContext(self.session, NO_MEMBERS, self.settings)

    def serve(self, found: Iterable[Chance], most: int) -> bool:
        """Give each machine to the first claim that it fits; return whether one was given. At most ``most`` entries of
        a queue are tested."""
        given = False
        notes_of(self.session.connection()).gives = True
        for chance in found:
            # Who is first for the next machine depends on who got this one.
            given |= self._serve(self._again(chance, most) if given else chance, most)
        return given

    def _serve(self, chance: Chance, most: int) -> bool:
        node = claim_requests.lock_free(self.session, chance.machine) if chance.entries else None
        given: bool | None = False
        failed: list[int] = []
        while node is not None and (given := self._give_first(chance.entries, node, failed)) is None:
            chance = self._again(chance, most)
        if chance.is_cut and not given:
            log.warning("too many different claims may fit: a machine is left to the sweep", node=chance.machine)
        return bool(given)

    def _again(self, chance: Chance, most: int) -> Chance:
        """Return who may get the machine as the queue is now."""
        connection = self.session.connection()
        machines = freed_machines.wanted(connection, HandoverNotes(nodes={chance.machine}))
        found = chances(connection, machines, most)
        return found[0] if found else replace(chance, entries=(), is_cut=False)

    def serve_all(self, provider: int, resource_class: str) -> bool:
        """Give a machine, known by its provider (an id), to the first claim of its class that it fits; return whether
        there was one."""
        return self.serve(chances(self.session.connection(), {provider: resource_class}, _ALL), _ALL)

    def _give_first(self, entries: Iterable[QueueEntry], node: Node, failed: list[int]) -> bool | None:
        """Give the node to the first claim that it fits; return whether there was one. None: a claim has failed (its id
        is added to ``failed``), so that the queue is another one now."""
        for entry in entries:
            given = self._give(entry, node, failed)
            if given is not False:
                return given
        return False

    def _give(self, entry: QueueEntry, node: Node, failed: list[int]) -> bool | None:
        """Give the node to the first claim of the entry, but for those that failed; return whether it fits. None: this
        one has failed."""
        savepoint = self.session.begin_nested()
        claim = pending_claims.take_first(self.session, entry, failed)
        if claim is None:
            savepoint.rollback()
            return False
        claim_id, uuid = claim.id, claim.uuid
        try:
            with _asked_by(self.session, claim):
                given = DOORS[claim.kind].give(self._context_of(claim), claim, node)
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
            # What frees a machine does not fail because of a claim that waits for it.
            savepoint.rollback()
            failed.append(claim_id)
            log.exception("a claim that waits cannot be served", claim=uuid)
            return None
        if not given:
            savepoint.rollback()
            return False
        savepoint.commit()
        log.info("handed a machine over", node=node.uuid, claim=uuid, kind=claim.kind)
        return True

    def _leave_out(self, uuid: str, node: Node, error: CannotBegin) -> None:
        """Have a server, if it still waits, wait for other nodes than this one."""
        claim = pending_claims.find(self.session, uuid, lock=True)
        if claim is not None:
            with _asked_by(self.session, claim):
                waiting_servers.leave_out(self.context, claim, node.uuid, str(error))
                self.session.flush()

    def end(self, claim: PendingClaim, state: str, reason: str) -> None:
        """End a claim that waits (its row locked)."""
        with _asked_by(self.session, claim):
            DOORS[claim.kind].end(self._context_of(claim), claim, state, reason)
            self.session.flush()
        log.info("a claim waited in vain", claim=claim.uuid, kind=claim.kind, state=state, reason=reason)

    def _fail(self, uuid: str, reason: str) -> None:
        """End the claim with this UUID if it still waits: it cannot be served."""
        claim = pending_claims.find(self.session, uuid, lock=True)
        if claim is not None and claim.state == WAITING:
            self.end(claim, FAILED, reason)


def _sentence(error: Exception) -> str:
    """Return what is said of a claim that could not be served. Errors of the database are not for its owner."""
    is_internal = not isinstance(error, SchedulerError) or isinstance(error, ConsumerConflict)
    return "Its UUID is in use by something else." if is_internal else str(error)


@contextmanager
def _asked_by(session: Session, claim: PendingClaim) -> Iterator[None]:
    """Within this, what is done is done for the one who asked for the claim."""
    before = requester.of(session)
    requester.attach(session, Requester(claim.request_id, claim.user_id, claim.project_id))
    try:
        yield
    finally:
        requester.attach(session, before)


class ClaimHandover:
    """Serves claims that wait, at the end of the transactions of a database (see ``db.handover.Handover``)."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._most: int = settings.scheduling.most_tested

    def wanted(self, connection: Connection, notes: HandoverNotes) -> Sequence[Chance]:
        """Return the machines that were freed and that may fit a claim which waits."""
        machines = freed_machines.wanted(connection, notes)
        return chances(connection, machines, self._most) if machines else ()

    def serve(self, session: Session, machines: Sequence[Chance]) -> None:
        """Give each machine to the first claim that it fits."""
        Desk(session, self._settings).serve(machines, self._most)

    def offer(self, machines: Collection[int], deadline: float | None) -> None:
        """Give free machines, known by their providers (ids), to those who wait. Raises what ``write`` raises."""
        self._database.write(partial(self._offer, machines=machines), deadline=deadline)

    def _offer(self, session: Session, machines: Collection[int]) -> None:
        self._serve(session, freed_machines.wanted(session.connection(), HandoverNotes(providers=set(machines))))

    def lock(self, connection: Connection, nodes: Collection[str]) -> None:
        """Lock these machines, waiting for those who have locked them."""
        free_machines.lock_all(connection, nodes)

    def look_after(self, notes: HandoverNotes, deadline: float | None) -> None:
        """Hand over what a transaction has freed, after its commit, to who began to wait meanwhile."""
        try:
            machines = self._database.select(partial(freed_machines.wanted, notes=notes), deadline=deadline)
            if machines:
                self._database.write(partial(self._serve, machines=machines), deadline=deadline)
        except SchedulerError as error:
            log.info("what was freed is left to the sweep", reason=str(error))
        except Exception:  # what freed it is committed: its request has succeeded
            log.exception("cannot look for those who wait again")

    def _serve(self, session: Session, machines: Mapping[int, str]) -> None:
        Desk(session, self._settings).serve(chances(session.connection(), machines, self._most), self._most)

    def look_again(self, waiting: Collection[str], deadline: float | None) -> None:
        """Look for machines for claims that have just begun to wait, until ``deadline``. Failures are left to the
        sweep."""
        for uuid in waiting:
            look = partial(self._look, uuid=uuid)
            try:
                while self._database.write(look, deadline=deadline):
                    pass
            except SchedulerError as error:
                log.info("a claim that waits is left to the sweep", claim=uuid, reason=str(error))
            except Exception:  # the claim is committed: its request has succeeded
                log.exception("cannot look for a machine again", claim=uuid)

    def _look(self, session: Session, uuid: str) -> bool:
        """Give a machine that would fit the claim to whoever is first for it; return whether another may fit it."""
        claim = pending_claims.find(session, uuid)
        if claim is None or claim.state != WAITING:
            return False
        desk = Desk(session, self._settings)
        host = claim_requests.choose(desk.context, claim_requests.request_of(claim.request))
        if host is None:
            return False
        provider = session.scalars(select(PROVIDERS.c.id).where(PROVIDERS.c.uuid == host.node.uuid)).one()
        return desk.serve_all(provider, claim.resource_class)


def install(database: Database, settings: Settings) -> None:
    """Have the database's transactions hand over what they free."""
    database.handover = ClaimHandover(database, settings)
