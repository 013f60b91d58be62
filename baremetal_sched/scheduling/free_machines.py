"""A machine that is free, and a quick look at whether a waiting claim could get it: only the search can tell for sure.

Most claims that wait are for another machine than the one that is free now, so this look has to cost next to nothing.
"""

from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Select, String, bindparam, select
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.allocations.allocation_choice import Wanted
from baremetal_sched.compute.hosts.host_choice import HostRequest
from baremetal_sched.db import compiled
from baremetal_sched.db.handover import MachineLocked
from baremetal_sched.db.models import Node, table_of
from baremetal_sched.db.sql_functions import string_agg
from baremetal_sched.placement.candidates.request.query import RequestGroup
from baremetal_sched.placement.candidates.request.resolve import names_places
from baremetal_sched.placement.tables import (
    AGGREGATES,
    INVENTORIES,
    PROVIDER_AGGREGATES,
    PROVIDER_TRAITS,
    PROVIDERS,
    TRAITS,
)
from baremetal_sched.placement.traits import is_scheduler_trait
from baremetal_sched.scheduling.claim_requests import Request

_NODES = table_of(Node)

_PROVIDER = bindparam("provider", type_=Integer)
_NODE = bindparam("node", type_=String)


def _facts(provider: ColumnElement[int], node: ColumnElement[str]) -> Select[Any]:
    """Return the query of what a node, and its provider, are:

    SELECT n.uuid, n.owner, …, (SELECT string_agg(t.name, ',') FROM traits t JOIN provider_traits pt …
    WHERE pt.provider_id = <the provider>), (… of its aggregates) FROM nodes n WHERE n.uuid = <the node>
    """
    aggregates = select(string_agg(AGGREGATES.c.uuid)).join_from(
        AGGREGATES, PROVIDER_AGGREGATES, PROVIDER_AGGREGATES.c.aggregate_id == AGGREGATES.c.id
    )
    traits = select(string_agg(TRAITS.c.name)).join_from(
        TRAITS, PROVIDER_TRAITS, PROVIDER_TRAITS.c.trait_id == TRAITS.c.id
    )
    return select(
        _NODES.c.uuid,
        _NODES.c.owner,
        _NODES.c.lessee,
        _NODES.c.conductor_group,
        _NODES.c.resource_class,
        _NODES.c.reservation,
        traits.where(PROVIDER_TRAITS.c.provider_id == provider).scalar_subquery().label("traits"),
        aggregates.where(PROVIDER_AGGREGATES.c.provider_id == provider).scalar_subquery().label("aggregates"),
    ).where(_NODES.c.uuid == node)


#: By subqueries, so that PostgreSQL without statistics does not begin with all nodes.
_LOCK = _facts(
    _PROVIDER, select(PROVIDERS.c.uuid).where(PROVIDERS.c.id == _PROVIDER).scalar_subquery()
).with_for_update(of=_NODES, skip_locked=True)
_FIND = _facts(select(PROVIDERS.c.id).where(PROVIDERS.c.uuid == _NODE).scalar_subquery(), _NODE)


@dataclass(frozen=True)
class FreeMachine:
    """A machine that is free. ``traits`` are those of its provider: the node's, and a scheduler's."""

    uuid: str
    owner: str | None
    lessee: str | None
    conductor_group: str
    resource_class: str
    traits: frozenset[str]
    aggregates: frozenset[str]

    def may_fit(self, request: Request) -> bool:
        """Return False if the machine certainly does not fit; True if the search has to tell."""
        if isinstance(request, Wanted):
            return self._may_be(request)
        whose = self.lessee or self.owner
        return (
            (request.project is None or whose in (None, request.project))
            and request.node in (None, self.uuid)
            and request.group in (None, self.conductor_group)
            and self.uuid not in request.excluded
            and self._is_right(request)
        )

    def _is_right(self, request: HostRequest) -> bool:
        """Return whether it has the traits and is in the aggregates that are asked for."""
        group = _own_group(request.query, request.version)
        return group is None or (
            _meets(self.traits, group.traits.required, group.traits.forbidden)
            and _meets(self.aggregates, group.aggregates.member_of, group.aggregates.forbidden)
        )

    def _may_be(self, wanted: Wanted) -> bool:
        return (
            wanted.resource_class == self.resource_class
            and self.uuid in (wanted.candidates or (self.uuid,))
            and wanted.owner in (None, self.owner, self.lessee)
            and wanted.eligible.covers(self.owner, self.lessee)
            and not any(self._misses(entry.names, entry.forbidden) for entry in wanted.traits)
        )

    def _misses(self, names: Collection[str], forbidden: bool) -> bool:
        if forbidden:  # a scheduler's trait is none of the node's
            return any(name in self.traits and not is_scheduler_trait(name) for name in names)
        return self.traits.isdisjoint(names)


def is_decided(request: Request) -> bool:
    """Return whether ``may_fit`` is the whole answer about a machine of the class that the request waits for."""
    if isinstance(request, Wanted) or request.served or request.extra_specs:
        return False
    return _asks_for_traits_only(request.query, request.version)


@lru_cache(10_000)
def _asks_for_traits_only(query: str, version: int) -> bool:
    """Return whether a request is for one unit of one class, with conditions on traits of its provider only."""
    request = HostRequest(query, version=version).parsed(None)
    amounts = [amount for group in request.groups.values() for amount in group.resources.values()]
    elsewhere = names_places(request) or request.root_required.names() or request.same_subtrees
    return [*request.groups] == [""] and amounts == [1] and not elsewhere


@lru_cache(10_000)
def _own_group(query: str, version: int) -> RequestGroup | None:
    """Return what is asked of the node's own provider: if a request is for nothing but its class, all of it is. None:
    only the search can tell."""
    groups = HostRequest(query, version=version).parsed(None).groups
    group = groups.get("")
    return group if group is not None and len(groups) == len(group.resources) == 1 else None


def _meets(present: Set[str], required: Iterable[Set[str]], forbidden: Set[str]) -> bool:
    return present.isdisjoint(forbidden) and not any(present.isdisjoint(one_of) for one_of in required)


def lock(connection: Connection, provider: int) -> FreeMachine | None:
    """Return the machine of a root provider (an id), the row of its node locked; None if a conductor works on it.

    Raises MachineLocked if another transaction is changing it, StaleDataError if it was deleted meanwhile.
    """
    row = compiled.run(connection, _LOCK, {"provider": provider}).first()
    if row is None:
        uuid = connection.scalar(select(PROVIDERS.c.uuid).where(PROVIDERS.c.id == provider))
        raise StaleDataError("a machine was deleted meanwhile") if uuid is None else MachineLocked(uuid)
    return _machine(row) if row.reservation is None else None


def lock_all(connection: Connection, nodes: Collection[str]) -> None:
    """Lock the machines with these UUIDs, their providers and inventories, waiting for those who have locked them.

    One row after the other: with several in a statement, a database would choose the order.
    """
    found = connection.execute(select(_NODES.c.id, _NODES.c.uuid).where(_NODES.c.uuid.in_(nodes)))
    uuids = [uuid for _, uuid in sorted(tuple(row) for row in found)]
    for uuid in uuids:
        connection.execute(select(_NODES.c.id).where(_NODES.c.uuid == uuid).with_for_update())
    for uuid in uuids:
        provider = connection.scalar(select(PROVIDERS.c.id).where(PROVIDERS.c.uuid == uuid).with_for_update())
        inventories = select(INVENTORIES.c.resource_class_id).where(INVENTORIES.c.provider_id == provider)
        connection.execute(inventories.order_by(INVENTORIES.c.resource_class_id).with_for_update())


def find(connection: Connection, node: str) -> FreeMachine | None:
    """Return the machine with this UUID, as if it were free. Nothing is locked."""
    row = compiled.run(connection, _FIND, {"node": node}).first()
    return None if row is None else _machine(row)


def _machine(row: Any) -> FreeMachine:
    traits, aggregates = (frozenset(text.split(",") if text else ()) for text in (row.traits, row.aggregates))
    return FreeMachine(row.uuid, row.owner, row.lessee, row.conductor_group, row.resource_class, traits, aggregates)
