"""How many machines of each class were free and in use over two days, and how many requests waited for one."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    and_,
    case,
    cast,
    delete,
    exists,
    func,
    insert,
    literal,
    null,
    select,
    union_all,
)

from baremetal_sched.baremetal.provider.availability import ALLOCATED, PROVIDER, STOCK, reason_of_stock
from baremetal_sched.db.clock import statement_epoch
from baremetal_sched.db.models import CapacitySample
from baremetal_sched.db.models.base import SchemaState, table_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.types import Query, Rows
from baremetal_sched.placement.tables import CLASSES, is_open
from baremetal_sched.placement.waiting_requests import IS_WAITING, MACHINE_CLASS

#: Seconds between two samples, for how long they are kept, and how long a day is.
EVERY, KEEP, DAY = 600, 172_800, 86_400

#: The revision whose release has the table. While an earlier one may serve the database, nothing is written.
FIRST_REVISION = "0037"

_ROWS, _SCHEMA = table_of(CapacitySample), table_of(SchemaState)
_SECOND = cast(statement_epoch(), BigInteger)
_NOW = _SECOND - _SECOND % EVERY


def _counts() -> Any:
    """SELECT name, sum(free), sum(in_use), sum(waiting) FROM (SELECT c.name, CASE WHEN <nothing keeps it> THEN 1 …
    FROM inventories i JOIN resource_providers p … JOIN resource_classes c … WHERE i.node_class IS NOT NULL
    UNION ALL SELECT <the class>, 0, 0, 1 FROM pending_claims WHERE <it waits>) GROUP BY name"""
    why = reason_of_stock(STOCK.c, case((STOCK.c.withheld == 1, PROVIDER.c.holder), else_=null()))
    source = STOCK.join(PROVIDER, PROVIDER.c.id == STOCK.c.provider_id)
    machines = (
        select(
            CLASSES.c.name,
            case((and_(why.is_(None), is_open(STOCK, statement_epoch)), 1), else_=0).label("free"),
            case((why == ALLOCATED, 1), else_=0).label("in_use"),
            literal(0).label("waiting"),
        )
        .select_from(source.join(CLASSES, CLASSES.c.id == STOCK.c.resource_class_id))
        .where(STOCK.c.node_class.is_not(None))
    )
    requests = select(MACHINE_CLASS, literal(0), literal(0), literal(1)).where(IS_WAITING)
    each = union_all(machines, requests).subquery()
    sums = [cast(func.sum(each.c[name]), BigInteger) for name in ("free", "in_use", "waiting")]
    return select(each.c.name, _NOW, *sums).group_by(each.c.name)


#: INSERT INTO capacity_samples SELECT <now>, … WHERE <no release serves that knows none> AND NOT EXISTS (SELECT …
#: WHERE at = <now>)
_WRITE = (
    insert(_ROWS)
    .from_select(
        ["resource_class", "at", "free", "in_use", "waiting"],
        _counts().where(
            ~exists().where(_SCHEMA.c.id == 1, _SCHEMA.c.served_since < FIRST_REVISION).correlate(None),
            ~exists().where(_ROWS.c.at == _NOW).correlate(None),
        ),
    )
    .execution_options(preserve_rowcount=True)
)


def write(connection: Connection) -> bool:
    """Write the row of each class at this multiple of ten minutes, in one statement, unless it is there. Return whether
    it was written."""
    return rows_changed(connection.execute(_WRITE)) > 0


_IS_OLD = _ROWS.c.at < _SECOND - KEEP
#: Any row that is older than two days.
OLD: Query = select(_ROWS.c.at).where(_IS_OLD).limit(1)


def delete_old(connection: Connection) -> None:
    """Delete the rows that are older than two days."""
    connection.execute(delete(_ROWS).where(_IS_OLD))


def read_day(connection: Connection, classes: Collection[str]) -> Rows:
    """Return the rows of the last day of these classes (placement's names), in order: ``resource_class``, ``at``,
    ``free``, ``in_use`` and ``waiting``; at most 144 of each class."""
    query = select(_ROWS).where(_ROWS.c.resource_class.in_(classes), _ROWS.c.at > _SECOND - DAY)
    return connection.execute(query.order_by(_ROWS.c.resource_class, _ROWS.c.at)).all()
