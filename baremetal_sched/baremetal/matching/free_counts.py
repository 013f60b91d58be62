"""Whether enough machines are free for requests for several: each count is read once for all requests that differ only
in their number or in their project."""

from collections import Counter
from collections.abc import Collection

import structlog
from sqlalchemy import Connection, Integer, bindparam, func, select

from baremetal_sched.baremetal.matching.request import FreeMachines, MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.several import PACK, SPREAD, Tenants, count_by_tenants
from baremetal_sched.baremetal.matching.spreading import MOST, Place, Places, Several, adds_room, quotas
from baremetal_sched.db import compiled
from baremetal_sched.db.compiled import IDS
from baremetal_sched.db.models import Domain, DomainMember, Node, ProviderAggregate, table_of
from baremetal_sched.db.models.waiting_requests import class_of
from baremetal_sched.db.types import Query, selecting
from baremetal_sched.errors import DatabaseAway, SchedulerError
from baremetal_sched.placement.tables import AGGREGATES, CLASSES, INVENTORIES, PROVIDERS

log = structlog.get_logger(__name__)

#: The domains of machines that have become free.
_DOMAIN = table_of(Domain)
_HOME, _OWN, _FREED = table_of(DomainMember).alias("home"), table_of(Node).alias("own"), PROVIDERS.alias("freed")

_DOMAINS = select(_HOME.c.domain_id).join(_OWN, _OWN.c.id == _HOME.c.node_id).join(_FREED, _FREED.c.uuid == _OWN.c.uuid)

# Statements that are created once: most requests wait because so few machines are free that nothing else counts.
_OF_CLASS = select(CLASSES.c.id).where(CLASSES.c.name == bindparam("name")).scalar_subquery()
_SOME_FREE = select(INVENTORIES.c.provider_id).where(
    INVENTORIES.c.resource_class_id == _OF_CLASS, INVENTORIES.c.free > 0
)
#: SELECT count(*) FROM (SELECT provider_id FROM inventories WHERE resource_class_id = … AND free > 0 LIMIT …)
_FREE_OF_CLASS = select(func.count()).select_from(_SOME_FREE.limit(MOST).subquery("some"))
_IN = table_of(ProviderAggregate).alias("inside")
#: SELECT count((SELECT i.free FROM inventories i WHERE i.resource_class_id = … AND i.free = 1 AND i.provider_id =
#: pa.provider_id)) FROM provider_aggregates pa WHERE pa.aggregate_id IN (<those of the domains of the freed machines>)
#: GROUP BY pa.aggregate_id
#: (A subquery for each, since PostgreSQL would join all machines. By the aggregates of the domains, which have the
#: providers: what a client has changed there is put right later, and until then the sweep serves the claim.)
_FREE_HERE = (
    select(INVENTORIES.c.free)
    .where(INVENTORIES.c.resource_class_id == _OF_CLASS, INVENTORIES.c.free == 1)
    .where(INVENTORIES.c.provider_id == _IN.c.provider_id)
    .correlate(_IN)
    .scalar_subquery()
)
_FREE_IN = select(func.count(_FREE_HERE)).select_from(_IN).group_by(_IN.c.aggregate_id)
_NEAR = (
    select(AGGREGATES.c.id)
    .join(_DOMAIN, _DOMAIN.c.uuid == AGGREGATES.c.uuid)
    .join(_HOME, _HOME.c.domain_id == _DOMAIN.c.id)
    .join(_OWN, _OWN.c.id == _HOME.c.node_id)
    .join(_FREED, _FREED.c.uuid == _OWN.c.uuid)
    .where(_HOME.c.level == bindparam("level"))
)
_FREE_NEAR_ONE = _FREE_IN.where(  # PostgreSQL keeps its plan
    _IN.c.aggregate_id.in_(_NEAR.where(_FREED.c.id == bindparam("provider", type_=Integer)))
)
_FREE_NEAR = _FREE_IN.where(_IN.c.aggregate_id.in_(_NEAR.where(_FREED.c.id.in_([IDS]))))


class Bounds:
    """How many machines are free at most, each number read once: some of these may not be available.

    ``near``: as ``FreeCounts`` has it.
    """

    def __init__(self, connection: Connection, near: Collection[int] = ()) -> None:
        self._connection = connection
        self._near = near
        self._read: dict[tuple[str, str | None], int] = {}

    def allow(self, several: Several, resource_class: str, *, anywhere: bool = False) -> bool:
        """Return False if fewer machines of the class (or queue) than the group needs are free, at all or, unless
        ``anywhere``, in one of the domains of those near."""
        near = None if anywhere else several.pack_by
        if near is not None and several.count > self._at_most(resource_class, near):
            return False
        return several.count <= self._at_most(resource_class)

    def _at_most(self, name: str, level: str | None = None) -> int:
        """Return how many machines of the class of a queue are free, at most as many as one request may be for; with
        a ``level``, how many in a domain of this level that one of those near is in."""
        name = class_of(name)
        if (name, level) not in self._read:
            if level is None:
                counts = compiled.run(self._connection, _FREE_OF_CLASS, {"name": name})
            elif len(self._near) == 1:
                given = {"name": name, "level": level, "provider": min(self._near)}
                counts = compiled.run(self._connection, _FREE_NEAR_ONE, given)
            else:
                counts = compiled.run(self._connection, _FREE_NEAR, {"name": name, "level": level}, self._near)
            self._read[name, level] = max((number for (number,) in counts), default=0)
        return self._read[name, level]


class FreeCounts:
    """Counts of free machines at one moment, for a transaction.

    ``near``: machines (ids of providers) that have just become free. A request for which it is of no use that these are
    free is passed over without counting all others.
    """

    def __init__(self, context: MachineContext, near: Collection[int] = ()) -> None:
        self._context = context
        self._near = near
        self._fitting: dict[str, FreeMachines | None] = {}
        self._counted: dict[tuple[object, ...], dict[Tenants, dict[Place, int]]] = {}
        self._bounds = Bounds(selecting(context.session), near)
        #: The number of different requests that were counted.
        self.number = 0

    def may_be_had(
        self, key: str, resource_class: str, request: MachineRequest, several: Several, *, anywhere: bool
    ) -> bool:
        """Return False if ``choose_many`` would choose nothing now for the request with the group ``several``, or if it
        cannot be looked at now; unless ``anywhere``, also if it would choose none of the machines in the domains of
        those near.

        ``key``: the same for requests that differ only in their project. ``resource_class``: that of the machines.
        """
        if not self._bounds.allow(several, resource_class, anywhere=anywhere):
            return False
        if several.levels and not anywhere:
            here = self._places(key, request, several, near=True)
            if several.pack_by is not None:
                return quotas(several, here) is not None
            if not adds_room(several, here, len(self._near)):
                return False
        return quotas(several, self._places(key, request, several)) is not None

    def _places(self, key: str, request: MachineRequest, several: Several, *, near: bool = False) -> Places:
        """Return how many machines that the request may use are free at each place."""
        same = (key, several.spread_by, several.pack_by)
        if (near, *same) not in self._counted:
            self.number += (not near, *same) not in self._counted
            fitting = self._free(key, request.of_anyone())
            query = None if fitting is None else self._near_ones(fitting.query, several) if near else fitting.query
            found = {} if query is None else count_by_tenants(self._context.session, query, several)
            self._counted[near, *same] = found
        free: Counter[Place] = Counter()
        for tenants, places in self._counted[near, *same].items():
            if request.may_use(*tenants):
                free.update(places)
        return free

    def _free(self, key: str, request: MachineRequest) -> FreeMachines | None:
        """Return the free machines that fit; None if there are none, or if they cannot be searched for now."""
        if key not in self._fitting:
            try:
                self._fitting[key] = request.free_machines(self._context, remembers=True)
            except DatabaseAway:
                raise
            except SchedulerError as error:
                log.info("a claim of several machines cannot be looked at now", reason=str(error))
                self._fitting[key] = None
        return self._fitting[key]

    def _near_ones(self, query: Query, several: Several) -> Query:
        """Return the machines of the query that are in the domains of those near."""
        alias, level = (SPREAD, several.spread_by) if several.pack_by is None else (PACK, several.pack_by)
        home = _DOMAINS.where(_FREED.c.id.in_(self._near), _HOME.c.level == level)
        return query.where(alias.c.domain_id.in_(home))
