"""The machines that fit a request, free or not, and what keeps each of them: its holds, and its bookings and plans."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.matching.capabilities import required_capabilities, unmet_capabilities
from baremetal_sched.baremetal.matching.conditions import Kind
from baremetal_sched.baremetal.matching.question import Question
from baremetal_sched.baremetal.matching.request import MachineRequest
from baremetal_sched.baremetal.matching.several import placed
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.provider.availability import with_ends
from baremetal_sched.baremetal.provider.blocked_times import FACTS, Facts, Interval, hold_interval
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.db.types import Query
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.settings import Settings


def that_fit(request: MachineRequest, question: Question, besides: Collection[int] = ()) -> Query:
    """Return the query of the machines that fit by a question, free or not, apart from those in ``besides`` (ids of
    nodes); with what is known of them, see ``with_ends``. The id is NULL where the question finds what is no node.

    SELECT n.id FROM <nodes, providers, inventories, ends> WHERE <each condition of the request>
    """
    kinds = {Kind.REQUEST, Kind.SERVICE} if request.served else {Kind.REQUEST}
    met = [each.holds for each in question.conditions if each.counts and each.kind in kinds]
    query: Query = select(Node.id).select_from(with_ends(question.source)).where(*question.where, *met)
    return query.where(or_(Node.id.is_(None), Node.id.not_in(besides))) if besides else query


def read(
    session: Session, query: Query, question: Question, several: Several, *columns: Any, most: int | None = None
) -> Sequence[Any]:
    """Return the machines of a query that have the capabilities: the id and the place of each, two domains, and more
    ``columns``. With more than ``most`` machines, one more is read, and those without the capabilities are there, too.

    SELECT n.id, pack.domain_id, spread.domain_id, … FROM … LIMIT …
    """
    places, query = placed(query, several)
    needed = (Node.properties,) if required_capabilities(question.capabilities) else ()
    own = query.with_only_columns(Node.id, *places, *columns, *needed, maintain_column_froms=True)
    rows = session.execute(own if most is None else own.limit(most + 1)).all()
    if not needed or (most is not None and len(rows) > most):
        return rows
    return [row for row in rows if not unmet_capabilities(question.capabilities, row.properties or {})]


#: What is known of machines, in the columns of ``read``.
KNOWN = FACTS[1:]


def facts_of(row: Any) -> Facts:
    """Return what is known of a machine: of a row of ``read`` that begins with KNOWN."""
    return Facts(row[0], *row[3 : 3 + len(KNOWN)])


def bookings_of(session: Session, nodes: Sequence[int], now: float) -> dict[int, list[Any]]:
    """Return the bookings and plans of nodes (ids) that are not over, by node; perhaps those of other nodes, too.

    SELECT * FROM booked_machines WHERE ends_at IS NULL OR ends_at + turnaround > …
    """
    goes_on = or_(BOOKED.c.ends_at.is_(None), BOOKED.c.ends_at + BOOKED.c.turnaround > now)
    found: dict[int, list[Any]] = {}
    for row in _of_nodes(session, nodes, select(BOOKED).where(goes_on), BOOKED.c.node_id):
        found.setdefault(row.node_id, []).append(row)
    return found


def holds_of(session: Session, settings: Settings, nodes: Sequence[int], now: float) -> dict[int, list[Interval]]:
    """Return when the holds of nodes (ids) that are not over keep them, by node; perhaps of other nodes, too.

    SELECT node_id, … FROM holds WHERE ends_at IS NULL OR ends_at > …
    """
    columns = (Hold.node_id, Hold.asserted_at, Hold.starts_at, Hold.ends_at, Hold.drain)
    query = select(*columns).where(or_(Hold.ends_at.is_(None), Hold.ends_at > now))
    ahead, found = settings.scheduling.withhold_before_windows, dict[int, list[Interval]]()
    for hold in _of_nodes(session, nodes, query, Hold.node_id):
        found.setdefault(hold.node_id, []).append(hold_interval(hold, ahead))
    return found


def _of_nodes(session: Session, nodes: Sequence[int], query: Query, node: Any) -> Iterable[Any]:
    """Return the rows of a query: those of the nodes, or of all unless there are many."""
    rows = session.execute(query.limit(len(nodes) + 1)).all()
    if len(rows) > len(nodes):
        rows = session.execute(query.where(one_of(node, nodes))).all()
    return rows
