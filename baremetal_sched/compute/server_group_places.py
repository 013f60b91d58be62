"""Where the members of a server group are, and where the next one may be, by the domains of the level
``[compute] server_group_level``.

A member counts where its machine is now, from its boot until the machine is released. Affinity is a pack by the level,
anti-affinity a spread of ``max_server_per_host``: ``spreading`` has the rules. A policy becomes conditions on a node,
which the search and the explanation share. Hard policies have one list of conditions; soft ones have several, in the
order of preference; the last list is empty.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, and_, func, select, true
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.matching import free_machine
from baremetal_sched.baremetal.matching.conditions import NEVER, Condition, Kind
from baremetal_sched.baremetal.matching.question import capable
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.several import count_places
from baremetal_sched.baremetal.matching.spreading import Place, Several, quotas
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.compute.server_groups import AFFINITY, ANTI_AFFINITY, SOFT_AFFINITY, SOFT_ANTI_AFFINITY
from baremetal_sched.db.models import Domain, DomainMember, Node, Server, ServerGroup, ServerGroupMember
from baremetal_sched.db.types import Query, Reader
from baremetal_sched.errors.placement import TraitNotFound, UnknownClassInQuery

Request = TypeVar("Request", bound=MachineRequest)


#: Stands for the domain of members that are in none: no other machine is there.
_ELSEWHERE = 0


class MemberPlaces:
    """The members of a server group by domain. Exact while the transaction has locked the row of the group.

    ``most``: its ``max_server_per_host``; ``level``: that of the domains.
    """

    def __init__(self, level: str, uuid: str, policy: str, most: int | None) -> None:
        self.uuid = uuid
        self._level = level
        self._policy = policy
        self._together = policy in (AFFINITY, SOFT_AFFINITY)
        self._rules = Several(1, pack_by=level) if self._together else Several(1, level, most or 1)
        self._soft = policy in (SOFT_AFFINITY, SOFT_ANTI_AFFINITY)
        self._names: dict[int, str] = {}
        self._members: Counter[int] = Counter()
        #: Members on machines that are in no domain of the level.
        self._elsewhere = 0
        #: The condition on the first of several members.
        self._first: Condition | None = None

    @property
    def refuses(self) -> bool:
        """Return whether the group can have no further member, whichever machines there are."""
        return self._policy == AFFINITY and not self._level and self._elsewhere > 0

    @property
    def limit(self) -> str:
        """Return the sentence about the most members that the policy allows where one is; empty if it has no such
        limit."""
        if self._policy == AFFINITY and not self._level:
            return "A server group with affinity has one server, as [compute] server_group_level is not set."
        if self._policy != ANTI_AFFINITY or not self._level:
            return ""
        return f"At most {_servers(self._rules.at_most)} may be in one {self._level}."

    def has_room(self, domain: int | None) -> bool:
        """Return whether the next member may be on a machine in the domain of the level (an id; None: in none): False
        if the machine certainly fails the conditions of ``choices``."""
        if self._soft:
            return True
        if not self._level:
            return not self.refuses
        held = {self._place(each): number for each, number in [*self._members.items(), (_ELSEWHERE, self._elsewhere)]}
        rules = replace(self._rules, held={place: number for place, number in held.items() if number})
        return quotas(rules, {self._place(domain): 1}) is not None

    def _place(self, domain: int | None) -> Place:
        return (domain, None) if self._together else (None, domain)

    def choices(self, request: Request) -> list[Request]:
        """Return the request with the conditions of the policy, in the order of preference: at least one."""
        chosen = [replace(request, conditions=conditions) for conditions in self._conditions()]
        return [*chosen, request] if self._soft or not chosen else chosen

    def make_room(self, context: MachineContext, request: TreeRequest, count: int) -> None:
        """Before the first ``count`` members, which are to be together: choose domains with machines for all. Raises
        the errors of the search."""
        if not (self._level and self._together) or self._members or self._elsewhere:
            return
        free = self._free(context, request, count)
        least = max(free.values(), default=0) if self._soft else count
        enough = [domain for (domain, _), number in free.items() if number >= least]
        self._first = self._room(
            f"in a {self._level} with {count} machines that fit and are free",
            f"in a {self._level} with fewer than {count} machines that fit and are free",
            self._domain_is(DomainMember.domain_id.in_(enough)),
        )

    def _free(self, context: MachineContext, request: TreeRequest, count: int) -> Counter[Place]:
        """Return how many machines fit and are free at each place of the level: of all, or of as many as are needed to
        find one that has ``count``."""
        free: Counter[Place] = Counter()
        with suppress(TraitNotFound, UnknownClassInQuery):
            for fresh in request.trees(context):
                for part in free_machine.batches_of(capable(context.session, fresh, request.extra_specs)):
                    machines = free_machine.of_roots(part, request.clauses(request.bound(context)))
                    free.update(count_places(context.session, machines, self._rules))
                free.pop((None, None), None)
                if max(free.values(), default=0) >= count:
                    break
        return free

    def took(self, session: Session, node: Node, request: TreeRequest) -> None:
        """Count a new member on ``node`` (its row locked), which was chosen for ``request``, one of ``choices``.

        Raises StaleDataError if the node no longer meets its conditions.
        """
        query = (
            select(Domain.id, Domain.name)
            .select_from(Node)
            .outerjoin(DomainMember, self._of_node)
            .outerjoin(Domain, Domain.id == DomainMember.domain_id)
            .where(Node.id == node.id, *(each.holds for each in request.conditions))
        )
        found = session.execute(query).first()
        if found is None:
            raise StaleDataError("the machine was moved to another domain")
        self.count(*found, 1)

    def count(self, domain: int | None, name: str | None, number: int) -> None:
        """Count ``number`` members in a domain; None: in none."""
        if domain is None:
            self._elsewhere += number
        elif number:
            self._members[domain] += number
            self._names[domain] = name or ""

    # -- conditions ----------------------------------------------------------------------------------------------------

    def _conditions(self) -> Iterator[tuple[Condition, ...]]:
        level = self._level
        if not level:
            if self.refuses:
                other = "than that of the server group, and [compute] server_group_level is not set"
                failure = (f"is another machine {other}", f"are other machines {other}")
                yield (_of_group("is the machine of the server group", failure, NEVER),)
            return
        failure = (f"is in no {level}", f"are in no {level}")
        inside = Condition(f"domain:{level}", f"is in a {level}", failure=failure, holds=self._domain_is(true()))
        chosen = [*(self._near() if self._together else self._apart())]
        if not chosen:
            yield (inside,) if self._first is None else (inside, self._first)
        for each in chosen:
            yield inside, each
        if chosen and self._soft:
            yield (inside,)

    def _near(self) -> Iterator[Condition]:
        """Yield the condition to be where members are; for soft affinity, first where most of them are."""
        numbers = sorted(set(self._members.values()), reverse=True)
        if not self._soft:
            numbers = [1] if self._members or self._elsewhere else []
        for least in numbers:
            domains = [domain for domain, number in self._members.items() if number >= least]
            named = " or ".join(sorted(f"{self._level} {self._names[domain]}" for domain in domains))
            where = f"in {named}, where the server group is" if named else f"in the {self._level} of the server group"
            members = select(DomainMember.node_id).where(DomainMember.domain_id.in_(domains))
            yield replace(self._room(where, f"not {where}", Node.id.in_(members)), few=True)

    def _apart(self) -> Iterator[Condition]:
        """Yield the condition to have room for another member; for soft anti-affinity, first where fewest of them
        are."""
        for most in sorted(set(self._members.values())) if self._soft else [self._rules.at_most or 1]:
            full = [domain for domain, number in self._members.items() if number >= most]
            servers = _servers(most)
            yield self._room(
                f"in a {self._level} with less than {servers}",
                f"in a {self._level} that has {servers}",
                self._domain_is(DomainMember.domain_id.not_in(full)),
            )

    def _room(self, where: str, fails: str, holds: ColumnElement[bool]) -> Condition:
        return _of_group(f"is {where}", (f"is {fails}", f"are {fails}"), holds)

    def _domain_is(self, domain: ColumnElement[bool]) -> ColumnElement[bool]:
        """EXISTS (SELECT m.node_id FROM domain_members m WHERE m.node_id = n.id AND m.level = … AND <domain>)"""
        return select(DomainMember.node_id).where(self._of_node, domain).correlate(Node).exists()

    @property
    def _of_node(self) -> ColumnElement[bool]:
        return and_(DomainMember.node_id == Node.id, DomainMember.level == self._level)


def of_request(context: MachineContext, request: MachineRequest) -> MemberPlaces | None:
    """Return where the members of the request's group are; None if it has none, or that was deleted."""
    group, level = request.server_group, context.settings.compute.server_group_level
    return None if group is None else _places_of(context.session, level, [group]).get(group)


def _places_of(reader: Reader, level: str, groups: Collection[str]) -> dict[str, MemberPlaces]:
    found: dict[str, MemberPlaces] = {}
    for uuid, policy, most, *members in reader.execute(_members_by_domain(level, groups)):
        found.setdefault(uuid, MemberPlaces(level, uuid, policy, most)).count(*members)
    return found


def admitting(connection: Connection, level: str, node: str, groups: Collection[str]) -> set[str]:
    """Return which of the groups (UUIDs) may have their next member on the node (a UUID), by where their members are
    now, and those that were deleted: their servers may be anywhere."""
    inside = select(DomainMember.domain_id).join(Node, Node.id == DomainMember.node_id)
    domain = connection.scalar(inside.where(Node.uuid == node, DomainMember.level == level)) if level else None
    found = _places_of(connection, level, groups)
    return {uuid for uuid in groups if uuid not in found or found[uuid].has_room(domain)}


def narrowed(context: MachineContext, request: Request) -> Request:
    """Return the request with the conditions that its server group, if it has one, insists on at this moment."""
    places = of_request(context, request)
    return request if places is None else places.choices(request)[-1]


def _servers(number: int | None) -> str:
    return f"{number} {'server' if number == 1 else 'servers'} of the server group"


def _of_group(text: str, failure: tuple[str, str], holds: ColumnElement[bool]) -> Condition:
    """Return a condition that passes: members come and go."""
    return Condition("server_group", text, Kind.AVAILABILITY, failure=failure, holds=holds)


def _members_by_domain(level: str, groups: Collection[str]) -> Query:
    """SELECT g.uuid, g.policy, g.max_server_per_host, d.id, d.name, count(n.id) FROM server_groups g
    LEFT JOIN server_group_members gm ON gm.group_id = g.id LEFT JOIN servers s ON s.id = gm.server_id
    LEFT JOIN nodes n ON n.instance_uuid = s.uuid LEFT JOIN domain_members m ON m.node_id = n.id AND m.level = …
    LEFT JOIN domains d ON d.id = m.domain_id WHERE g.uuid IN … GROUP BY g.uuid, …, d.id, d.name"""
    group = (ServerGroup.uuid, ServerGroup.policy, ServerGroup.max_server_per_host)
    return (
        select(*group, Domain.id, Domain.name, func.count(Node.id))
        .select_from(ServerGroup)
        .outerjoin(ServerGroupMember, ServerGroupMember.group_id == ServerGroup.id)
        .outerjoin(Server, Server.id == ServerGroupMember.server_id)
        .outerjoin(Node, Node.instance_uuid == Server.uuid)
        .outerjoin(DomainMember, and_(DomainMember.node_id == Node.id, DomainMember.level == level))
        .outerjoin(Domain, Domain.id == DomainMember.domain_id)
        .where(ServerGroup.uuid.in_(groups))
        .group_by(*group, Domain.id, Domain.name)
    )
