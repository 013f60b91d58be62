"""Whether enough machines are free for requests for several: each count is read once for all requests that differ only
in their number or in their project."""

from collections import Counter
from collections.abc import Collection

import structlog
from sqlalchemy import select

from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.several import (
    PACK,
    SPREAD,
    FreeMachines,
    Tenants,
    count_by_tenants,
    count_places,
    free_machines,
)
from baremetal_sched.baremetal.matching.spreading import GroupNow, Place, Places, Several, adds_room, quotas
from baremetal_sched.db.models import DomainMember, Node, table_of
from baremetal_sched.db.types import Query
from baremetal_sched.errors import DatabaseAway, SchedulerError
from baremetal_sched.placement.tables import PROVIDERS

log = structlog.get_logger(__name__)

#: The domains of machines that have become free.
_HOME, _OWN, _FREED = table_of(DomainMember).alias("home"), table_of(Node).alias("own"), PROVIDERS.alias("freed")

#: For everybody who may use all machines.
_ANYBODY: Tenants = (None, None)


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
        #: The number of different requests that were counted.
        self.number = 0

    def may_be_had(self, key: str, request: MachineRequest, group: GroupNow, *, anywhere: bool) -> bool:
        """Return False if ``choose_several`` would choose nothing now, or if the request cannot be looked at now;
        unless ``anywhere``, also if it would choose none of the machines in the domains of those near.

        ``key``: the same for requests that differ only in their project.
        """
        several = group.several
        if several.levels and not anywhere:
            here = self._places(key, request, several, near=True)
            if several.pack_by is not None:
                return quotas(several, here, group.held) is not None
            if not adds_room(several, here, group.held, len(self._near)):
                return False
        return quotas(several, self._places(key, request, several), group.held) is not None

    def _places(self, key: str, request: MachineRequest, several: Several, *, near: bool = False) -> Places:
        """Return how many machines that the request may use are free at each place."""
        by_tenants = request.project is not None
        same = (key, several.spread_by, several.pack_by, by_tenants)
        count = (near, *same)
        if count not in self._counted:
            self.number += (not near, *same) not in self._counted
            fitting, session = self._free(key, request.of_anyone()), self._context.session
            query = None if fitting is None else self._near_ones(fitting.query, several) if near else fitting.query
            if query is None:
                self._counted[count] = {}
            elif by_tenants:
                self._counted[count] = count_by_tenants(session, query, several)
            else:
                self._counted[count] = {_ANYBODY: count_places(session, query, several)}
        if not by_tenants:
            return self._counted[count].get(_ANYBODY, {})
        free: Counter[Place] = Counter()
        for tenants, places in self._counted[count].items():
            if request.may_use(*tenants):
                free.update(places)
        return free

    def _free(self, key: str, request: MachineRequest) -> FreeMachines | None:
        """Return the free machines that fit; None if there are none, or if they cannot be searched for now."""
        if key not in self._fitting:
            try:
                self._fitting[key] = free_machines(self._context, request, remembers=True)
            except DatabaseAway:
                raise
            except SchedulerError as error:
                log.info("a claim of several machines cannot be looked at now", reason=str(error))
                self._fitting[key] = None
        return self._fitting[key]

    def _near_ones(self, query: Query, several: Several) -> Query:
        """Return the machines of the query that are in the domains of those near."""
        alias, level = (SPREAD, several.spread_by) if several.pack_by is None else (PACK, several.pack_by)
        home = select(_HOME.c.domain_id).join(_OWN, _OWN.c.id == _HOME.c.node_id)
        home = home.join(_FREED, _FREED.c.uuid == _OWN.c.uuid)
        return query.where(alias.c.domain_id.in_(home.where(_FREED.c.id.in_(self._near), _HOME.c.level == level)))
