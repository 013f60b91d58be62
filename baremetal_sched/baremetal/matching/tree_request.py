"""A request by a query of placement: that of a server, of a claim, or of an explanation.

The placement search finds candidates; a candidate is a host if the root of its tree mirrors a node whose own class is
free. 1 of that class is always part of the claim, so a machine with a server is never offered. Of the hosts, the first
that no other transaction is about to take is locked.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Self
from urllib.parse import parse_qsl

from sqlalchemy import ColumnElement, select

from baremetal_sched.baremetal.matching import free_machine, tree_search, tree_shapes
from baremetal_sched.baremetal.matching.capabilities import required_capabilities
from baremetal_sched.baremetal.matching.conditions import (
    Condition,
    availability_conditions,
    of_capability,
    of_claim,
    of_conductor,
    of_lock,
    of_node,
    of_project,
    of_untried,
    of_zone,
)
from baremetal_sched.baremetal.matching.free_machine import FreeMachine
from baremetal_sched.baremetal.matching.question import (
    Question,
    asks_for_traits_only,
    capable,
    machine_class,
    names_of,
    needed_trait,
    nodes_source,
    of_group,
    shuffled,
    without,
)
from baremetal_sched.baremetal.matching.request import Amounts, FreeMachines, Host, MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.spreading import SEVERAL, Several, with_group
from baremetal_sched.baremetal.matching.tree_search import LIMITS, MOST
from baremetal_sched.db.models import Node
from baremetal_sched.db.types import selecting
from baremetal_sched.errors.placement import TraitNotFound, UnknownClassInQuery
from baremetal_sched.errors.scheduling import CannotWait, MachinesShare
from baremetal_sched.placement.candidates.request import query
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.candidates.request.resolve import names_places, recall, resolve
from baremetal_sched.placement.candidates.sql import single_provider
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.placement.candidates.trees.candidate import Found
from baremetal_sched.placement.tables import PROVIDERS

#: The microversions of placement that the queries of servers, and of claims and explanations, are written for.
VERSION = 36
QUERY_VERSION = 39

#: How many candidates are read to find one that is no machine.
_CANDIDATES = 100

#: Fields of requests that are not kept.
_PASSING = ("anchor", "changed", "conditions", "server_group", "several", "strict_end")

_UNKNOWN = (TraitNotFound, UnknownClassInQuery)


@dataclass(frozen=True)
class TreeRequest(MachineRequest):
    """A query string of placement, and conditions that placement does not know.

    ``group`` is a conductor group, ``node`` and ``excluded`` are UUIDs. Of ``extra_specs`` the capabilities count,
    which the node must have. ``project``: nodes of other projects do not count; None: all nodes do. ``served``: a
    conductor must serve the node. ``version``: the microversion of placement that the query is written for.
    ``anchor``: only the machine with this UUID is looked at, and what it shares. ``changed``: the query after
    conditions were left out of it.
    """

    query: str
    group: str | None = None
    node: str | None = None
    extra_specs: Mapping[str, str] = field(default_factory=dict)
    excluded: Collection[str] = ()
    project: str | None = None
    served: bool = True
    version: int = VERSION
    anchor: str | None = None
    changed: CandidateRequest | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "TreeRequest":
        """Return what ``document`` was made of."""
        return cls(**{**document, SEVERAL: Several.read(document)})

    def of_anyone(self) -> Self:
        """Return the same request without a project and a group."""
        return replace(self, project=None, several=None)

    def may_use(self, owner: str | None, lessee: str | None) -> bool:
        """Return whether it considers a machine with this owner and this lessee."""
        return self.project is None or (lessee or owner) in (None, self.project)

    def document(self) -> dict[str, Any]:
        """Return it as JSON: equal documents ask for the same."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _PASSING}
        values |= {"extra_specs": dict(self.extra_specs), "excluded": sorted(self.excluded)}
        if self.server_group is not None:  # as earlier releases do
            values["server_group"] = self.server_group
        return with_group(values, self.several, strict_end=self.strict_end)

    def machine_class(self) -> str:
        """Return the class of the node that it asks for. The class may not exist yet. Raises CannotWait, BadQuery."""
        return machine_class(self.parsed())

    def needed_trait(self) -> str | None:
        """Return a trait that the node itself must have; None if only the search can tell. Raises BadQuery."""
        return needed_trait(self.parsed())

    def on(self, node: str) -> Self | None:
        """Return the request for this node (UUID) only; None if it asks for another."""
        groups = self.parsed().groups
        tree = groups[""].in_tree if "" in groups else None
        if node != (self.node or node) or node != (tree or node):
            return None
        if not tree and "" in groups and len(groups[""].resources) > 1:
            # Others than the machine may give some of it.
            return replace(self, anchor=node)
        return replace(self, query=self.query if tree else f"{self.query}&in_tree={node}")

    def parsed(self, limit: int | None = None) -> CandidateRequest:
        """Return the query, for at most ``limit`` candidates. Raises BadQuery."""
        return replace(self.changed or _parsed(self.query, self.version), limit=limit, anchor=self.anchor)

    def places(self) -> list[Condition]:
        """Return the conditions on the zone, the named node, nodes that were tried before, and the server group."""
        return [
            *([] if self.group is None else [of_zone(self.group)]),
            *([] if self.node is None else [of_node(self.node)]),
            *([of_untried(self.excluded)] if self.excluded else []),
            *self.conditions,
        ]

    def usable(self) -> tuple[ColumnElement[bool], ...]:
        """Return the condition on Node that the project may use it."""
        return () if self.project is None else (of_project(self.project).holds,)

    def clauses(self, context: MachineContext) -> list[ColumnElement[bool]]:
        """Return the conditions on a node besides the query, those of holds and bookings included."""
        served = (context.membership.served(),) if self.served else ()
        return [*served, *(each.holds for each in self.places()), *context.opening.clauses(), *self.usable()]

    def choose(self, context: MachineContext) -> Host | None:
        """Return a machine that fits, locked, and the amounts to claim, and raise, like ``MachineRequest.choose``.
        Raises BadQuery for a query that asks for nothing."""
        return next(filter(None, map(self._choose, self.turns(context))), None)

    def _choose(self, context: MachineContext) -> Host | None:
        session, clauses = context.session, self.clauses(context)
        with suppress(*_UNKNOWN):
            few = self._few(context)
            is_of_gaps = context.opening.is_of_gaps
            if few is not None:
                query = context.opening.by_gap(few.query) if is_of_gaps else few.query
                query = query.with_only_columns(PROVIDERS.c.id, maintain_column_froms=True).limit(LIMITS[0])
                found = session.scalars(query).all()
                roots = list(dict.fromkeys(found)) if is_of_gaps else shuffled(found)
                locked = free_machine.lock_first(session, roots, clauses, in_order=is_of_gaps)
                return None if locked is None else self._host(context, locked[0], few.claim(*locked))
            for fresh in self.trees(context):
                able = capable(session, fresh, self.extra_specs)
                roots = [root for root in fresh if root in {*able}] if is_of_gaps else able
                locked = free_machine.lock_first(session, roots, clauses, in_order=is_of_gaps)
                if locked is not None:
                    node, root = locked
                    return self._host(context, node, free_machine.claim_of(session, node, root, fresh[root]))
        return None

    def _host(self, context: MachineContext, node: Node, claim: Amounts) -> Host:
        return Host(node, claim, context.calendars([node.id]).get(node.id))

    def _few(self, context: MachineContext) -> FreeMachines | None:
        """Return the machines that fit, if a condition leaves few, or few are booked later, and SQL can tell."""
        with suppress(CannotWait):
            if context.opening.is_of_gaps or any(each.few for each in self.conditions):
                return self._alone(context, self.machine_class(), remembers=False)
        return None

    def hosts(self, context: MachineContext, limit: int) -> list[tuple[str, Amounts]]:
        """Return the machines from which ``choose`` would choose, at most ``limit``: UUIDs of nodes, and claims.
        Nothing is locked.

        Raises like ``choose``, except for StaleDataError.
        """
        context = self.bound(context)
        session, clauses = context.session, self.clauses(context)
        clauses += [] if context.machine is None else [Node.uuid == context.machine]
        hosts: list[tuple[str, Amounts]] = []
        with suppress(*_UNKNOWN):
            for fresh in self.trees(context):
                for part in free_machine.batches_of(capable(session, fresh, self.extra_specs)):
                    query = free_machine.of_roots(part, clauses).limit(limit - len(hosts))
                    rows = session.execute(query).all()
                    hosts += [
                        (node.uuid, free_machine.claim_of(session, node, root, fresh[root])) for node, root in rows
                    ]
                    if len(hosts) >= limit:
                        return hosts
        return hosts

    def free_machines(self, context: MachineContext, *, remembers: bool = False) -> FreeMachines | None:
        """Return all free machines that fit; None if a name in the request does not exist. ``remembers``: names may be
        those of a moment ago.

        Raises MachinesShare if others share what the request needs, CannotWait if it names no class of nodes.
        """
        own = self.machine_class()
        with suppress(*_UNKNOWN):
            return self._alone(context, own, remembers=remembers) or self._of_trees(context)
        return None

    def _alone(self, context: MachineContext, own: str, *, remembers: bool) -> FreeMachines | None:
        """Return the machines that serve the request alone, by conditions in SQL; None if only the search can tell."""
        connection, query = selecting(context.session), self.parsed()
        remembered = recall(connection, query, self.version) if remembers and not names_places(query) else None
        resolved = remembered or resolve(connection, query, self.version, unknown_traits=True)
        if (
            resolved is None
            or required_capabilities(self.extra_specs)
            or not single_provider.applies(connection, resolved)
        ):
            return None
        if len(resolved.groups[0].resources) > 1:
            return None
        free = free_machine.idle_nodes(*free_machine.of_one_provider(resolved), *self.clauses(context))
        (class_id,) = resolved.groups[0].resources
        return FreeMachines(free, lambda node, root: {node.uuid: {own: 1}}, class_id)

    def _of_trees(self, context: MachineContext) -> FreeMachines:
        session = context.session
        found = {root: each for trees in self.trees(context, MOST) for root, each in trees.items()}
        alone = {root: each for root, each in found.items() if each.roots == {root}}
        if found and not alone:
            raise MachinesShare
        roots = capable(session, alone, self.extra_specs)
        query = free_machine.idle_nodes(one_of(PROVIDERS.c.id, roots), *self.clauses(context))
        return FreeMachines(query, lambda node, root: free_machine.claim_of(session, node, root, alone[root]))

    def other_providers(self, context: MachineContext) -> Amounts | None:
        """Return the amounts to claim of providers that are not machines, for example hosts of virtual machines.

        None if nothing fits, or if the request is for machines only. Raises the errors of the search.
        """
        if self.project is not None or self.served:
            return None
        session, candidates = context.session, list[Found]()
        with (
            suppress(*_UNKNOWN),
            closing(tree_search.find(context, self.parsed(), self.version, _CANDIDATES)) as results,
        ):
            candidates = list(islice(results, _CANDIDATES))
        roots = {root for candidate in candidates for root in candidate.roots}
        # A machine that ``choose`` did not take, for example because a conductor works on it, goes to waiting requests.
        machines = select(PROVIDERS.c.id).where(
            one_of(PROVIDERS.c.id, roots), PROVIDERS.c.mirrored_class_id.is_not(None)
        )
        are_machines = set(session.scalars(machines)) if roots else set()
        candidate = next((each for each in candidates if are_machines.isdisjoint(each.roots)), None)
        return None if candidate is None else free_machine.amounts_of(session, candidate, {})

    def trees(self, context: MachineContext, limits: Sequence[int] = LIMITS) -> Iterator[dict[int, Found]]:
        """Yield the first candidate of each tree, like ``tree_search.trees``."""
        return tree_search.trees(context, self.parsed(), self.version, self.node, limits)

    def question(self, context: MachineContext) -> Question:
        """Return the question which nodes can be the host. Amounts and traits are those of the node's whole tree.

        Nodes that the project may not use are excluded. Conductors count. Raises BadQuery.
        """
        request = self.parsed()
        return Question(
            [
                *self.places(),
                *tree_shapes.conditions_on_trees(selecting(context.session), request),
                *availability_conditions(self.bound(context).opening),
                of_claim(),
                of_lock(counts=True),
                of_conductor(context.membership, counts=True),
            ],
            nodes_source(),
            self.usable(),
            names_of(request),
            capabilities=self.extra_specs,
        )

    def without(self, drop: Collection[str]) -> Self | None:
        """Return the request without the conditions of its question that have these ids; None if nothing is left."""
        request = self.parsed()
        # A condition on the whole tree is that of every group.
        changed = without(request, {_of_group(name, suffix) for name in drop for suffix in request.groups})
        if changed is None:
            return None
        capabilities = required_capabilities(self.extra_specs).items()
        stays = {
            f"capabilities:{name}": value for name, value in capabilities if of_capability(name, value).id not in drop
        }
        return replace(self, extra_specs=stays, changed=changed)

    def may_fit(self, machine: FreeMachine) -> bool:
        """Return False if the machine certainly does not fit; True if the search must tell."""
        return all(condition.met_by(machine) for condition in self._of_machine)

    @cached_property
    def _of_machine(self) -> list[Condition]:
        """The conditions that can be read of a free machine: those of the query if they are all about one provider."""
        group = self.parsed().groups.get("")
        is_alone = group is not None and len(self.parsed().groups) == len(group.resources) == 1
        of_query = [condition for condition, _ in of_group(group)] if is_alone and group is not None else []
        return [*self.places(), *([] if self.project is None else [of_project(self.project)]), *of_query]

    def is_decided(self) -> bool:
        """Return whether ``may_fit`` is the whole answer about a machine of the class that the request waits for."""
        return not (self.served or self.extra_specs or self.strict_end) and asks_for_traits_only(self.parsed())


@lru_cache(maxsize=200)
def _parsed(text: str, version: int) -> CandidateRequest:
    return query.parse(parse_qsl(text, keep_blank_values=True), version)


def _of_group(name: str, suffix: str) -> str:
    kind, colon, rest = name.partition(":")
    return f"{kind}{suffix}{colon}{rest}"
