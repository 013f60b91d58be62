"""Freed machines for which requests wait, and the machines that share with what is freed."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Select, and_, bindparam, or_, select, union_all

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import statement_epoch
from baremetal_sched.db.compiled import IDS
from baremetal_sched.db.notes import Notes
from baremetal_sched.placement.tables import (
    CLASSES,
    INVENTORIES,
    PROVIDER_AGGREGATES,
    PROVIDERS,
    SHARES,
    first_ending_for,
    first_waiting_for,
    is_open,
    queue_of,
)

_ROOTS = PROVIDERS.alias("root")

#: SELECT r.id, <its queue> FROM resource_providers p JOIN resource_providers r ON r.id = p.root_id
#: JOIN resource_classes c ON c.id = r.mirrored_class_id
#: JOIN inventories i ON i.provider_id = r.id AND i.resource_class_id = r.mirrored_class_id AND i.free > 0
#: WHERE (<it is open> OR <its queue is that of a booking> OR <a request with an end is in it: it may be booked later>)
#: AND ((SELECT w.id FROM pending_claims w WHERE w.state = 'waiting' AND w.resource_class = <its queue> LIMIT 1)
#: IS NOT NULL OR (… 'gathering' …) IS NOT NULL) AND p.… (An EXISTS becomes a join, which reads all that wait.)
_QUEUE_OF_ROOT = queue_of(_ROOTS, CLASSES.c.name)
_WAITING, _GATHERING = (first_waiting_for(_QUEUE_OF_ROOT, state) for state in ("waiting", "gathering"))
_ENDING = first_ending_for(CLASSES.c.name)
_FREE_AND_WANTED = (
    select(_ROOTS.c.id, _QUEUE_OF_ROOT.label("name"), _WAITING.label("waiting"), _GATHERING.label("gathering"))
    .select_from(_ROOTS)
    .join(CLASSES, CLASSES.c.id == _ROOTS.c.mirrored_class_id)
    .join(
        INVENTORIES,
        and_(
            INVENTORIES.c.provider_id == _ROOTS.c.id,
            INVENTORIES.c.resource_class_id == _ROOTS.c.mirrored_class_id,
            INVENTORIES.c.free > 0,
        ),
    )
    .where(or_(is_open(INVENTORIES, statement_epoch), _ENDING.is_not(None), CLASSES.c.name != _QUEUE_OF_ROOT))
    .where(or_(_WAITING.is_not(None), _GATHERING.is_not(None)))
)
_WANTED_MACHINES = _FREE_AND_WANTED.join(PROVIDERS, PROVIDERS.c.root_id == _ROOTS.c.id)

#: The most machines that are looked at for a shared resource that becomes free; the sweep looks at all.
_MOST_SHARING = 10
_OWN, _OTHERS = PROVIDER_AGGREGATES.alias("own"), PROVIDER_AGGREGATES.alias("others")
#: The same for machines that share what a provider gives:
#: … JOIN provider_aggregates others ON others.provider_id = r.id JOIN provider_aggregates own
#: ON own.aggregate_id = others.aggregate_id JOIN resource_providers p ON p.id = own.provider_id
#: WHERE p.mirrored_class_id IS NULL AND <p has the trait of those that share> … LIMIT 10
_WANTED_SHARING = (
    _FREE_AND_WANTED.join(_OTHERS, _OTHERS.c.provider_id == _ROOTS.c.id)
    .join(_OWN, _OWN.c.aggregate_id == _OTHERS.c.aggregate_id)
    .join(PROVIDERS, PROVIDERS.c.id == _OWN.c.provider_id)
    .where(PROVIDERS.c.mirrored_class_id.is_(None), SHARES)
)


def _with_sharing(condition: ColumnElement[bool]) -> Select[Any]:
    """Return the query of the machines of providers that meet the condition, and of machines that share these."""
    sharing = _WANTED_SHARING.where(condition).limit(_MOST_SHARING).subquery("sharing")
    found = union_all(_WANTED_MACHINES.where(condition), select(sharing)).subquery("wanted")
    return select(found)


_WANTED_PROVIDER = _with_sharing(PROVIDERS.c.id == bindparam("provider", type_=Integer))  # PostgreSQL keeps its plan
_WANTED_PROVIDERS = _with_sharing(PROVIDERS.c.id.in_([IDS]))
_WANTED_NODE = _WANTED_MACHINES.where(PROVIDERS.c.uuid == bindparam("node"))
_WANTED_NODES = _WANTED_MACHINES.where(PROVIDERS.c.uuid.in_(bindparam("nodes", expanding=True)))


@dataclass(frozen=True)
class FreedMachines:
    """Machines that are free, the queue by the id of the provider: those for which requests for one machine wait, and
    those for which requests for several do. The queue is the class, or that of the booking that has the machine now."""

    wanted: dict[int, str]
    gathered: dict[int, str]


def freed_machines(connection: Connection, notes: Notes) -> FreedMachines:
    """Return the noted machines that are free now and in whose queue requests wait, by the notes of a transaction."""
    found: list[Any] = []
    if len(notes.providers) == 1:
        found += compiled.run(connection, _WANTED_PROVIDER, {"provider": min(notes.providers)}).all()
    elif notes.providers:
        found += compiled.run(connection, _WANTED_PROVIDERS, {}, sorted(notes.providers)).all()
    if len(notes.nodes) == 1:
        found += compiled.run(connection, _WANTED_NODE, {"node": min(notes.nodes)}).all()
    elif notes.nodes:
        found += connection.execute(_WANTED_NODES, {"nodes": sorted(notes.nodes)}).all()
    found.sort(key=lambda row: row.id)
    wanted = {provider: name for provider, name, waiting, _ in found if waiting is not None}
    return FreedMachines(wanted, {provider: name for provider, name, _, several in found if several is not None})
