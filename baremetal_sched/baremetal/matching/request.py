"""A request for a machine, or for several: the methods of every kind of request, and their context.

There are two kinds: ``tree_request`` (a query of placement, or a server) and ``node_request`` (a bare metal
allocation). Every way of asking for machines (claims, servers, allocations, requests that wait, dry runs and
explanations) makes one of them. It calls ``choose`` for the machine, or ``several.choose_many`` if the request has a
group, and ``question`` for why there is none.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.bookings.times import NOBODY, Own, last_start
from baremetal_sched.baremetal.conductors.ownership import Membership, live_members
from baremetal_sched.baremetal.matching import free_machine
from baremetal_sched.baremetal.matching.conditions import Condition
from baremetal_sched.baremetal.matching.free_machine import Amounts as Amounts
from baremetal_sched.baremetal.matching.free_machine import FreeMachine
from baremetal_sched.baremetal.matching.opening import Opening, Reach
from baremetal_sched.baremetal.matching.question import Question
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.provider import booked_machines
from baremetal_sched.baremetal.visibility import EVERYTHING, Conditions, Visibility, usable_by
from baremetal_sched.db.models import Node, WaitingRequest
from baremetal_sched.db.types import Query
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class MachineContext:
    """The scope of a search for a machine, and its caller.

    ``members``: the live conductors, if they are known already. ``project``: nodes of other projects do not exist for
    it; None: all nodes do. ``named``: the nodes that may be named as examples. ``needed``: the number of machines that
    an explanation is about. ``machine``: only this machine (UUID) is explained. ``unrestricted``: allocations may get
    the nodes of any project. ``seen``: the conditions on holds that the answer may count by their types. ``end``: that
    of the consumer that gets the machine; None: it has none. ``plan``: the request that waits (an id) whose plan keeps
    machines for it; None: it has none. ``reach`` and ``takes_held``: see ``Opening``.
    """

    session: Session
    settings: Settings
    members: Membership | None = None
    project: str | None = None
    named: Visibility = EVERYTHING
    needed: int = 1
    machine: str | None = None
    unrestricted: bool = False
    seen: Conditions = ()
    end: End | None = None
    plan: int | None = None
    reach: Reach = Reach.OPEN
    takes_held: bool = False

    @classmethod
    def of_project(cls, session: Session, settings: Settings, project: str | None) -> "MachineContext":
        """Return the context of a project, which sees and names its own nodes only; None: of a caller who sees all
        nodes."""
        if project is None:
            return cls(session, settings, unrestricted=True)
        return cls(session, settings, project=project, named=Visibility(project))

    @cached_property
    def membership(self) -> Membership:
        """The live conductors, which are read when they are first needed."""
        return live_members(self.session, self.settings) if self.members is None else self.members

    def usable(self) -> tuple[ColumnElement[bool], ...]:
        """Return the condition that the project may use a node; empty if it may use all."""
        return () if self.project is None else (usable_by(self.project),)

    def with_end(self, end: End | None) -> "MachineContext":
        """Return the context of a consumer that has this end."""
        return self if end == self.end else replace(self, end=end)

    @property
    def own(self) -> Own:
        """The booking, or the plan, whose machines are looked for."""
        booking = None if self.end is None else self.end.booking
        return Own(booking, self.plan)

    @property
    def opening(self) -> Opening:
        """What holds and bookings must leave of a machine."""
        return Opening(self.settings, self.end, self.own, self.reach, self.takes_held)

    def of_waiting(self, waiting: WaitingRequest) -> "MachineContext":
        """Return the context of a request that waits, with its end."""
        end = End.of(self.settings, waiting.ends_at, waiting.lasts, waiting.booking_id)
        if end is not None and end.booking is not None and end.seconds is not None:
            end = replace(end, within=waiting.deadline + end.seconds)  # it does not wait beyond that
        return self.with_end(end)

    def calendars(self, nodes: Collection[int]) -> dict[int, int]:
        """Return the calendars of chosen machines (ids of nodes, their rows and inventories locked) that are closed to
        others, by id; none if they need not be compared. Those of its booking are used from now on. Raises
        StaleDataError if one is closed to the request, too.

        What the statement that locked a machine has looked up about its bookings may be older than the lock.
        """
        if self.opening.is_plain:
            return {}
        query = free_machine.idle_nodes(Node.id.in_(nodes), *self.opening.clauses())
        rows = self.session.execute(query.with_only_columns(Node.id, INVENTORIES.c.calendar))
        found = {node: calendar for node, calendar in rows}
        if len(found) < len(nodes):
            raise StaleDataError("a machine was booked, or is held")
        if self.own.booking is not None:
            booked_machines.use(self.session, self.own.booking, nodes)
        return found

    def tree(self) -> ColumnElement[bool] | None:
        """Return the condition that a provider of ``PROVIDERS`` is in the tree of the machine; None: any is."""
        if self.machine is None:
            return None
        return PROVIDERS.c.root_id.in_(select(PROVIDERS.c.root_id).where(PROVIDERS.c.uuid == self.machine))


def _has_gaps(context: MachineContext) -> bool:
    """Whether a machine may be booked later than the request needs it: only then is one looked for."""
    if context.end is None or context.own != NOBODY:
        return False
    last = last_start(context.session)
    return last is not None and (context.end.at is None or context.end.at <= last)


@dataclass(frozen=True)
class Host:
    """A machine that can be taken, its row and the inventory of its own class locked; and the amounts to claim.
    ``calendar``: if it is closed to others, the calendar of that inventory when that was looked up under the lock."""

    node: Node
    claim: Amounts
    calendar: int | None = None

    @property
    def calendars(self) -> dict[str, int]:
        """The same as ``ConsumerWrite.calendars``."""
        return {} if self.calendar is None else {self.node.uuid: self.calendar}


@dataclass(frozen=True)
class FreeMachines:
    """The free machines that fit a request: the query of their nodes and inventories, and of one (its row, and the id
    of its provider) the amounts to claim. ``class_id``: their class, if the query can begin with its index."""

    query: Query
    claim: Callable[[Node, int], Amounts]
    class_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class MachineRequest(ABC):
    """A request for one machine, or for the ``several`` of a group.

    ``server_group``: the server group (a UUID) that its server is to be in; ``conditions``: those of its policy on a
    node, now. ``strict_end``: it takes no machine for which a hold is planned before the end of the context; otherwise
    it takes such a machine only if no other fits.
    """

    several: Several | None = None
    strict_end: bool = False
    server_group: str | None = None
    conditions: tuple[Condition, ...] = ()

    @property
    @abstractmethod
    def project(self) -> str | None:
        """The project whose nodes, and nodes without a project, are considered; None: all nodes are."""

    @property
    @abstractmethod
    def served(self) -> bool:
        """Whether a live conductor must serve the node."""

    @abstractmethod
    def of_anyone(self) -> Self:
        """Return the same request without a project and a group: equal ones differ only in whose machines are
        considered, and in their number."""

    @abstractmethod
    def may_use(self, owner: str | None, lessee: str | None) -> bool:
        """Return whether it considers a machine with this owner and this lessee."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """Return the request as JSON: equal documents ask for the same."""

    @abstractmethod
    def machine_class(self) -> str:
        """Return the class of the node in placement, which may not exist yet. Raises CannotWait, BadQuery."""

    @abstractmethod
    def needed_trait(self) -> str | None:
        """Return a trait that the node itself must have; None if only the search can tell. Raises BadQuery."""

    def parsed(self) -> CandidateRequest | None:
        """Return the query of placement; None if it is not made by one. Raises BadQuery."""
        return None

    @abstractmethod
    def on(self, node: str) -> Self | None:
        """Return the request for this node (UUID) only; None if it asks for another."""

    def without(self, drop: Collection[str]) -> Self | None:
        """Return the request without the conditions of its question that have these ids; None if nothing is left."""
        return None

    def turns(self, context: MachineContext) -> Iterator[MachineContext]:
        """Yield the contexts in which machines are looked for, one after the other. With an end: machines that are
        booked later, then those that nobody has booked, or of several both at once; unless it is strict, again with
        those for which a hold is planned before the end."""
        if context.plan is not None:
            context = replace(context, reach=Reach.ALL)
        has_gaps = _has_gaps(context)
        for takes_held in (False, True) if context.end is not None and not self.strict_end else (False,):
            turn = replace(context, takes_held=takes_held)
            if has_gaps and self.several is None:
                yield replace(turn, reach=Reach.GAPS)
            yield replace(turn, reach=Reach.ALL) if has_gaps and self.several is not None else turn

    def bound(self, context: MachineContext) -> MachineContext:
        """Return the context in which all machines count that one of the ``turns`` would find."""
        if context.end is None and context.plan is None:
            return context
        return replace(context, reach=Reach.ALL, takes_held=not self.strict_end)

    @abstractmethod
    def choose(self, context: MachineContext) -> Host | None:
        """Return a machine that fits, locked; None if none is free, or a name in the request does not exist. If the
        context has an end, machines without a hold that is planned before it come first.

        Raises StaleDataError if other transactions are taking all that fit, and BadQuery, SearchTookTooLong and
        TooManyCandidates for queries.
        """

    def other_providers(self, context: MachineContext) -> Amounts | None:
        """Return the amounts to claim of providers that are no machines; None if there are none. Raises like
        ``choose``."""
        return None

    @abstractmethod
    def hosts(self, context: MachineContext, limit: int) -> list[tuple[str, Amounts]]:
        """Return the machines from which ``choose`` would choose, at most ``limit``, only that of the context if this
        names one: UUIDs of nodes, and claims. Nothing is locked. Raises like ``choose``, except for StaleDataError."""

    @abstractmethod
    def free_machines(self, context: MachineContext, *, remembers: bool = False) -> FreeMachines | None:
        """Return all free machines that fit, and for which no hold is planned before the end of the context; None if a
        name in the request does not exist. ``remembers``: names may be those of a moment ago.

        Raises MachinesShare for a request that other providers than machines have to serve, CannotWait if it names no
        class of nodes.
        """

    @abstractmethod
    def question(self, context: MachineContext) -> Question:
        """Return the question which machines can be chosen, for explanations. Raises BadQuery."""

    @abstractmethod
    def may_fit(self, machine: FreeMachine) -> bool:
        """Return False if the machine certainly does not fit; True if the search must tell."""

    @abstractmethod
    def is_decided(self) -> bool:
        """Return whether ``may_fit`` is the whole answer about a machine of the class that the request waits for."""
