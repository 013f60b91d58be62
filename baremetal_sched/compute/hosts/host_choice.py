"""The choice of a server's machine: the placement search, and the first candidate that can be taken now.

A candidate is a host if the root of its tree mirrors a node whose own class is free: 1 of that class is always part of
the claim, so a machine with a server is never offered. A machine that another transaction is about to take is skipped.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.matching.conditions import Condition, unmet_capabilities, wanted_capabilities
from baremetal_sched.baremetal.matching.question import Check
from baremetal_sched.baremetal.provider import availability, projection
from baremetal_sched.baremetal.visibility import usable_by
from baremetal_sched.db.handover import notes_of
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import selecting
from baremetal_sched.db.types import Query
from baremetal_sched.errors.scheduling import CannotWait
from baremetal_sched.placement.candidates import search
from baremetal_sched.placement.candidates.request import query
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.placement.candidates.trees.candidate import Found
from baremetal_sched.placement.names import is_custom
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS
from baremetal_sched.settings import Settings

#: The microversion of placement that the requests are written for.
VERSION = 36

#: How many candidates are read, if none of fewer can be taken.
_LIMITS = (64, 2_000, 100_000)

#: Of this many machines, chosen at random, the first that can be taken is: concurrent choices on several servers of a
#: cluster, which do not see each other's locks, rarely choose the same.
_SAMPLE = 16

#: Databases limit the size of a statement; this is the number of machines in one.
_BATCH = 1000

#: Amounts by class by provider (UUID).
Claim = dict[str, dict[str, int]]


@dataclass(frozen=True)
class HostRequest:
    """What a server asks for: a query string of placement, and conditions that placement does not know.

    ``group`` is a conductor group, ``node`` and ``excluded`` are UUIDs. Of ``extra_specs`` the capabilities count,
    which the node has to have. ``project``: nodes of other projects do not count; None: all nodes do. ``served``: a
    conductor has to serve the node. ``version``: the microversion of placement that the query is written for.
    ``anchor``: only the machine with this UUID is looked at, and what it shares.
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

    def document(self) -> dict[str, Any]:
        """Return it as JSON: equal documents ask for the same."""
        values = {name: value for name, value in asdict(self).items() if name != "anchor"}
        return values | {"extra_specs": dict(self.extra_specs), "excluded": sorted(self.excluded)}

    def machine_class(self) -> str:
        """Return the class of the node that it asks for. The class may not exist yet.

        Raises CannotWait unless the group without a suffix asks for one unit of one custom class, and BadQuery.
        """
        groups = self.parsed(None).groups
        amounts = groups[""].resources if "" in groups else {}
        own = [name for name in amounts if is_custom(name)]
        if len(own) != 1 or amounts[own[0]] != 1:
            raise CannotWait(
                message="To wait, a request has to ask for one unit of a node's custom class in the group without a "
                "suffix, such as resources=CUSTOM_GOLD:1."
            )
        return own[0]

    def needed_trait(self) -> str | None:
        """Return a trait that the node itself has to have; None if only the search can tell. Raises BadQuery."""
        groups = self.parsed(None).groups
        group = groups.get("")
        if group is None or len(groups) > 1 or len(group.resources) != 1:
            return None
        return min((name for names in group.traits.required if len(names) == 1 for name in names), default=None)

    def on(self, node: str) -> "HostRequest | None":
        """Return the request for this node (UUID) only; None if it asks for another."""
        groups = self.parsed(None).groups
        tree = groups[""].in_tree if "" in groups else None
        if node != (self.node or node) or node != (tree or node):
            return None
        if not tree and "" in groups and len(groups[""].resources) > 1:
            # Others than the machine may give some of it.
            return replace(self, anchor=node)
        return replace(self, query=self.query if tree else f"{self.query}&in_tree={node}")

    def parsed(self, limit: int | None) -> CandidateRequest:
        """The query, for at most ``limit`` candidates. Raises BadQuery."""
        return replace(_parsed(self.query, self.version), limit=limit, anchor=self.anchor)

    def places(self) -> list[Check]:
        """Return the checks of the zone, of the named node and of nodes that were tried before."""
        found = []
        if self.group is not None:
            found.append(Check(_ZONE, Node.conductor_group == self.group))
        if self.node is not None:
            found.append(Check(_NODE, Node.uuid == self.node))
        if self.excluded:
            found.append(Check(_TRIED, Node.uuid.not_in(self.excluded)))
        return found

    def usable(self) -> tuple[ColumnElement[bool], ...]:
        """Return the condition on Node that the project may use it."""
        return () if self.project is None else (usable_by(self.project),)

    def clauses(self, membership: Membership) -> list[ColumnElement[bool]]:
        """Return what a node has to meet besides the query."""
        return [
            *((membership.served(),) if self.served else ()),
            *(check.holds for check in self.places()),
            *self.usable(),
        ]


_ZONE = Condition(
    "zone",
    "is in the availability zone",
    failure=("is in another availability zone", "are in other availability zones"),
)
_NODE = Condition(
    "node",
    "is the requested node",
    failure=("is not the requested node", "are not the requested node"),
)
_TRIED = Condition("tried", "did not fail to deploy this server")


@dataclass(frozen=True)
class Host:
    """A machine that can be taken, its row and the inventory of its own class locked; and the claim."""

    node: Node
    claim: Claim


@lru_cache(maxsize=200)
def _parsed(text: str, version: int) -> CandidateRequest:
    return query.parse(parse_qsl(text, keep_blank_values=True), version)


def choose(session: Session, wanted: HostRequest, membership: Membership, settings: Settings) -> Host | None:
    """Return a machine for ``wanted``, or None.

    Raises BadQuery for a query that asks for nothing, UnknownClassInQuery or TraitNotFound for names that do not exist,
    StaleDataError if all machines that fit are being taken by other transactions, SearchTookTooLong, TooManyCandidates.
    """
    clauses = wanted.clauses(membership)
    for fresh in _trees(session, wanted, settings):
        locked = _lock_one(session, _capable(session, fresh, wanted.extra_specs), clauses)
        if locked is not None:
            node, root = locked
            return Host(node, _claim(session, node, root, fresh[root]))
    return None


def hosts(
    session: Session, wanted: HostRequest, membership: Membership, settings: Settings, limit: int
) -> list[tuple[str, Claim]]:
    """Return what ``choose`` would choose from, at most ``limit``: UUIDs of nodes, and claims. Nothing is locked.

    Raises like ``choose``, but for StaleDataError.
    """
    found: list[tuple[str, Claim]] = []
    clauses = wanted.clauses(membership)
    for fresh in _trees(session, wanted, settings):
        for part in _parts(_capable(session, fresh, wanted.extra_specs)):
            rows = session.execute(_of_roots(part, clauses).limit(limit - len(found))).all()
            found += [(node.uuid, _claim(session, node, root, fresh[root])) for node, root in rows]
            if len(found) >= limit:
                return found
    return found


def _trees(session: Session, wanted: HostRequest, settings: Settings) -> Iterator[dict[int, Found]]:
    """Yield the first candidate of each tree by the id of its root: first for a few trees, then for more."""
    seconds = settings.placement.candidates_time_limit or None
    options = search.Options(breadth_first=True, seconds=seconds, unknown_traits=True)
    seen: set[int] = set()
    for limit in _LIMITS:
        with closing(search.find(selecting(session), wanted.parsed(limit), wanted.version, options)) as found:
            candidates = list(islice(found, limit))
        trees: dict[int, Found] = {}
        for candidate in candidates:
            root = _root_of(candidate)
            if root is not None and root not in seen:
                trees.setdefault(root, candidate)
        yield trees
        seen |= trees.keys()
        if len(candidates) < limit:
            return


def _root_of(candidate: Found) -> int | None:
    """Return the id of the root of the candidate's tree; None if its providers are in several trees, none read."""
    if candidate.anchor is not None:
        return candidate.anchor.root_id
    return next(iter(candidate.roots)) if len(candidate.roots) == 1 else None


def _capable(session: Session, roots: Iterable[int], extra_specs: Mapping[str, str]) -> list[int]:
    """Return the roots, in random order, whose nodes have the capabilities of the extra specs."""
    fitting = list(roots)
    random.shuffle(fitting)
    if not wanted_capabilities(extra_specs):
        return fitting
    able = set()
    for start in range(0, len(fitting), _BATCH):
        rows = session.execute(
            select(PROVIDERS.c.id, Node.properties)
            .join(Node, Node.uuid == PROVIDERS.c.uuid)
            .where(one_of(PROVIDERS.c.id, fitting[start : start + _BATCH]))
        )
        able |= {root for root, properties in rows if not unmet_capabilities(extra_specs, properties or {})}
    return [root for root in fitting if root in able]


def _lock_one(session: Session, roots: list[int], clauses: list[ColumnElement[bool]]) -> tuple[Node, int] | None:
    """Return the first machine that no other transaction is about to take, with the id of its provider.

    Raises StaleDataError if others take all that fit.

    SELECT n.*, p.id FROM nodes n JOIN resource_providers p ON p.uuid = n.uuid
    JOIN inventories i ON i.provider_id = p.id AND i.resource_class_id = p.mirrored_class_id
    WHERE p.id IN (…) AND i.free = 1 AND … LIMIT 1 FOR UPDATE OF n, i SKIP LOCKED
    """
    # Those that fit no request in the queue.
    offered = [root for root in roots if root in notes_of(session.connection()).offered]
    for part in (*_parts(offered), *_parts(roots)):
        locked = _of_roots(part, clauses).limit(1).with_for_update(of=(Node, INVENTORIES), skip_locked=True)
        row = session.execute(locked).first()
        if row is not None:
            return row[0], row[1]
    for part in _parts(roots):
        if session.execute(_of_roots(part, clauses).with_only_columns(Node.id).limit(1)).first():
            raise StaleDataError("the machines that fit are being taken by others")
    return None


def _parts(roots: list[int]) -> Iterable[list[int]]:
    if roots:
        yield roots[:_SAMPLE]
    for start in range(_SAMPLE, len(roots), _BATCH):
        yield roots[start : start + _BATCH]


def _of_roots(roots: list[int], clauses: Iterable[ColumnElement[bool]]) -> Query:
    return free_nodes(PROVIDERS.c.id.in_(roots) if len(roots) <= _SAMPLE else one_of(PROVIDERS.c.id, roots), *clauses)


def free_nodes(*clauses: ColumnElement[bool]) -> Query:
    """Return the query of nodes that are free now, with their providers and the inventories of their own class."""
    return (
        select(Node, PROVIDERS.c.id)
        .join(PROVIDERS, PROVIDERS.c.uuid == Node.uuid)
        .join(INVENTORIES, INVENTORIES.c.provider_id == PROVIDERS.c.id)
        .where(
            INVENTORIES.c.resource_class_id == PROVIDERS.c.mirrored_class_id,
            INVENTORIES.c.free == 1,
            availability.IS_AVAILABLE,
            availability.IS_OPEN,
            Node.reservation.is_(None),
            *clauses,
        )
    )


def _claim(session: Session, node: Node, root: int, candidate: Found) -> Claim:
    """Return the amounts of the candidate, completed by 1 of the machine's own class."""
    others = [row_id for row_id in candidate.allocations if row_id != root]
    uuids = {root: node.uuid}
    if others:
        rows = session.execute(select(PROVIDERS.c.id, PROVIDERS.c.uuid).where(PROVIDERS.c.id.in_(others)))
        uuids |= {row_id: uuid for row_id, uuid in rows}
        if len(uuids) <= len(others):
            raise StaleDataError("a provider was deleted meanwhile")
    claim = {uuids[row_id]: dict(amounts) for row_id, amounts in candidate.allocations.items()}
    claim.setdefault(node.uuid, {}).setdefault(projection.resource_class_of(node.resource_class or ""), 1)
    return claim
