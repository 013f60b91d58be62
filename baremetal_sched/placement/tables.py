"""The tables of placement, for statements without entities, which are much faster to create; and conditions on their
rows.

A row may close while the statement that claims it waits. PostgreSQL checks the condition of an UPDATE before it waits
for the lock of a row, and again only if the row has changed by then (seen on 15). So the UPDATE says in the end whether
the row is still open. MariaDB checks under the lock (seen on 10.11), and SQLite has one writer at a time.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Update, case, func, literal, or_, select
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db import compiled, models
from baremetal_sched.db.clock import epoch, row_epoch, statement_epoch
from baremetal_sched.db.models import table_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.sql_functions import as_digits, concat

PROVIDERS = table_of(models.ResourceProvider)
CLASSES = table_of(models.ResourceClass)
TRAITS = table_of(models.Trait)
PROVIDER_TRAITS = table_of(models.ProviderTrait)
AGGREGATES = table_of(models.Aggregate)
PROVIDER_AGGREGATES = table_of(models.ProviderAggregate)
INVENTORIES = table_of(models.Inventory)
CONSUMERS = table_of(models.Consumer)
ALLOCATIONS = table_of(models.Allocation)
PENDING_CLAIMS = table_of(models.WaitingRequest)
GROUP_MEMBERS = table_of(models.GroupMember)
CLAIM_ENDS = table_of(models.ClaimEnd)
_NODES = table_of(models.Node)
_BOOKED = table_of(models.BookedMachine)

#: A provider with this trait shares its inventory with every tree that has a provider in one of its aggregates.
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"
#: SQL condition on a provider: it has this trait.
SHARES = (
    select(PROVIDER_TRAITS.c.provider_id)
    .join(TRAITS, TRAITS.c.id == PROVIDER_TRAITS.c.trait_id)
    .where(PROVIDER_TRAITS.c.provider_id == PROVIDERS.c.id, TRAITS.c.name == SHARING_TRAIT)
    .exists()
)
_MACHINE = PROVIDERS.alias("machine")
_MACHINE_CLASS = select(_MACHINE.c.mirrored_class_id).where(_MACHINE.c.id == PROVIDERS.c.root_id)
#: SQL condition on a provider: it belongs to a machine, or may share with one.
SERVES_MACHINES = or_(_MACHINE_CLASS.correlate(PROVIDERS).scalar_subquery().is_not(None), SHARES)


def is_open(row: Any, now: type[epoch] = row_epoch) -> ColumnElement[bool]:
    """SQL condition on a provider or an inventory: can be claimed now (closes_at IS NULL OR closes_at > now).

    A claim needs the time at which it has the row's lock; a read, the time at which its statement started.
    """
    return or_(row.c.closes_at.is_(None), row.c.closes_at > now())


def queue_of(machine: FromClause, class_name: ColumnElement[str]) -> ColumnElement[str]:
    """SQL: the name of the queue from which a machine (its provider), of this class, is given: that of the booking that
    has it now, or else the class.

    CASE WHEN p.closes_at IS NULL THEN c.name ELSE coalesce((SELECT 'booking:' || b.booking_id || ':' || c.name FROM
    booked_machines b JOIN nodes n ON n.id = b.node_id WHERE n.uuid = p.uuid AND b.starts_at <= now AND
    b.ends_at > now LIMIT 1), c.name) END
    """
    now = statement_epoch()
    name = concat("booking:", as_digits(_BOOKED.c.booking_id), ":", class_name)
    booked = (
        select(name)
        .select_from(_BOOKED.join(_NODES, _NODES.c.id == _BOOKED.c.node_id))
        .where(_NODES.c.uuid == machine.c.uuid, _BOOKED.c.starts_at <= now, _BOOKED.c.ends_at > now)
        .where(_BOOKED.c.booking_id.is_not(None))
        .limit(1)
        .correlate_except(_BOOKED, _NODES)
        .scalar_subquery()
    )
    return case((machine.c.closes_at.is_(None), class_name), else_=func.coalesce(booked, class_name))


_ROOT = PROVIDERS.alias("waited_root")
_PLAIN = PROVIDERS.alias("plain_root")
_WAITED_CLASS = CLASSES.alias("waited_class")


def first_waiting(root: ColumnElement[int]) -> Any:
    """SQL: the id of a claim that waits in the queue of this machine (the id of its root provider). If that is no
    machine, but may be shared by some: any waiting claim.

    (SELECT w.id FROM pending_claims w WHERE w.state = 'waiting' AND w.resource_class = (SELECT <its queue> FROM
    resource_classes c JOIN resource_providers r ON r.mirrored_class_id = c.id WHERE r.id = <root>) LIMIT 1)
    """
    joined = _ROOT.join(_WAITED_CLASS, _WAITED_CLASS.c.id == _ROOT.c.mirrored_class_id)
    name = select(queue_of(_ROOT, _WAITED_CLASS.c.name)).select_from(joined).where(_ROOT.c.id == root)
    waits_for_class = first_waiting_for(name.correlate_except(_ROOT, _WAITED_CLASS).scalar_subquery())
    is_plain = select(_PLAIN.c.id).where(_PLAIN.c.id == root, _PLAIN.c.mirrored_class_id.is_(None))
    is_plain_root = is_plain.correlate_except(_PLAIN).exists()
    waits = select(PENDING_CLAIMS.c.id).where(PENDING_CLAIMS.c.state == literal("waiting")).limit(1)
    return func.coalesce(waits_for_class, case((is_plain_root, waits.scalar_subquery())))


def first_waiting_for(class_name: Any, state: str = "waiting") -> Any:
    """SQL: the id of a request that waits for a machine of the class with this name, or in this queue; or, in the state
    "gathering", for several."""
    # An EXISTS would become a join, which reads all that wait.
    waiting = PENDING_CLAIMS.c.state == literal(state), PENDING_CLAIMS.c.resource_class == class_name
    return select(PENDING_CLAIMS.c.id).where(*waiting).limit(1).correlate_except(PENDING_CLAIMS).scalar_subquery()


def first_ending_for(class_name: Any) -> Any:
    """SQL: the id of a request with an end that waits for one machine, or several, of the class with this name."""
    has_end = or_(PENDING_CLAIMS.c.ends_at.is_not(None), PENDING_CLAIMS.c.lasts.is_not(None))
    waiting = PENDING_CLAIMS.c.state.in_([literal("waiting"), literal("gathering")]), has_end
    found = select(PENDING_CLAIMS.c.id).where(*waiting, PENDING_CLAIMS.c.resource_class == class_name).limit(1)
    return found.correlate_except(PENDING_CLAIMS).scalar_subquery()


def take(connection: Connection, statement: Update, table: FromClause, given: Mapping[str, Any]) -> bool:
    """Run an UPDATE of a row in ``table`` that is to be open; return whether there was one.

    Raises StaleDataError if it was, but closed while the statement waited.
    """
    still_open = take_any(connection, statement, table, given)
    if still_open is False:
        raise StaleDataError("a hold of the machine has started")
    return still_open is not None


def take_any(connection: Connection, statement: Update, table: FromClause, given: Mapping[str, Any]) -> bool | None:
    """Run an UPDATE of a row in ``table``; return whether it is still open, None if no row was changed. Databases other
    than PostgreSQL answer True: they have checked it."""
    if connection.dialect.name != "postgresql":
        return True if rows_changed(_run(connection, statement, given)) else None
    still_open: bool | None = _run(connection, _answering(statement, table), given).scalar()
    return still_open


def _run(connection: Connection, statement: Any, given: Mapping[str, Any]) -> Any:
    if any(isinstance(value, list) for value in given.values()):
        return connection.execute(statement, given)
    return compiled.change(connection, statement, given)


@lru_cache
def _answering(statement: Update, table: FromClause) -> Any:
    return statement.returning(is_open(table))
