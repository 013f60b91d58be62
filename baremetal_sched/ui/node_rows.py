"""The rows of the list of nodes: filters of the pages' own, order, and pages both ways."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time, timedelta

from sqlalchemy import ColumnElement, and_, exists, func, not_, or_, select, true
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.conductors.ownership import NO_MEMBERS, live_members
from baremetal_sched.baremetal.holds.rules import FAULT
from baremetal_sched.baremetal.nodes.node_list import NodeFilters, contains, count_nodes, select_nodes
from baremetal_sched.baremetal.provider.availability import ALLOCATED, IS_AVAILABLE, reason, with_provider
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Hold, Node, table_of
from baremetal_sched.db.types import AnyRow, Rows
from baremetal_sched.db.types import Query as SqlQuery
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import states
from baremetal_sched.settings import Settings
from baremetal_sched.ui.paging import ListPage, Place, of_rows
from baremetal_sched.web.query import Query

_COLUMNS = (
    Node.uuid,
    Node.name,
    Node.resource_class,
    Node.provision_state,
    Node.target_provision_state,
    Node.power_state,
    Node.maintenance,
    Node.maintenance_reason,
    Node.fault,
    Node.last_error,
    Node.conductor_group,
    Node.owner,
    Node.instance_uuid,
    Node.instance_name,
    func.coalesce(Node.provision_updated_at, Node.created_at).label("since"),
)

#: What the list can be sorted by, with the heading of the column.
SORT_KEYS = {
    "name": "Name",
    "provision_state": "State",
    "resource_class": "Class",
    "conductor_group": "Group",
    "power_state": "Power",
    "owner": "Owner",
    "provision_updated_at": "In state for",
}

#: The states in which an operator must do something.
FAILED_STATES = tuple(
    sorted(state for state in states.PROVISION_STATES if state.endswith("failed") or state == states.ERROR)
)

#: The word for a machine that is on offer; all others are those of ``availability.reason``.
FREE = "free"
#: The word for all that are neither free nor allocated.
UNAVAILABLE = "unavailable"
MAINTENANCE = "maintenance"

#: The filters of the pages, besides those of the API.
PAGE_FILTERS = ("name", "offer", "failed", "failed_since", "served", "stuck")
#: Words for days (in UTC) since whose beginning nodes may have failed, with how many days ago they began.
DAYS = {"today": 0, "yesterday": 1, "last-week": 7}
#: The number of nodes that are read at a time.
_CHUNK = 1000

#: In these states a conductor works on the node, or waits for its machine. None of them lasts.
_PASSING = tuple(sorted({*state_machine.TRANSIENT, *state_machine.WAITING}))
#: How long one of them may take before the node counts as stuck.
LONG = timedelta(hours=1)

#: SQL condition: something went wrong with the machine.
HAS_FAILED = or_(Node.provision_state.in_(FAILED_STATES), Node.fault.is_not(None))


def own_conditions(session: Session, query: Query, settings: Settings) -> list[ColumnElement[bool]]:
    """Return the conditions of PAGE_FILTERS. Raises InvalidValue for an invalid value."""
    conditions: list[ColumnElement[bool]] = []
    name = query.text("name")
    if name is not None:
        conditions.append(contains(Node.name, name))
    offer = query.text("offer")
    if offer is not None:
        conditions += _of_offer(offer)
    failed = query.flag("failed")
    if failed is not None:
        conditions.append(HAS_FAILED if failed else not_(HAS_FAILED))
    failed_since = query.text("failed_since")
    if failed_since is not None:
        conditions.append(_has_failed_since(_moment(failed_since)))
    stuck = query.flag("stuck")
    if stuck is not None:
        conditions.append(is_stuck() if stuck else not_(is_stuck()))
    served = query.flag("served")
    if served is not None:
        is_served = live_members(session, settings).served()
        conditions.append(is_served if served else not_(is_served))
    return conditions


def _of_offer(word: str) -> list[ColumnElement[bool]]:
    """The condition that ``word`` says why a node is not free, with what follows from it: that spares most joins."""
    if word == FREE:
        return [IS_AVAILABLE, reason().is_(None)]
    if word == UNAVAILABLE:
        return [reason().is_not(None), reason() != ALLOCATED]
    follows = [Node.provision_state == word] if word in states.PROVISION_STATES else []
    follows += [Node.maintenance == true()] if word == MAINTENANCE else []
    return [*follows, reason() == word]


def _moment(text: str) -> datetime:
    """Return the beginning of the day, or the time, in UTC. Raises InvalidValue."""
    if text.lower() in DAYS:
        return datetime.combine(utcnow() - timedelta(days=DAYS[text.lower()]), time())
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        known = f"{', '.join(DAYS)}, or a time such as 2026-01-31T09:00"
        raise InvalidValue(message=f"'{text}' is no time for failed_since: write {known}.") from None


def _has_failed_since(moment: datetime) -> ColumnElement[bool]:
    """SQL condition: an operation failed at that time or later, or a fault began. A fault does not change the state."""
    since = func.coalesce(Node.provision_updated_at, Node.created_at)
    began = (moment.replace(tzinfo=UTC) - datetime.fromtimestamp(0, UTC)).total_seconds()
    faulty = exists().where(Hold.node_id == Node.id, Hold.type == FAULT, Hold.asserted_at >= began)
    return or_(and_(Node.provision_state.in_(FAILED_STATES), since >= moment), and_(Node.fault.is_not(None), faulty))


def is_stuck() -> ColumnElement[bool]:
    """SQL condition: the node has been in a passing state for LONG."""
    since = func.coalesce(Node.provision_updated_at, Node.created_at)
    return and_(Node.provision_state.in_(_PASSING), since < utcnow() - LONG)


def read(session: Session, filters: NodeFilters, place: Place, visible: Visibility, *, by_offer: bool) -> ListPage:
    """Return a page of the visible nodes that the filters let through, children included. A node has ``_COLUMNS`` and
    ``why`` it is not free (None if it is). ``by_offer``: one of the filters asks why a node is not free.

    At most four statements: the node that the page begins behind, the ids of the page, its rows, and the number of all.
    Raises NodeNotFound if the first does not exist.

    SELECT n.id FROM nodes n … ORDER BY … LIMIT …; SELECT n.uuid, …, <why> FROM nodes n LEFT JOIN … WHERE n.id IN (…)
    """
    filters.include_children = True
    nodes = table_of(Node)
    source = with_provider(nodes) if by_offer else nodes
    chosen = select_nodes(session, filters, place.page(), select(Node.id).select_from(source), NO_MEMBERS, visible)
    rows = _rows(session, [node_id for (node_id,) in chosen])
    total = count_nodes(session, filters, select(func.count()).select_from(source), visible)
    return of_rows(place, rows, total)


def each(
    session: Session, filters: NodeFilters, place: Place, visible: Visibility, *, by_offer: bool
) -> Iterator[AnyRow]:
    """Yield the same nodes as ``read``, a few in memory at a time. Raises NodeNotFound."""
    filters.include_children = True
    source = with_provider(table_of(Node)) if by_offer else table_of(Node)
    chosen = select_nodes(session, filters, place.page(), select(Node.id).select_from(source), NO_MEMBERS, visible)
    ids = [node_id for (node_id,) in chosen]
    for start in range(0, len(ids), _CHUNK):
        yield from _rows(session, ids[start : start + _CHUNK])


def _rows(session: Session, ids: Sequence[int]) -> Rows:
    if not ids:
        return ()
    query: SqlQuery = select(Node.id, *_COLUMNS, reason().label("why")).select_from(with_provider(table_of(Node)))
    found = {row.id: row for row in session.execute(query.where(Node.id.in_(ids)))}
    return [found[each] for each in ids if each in found]
