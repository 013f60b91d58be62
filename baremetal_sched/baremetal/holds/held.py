"""Which holds keep machines out of use, and when these come back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Select, case, func, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Hold

#: SQL condition: the hold has started, even if it waits until its node rests, or its flag has not followed yet.
HAS_STARTED = or_(Hold.begun_at.is_not(None), func.coalesce(Hold.starts_at, Hold.asserted_at) <= epoch())
#: What ``by_type`` needs to know of each hold.
COLUMNS = (Hold.type, Hold.node_id, Hold.ends_at)


@dataclass(frozen=True)
class Held:
    """Machines that have holds of a type: how many, and when the last of these ends (a time in UTC); None: one of them
    has no end yet. A machine may have holds of several types."""

    type: str
    nodes: int
    until: datetime | None

    def document(self) -> dict[str, Any]:
        """Return it as clients see it."""
        until = self.until and self.until.isoformat(timespec="seconds")
        return {"type": self.type, "nodes": self.nodes, "until": until}


def by_type(
    database: Connection | Session, holds: Select[*tuple[Any, ...]], keys: Sequence[str] = (), most: int = 100
) -> Iterator[tuple[Sequence[Any], Held]]:
    """Yield what ``holds``, a query of ``COLUMNS`` and these keys, come to: the values of the keys, and each type.

    SELECT <the keys>, type, count(DISTINCT node_id), max(ends_at), max(<it has no end>) FROM (<holds>) GROUP BY …
    """
    held = holds.subquery().c
    grouped = [*(held[key] for key in keys), held.type]
    endless = func.max(case((held.ends_at.is_(None), 1), else_=0))
    counted = select(*grouped, func.count(held.node_id.distinct()), func.max(held.ends_at), endless).group_by(*grouped)
    for *values, kind, nodes, until, is_endless in database.execute(counted.order_by(*grouped).limit(most)):
        yield values, Held(kind, nodes, None if is_endless else datetime.fromtimestamp(until, UTC))
