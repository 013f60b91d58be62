"""Several machines for one request: ``choose_many`` is to a request with a group what its ``choose`` is to one.

First a few hundred free machines are looked at. If they are not enough, the database counts all free machines that fit
by domain. ``spreading`` decides from which domains they come, and the rows of the chosen machines are locked. What
others have locked is left out, and the choice is repeated.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from sqlalchemy import Column, ColumnElement, and_, case, exists, func, null, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.matching.conditions import Kind
from baremetal_sched.baremetal.matching.request import Amounts, Host, MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.spreading import Place, Quotas, Several, lack, quotas, sentence
from baremetal_sched.db.models import Domain, DomainMember, Node, table_of
from baremetal_sched.db.types import Query
from baremetal_sched.placement import gate
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS

#: How many machines are looked at before all are counted.
SOME = 512

#: How often the choice is repeated with the machines that others have not locked.
_ATTEMPTS = 10

#: The prime by which machines are shuffled: concurrent choices rarely choose the same.
_PRIME = 65_537

PACK, SPREAD = table_of(DomainMember).alias("pack"), table_of(DomainMember).alias("spread")

#: SQL: when the next booking of a machine begins, NULL if there is none; None: bookings do not matter.
Gap = ColumnElement[float] | None

#: Owner and lessee of machines.
Tenants = tuple[str | None, str | None]


def choose_many(context: MachineContext, request: MachineRequest) -> list[Host] | None:
    """Return as many machines as are requested, their rows and the inventories of their own class locked, in the order
    of their ids; None if no choice of the free ones satisfies the request. If the context has an end, a choice of
    machines without a hold that is planned before it comes first.

    Raises MachinesShare for a request that other providers than machines have to serve, StaleDataError if other
    transactions are taking the machines, and like ``choose``.
    """
    return next(filter(None, (_chosen(each, request) for each in request.turns(context))), None)


def _chosen(context: MachineContext, request: MachineRequest) -> list[Host] | None:
    several, fitting = _group_of(request), request.free_machines(context)
    if fitting is None:
        return None
    gap = None if context.opening.is_plain or context.end is None else context.opening.gap()
    lost: set[int] = set()
    for _ in range(_ATTEMPTS):
        query = fitting.query if not lost else fitting.query.where(Node.id.not_in(lost))
        picked = _some(context.session, fitting.class_id, query, several, gap)
        if picked is None:
            chosen = quotas(several, count_places(context.session, query, several))
            if chosen is None:
                break
            picked = _pick(context.session, query, several, chosen, gap)
        rows = _lock(context.session, fitting.query, several, picked)
        if len(rows) == several.count:
            seen = context.calendars([node.id for node, _ in rows])
            return [Host(node, fitting.claim(node, root), seen.get(node.id)) for node, root in rows]
        lost |= picked.keys() - {node.id for node, _ in rows}
    if lost:
        raise StaleDataError("the machines that fit are being taken by others")
    return None


def fitting_many(context: MachineContext, request: MachineRequest) -> list[tuple[str, Amounts]]:
    """Return machines (UUIDs of nodes) that ``choose_many`` may choose, and the amounts; none if it would choose
    nothing. Nothing is locked. Raises like it, except for StaleDataError."""
    several, fitting = _group_of(request), request.free_machines(request.bound(context))
    if fitting is None:
        return []
    chosen = quotas(several, count_places(context.session, fitting.query, several))
    picked = {} if chosen is None else _pick(context.session, fitting.query, several, chosen)
    rows = context.session.execute(_rows(fitting.query, picked)).all()
    return [(node.uuid, fitting.claim(node, root)) for node, root in rows]


@dataclass(frozen=True)
class TooFew:
    """Where several machines run out, in a sentence, empty if the request names no domains; and whether they could be
    had if all were free."""

    sentence: str
    could_be_had: bool


def why_too_few(context: MachineContext, request: MachineRequest) -> TooFew | None:
    """Return why ``choose_many`` chooses nothing; None if it would. Raises like it, and BadQuery."""
    session, several = context.session, _group_of(request)
    fitting = request.free_machines(request.bound(context))
    free = {} if fitting is None else count_places(session, fitting.query, several)
    if quotas(several, free) is not None:
        return None
    text = ""
    if several.levels:
        found = lack(several, free)
        inside = DomainMember.domain_id == Domain.id, *context.named.conditions_behind(DomainMember.node_id)
        named = select(Domain.name).where(Domain.id == found.pack, exists().where(*inside))
        name = None if found.pack is None else session.scalar(named)
        text = sentence(several, found, name)
    return TooFew(text, _could_be_had(context, request))


def _group_of(request: MachineRequest) -> Several:
    return request.several or Several(1)


def _could_be_had(context: MachineContext, request: MachineRequest) -> bool:
    """Return False if no choice would satisfy the request even if all machines were free."""
    several, question = _group_of(request), request.question(context)
    of_request = [each.holds for each in question.conditions if each.kind is Kind.REQUEST and each.counts]
    query: Query = select(Node.id).select_from(question.source).where(*question.where, *of_request)
    places = count_places(context.session, query.where(Node.id.not_in(several.own)), several)
    return quotas(several, places) is not None


# -- counting, picking, locking ----------------------------------------------------------------------------------------


def count_places(session: Session, query: Query, several: Several) -> dict[Place, int]:
    """Return how many machines of a query of nodes are at each place.

    SELECT pack.domain_id, spread.domain_id, count(*) FROM <the nodes>
    LEFT JOIN domain_members pack ON pack.node_id = n.id AND pack.level = … LEFT JOIN domain_members spread …
    GROUP BY pack.domain_id, spread.domain_id
    """
    return {(pack, spread): number for pack, spread, number in _counted(session, query, several) if number}


def count_by_tenants(session: Session, query: Query, several: Several) -> dict[Tenants, dict[Place, int]]:
    """Return the same for each owner and lessee of the machines."""
    found: dict[Tenants, dict[Place, int]] = {}
    for pack, spread, owner, lessee, number in _counted(session, query, several, Node.owner, Node.lessee):
        found.setdefault((owner, lessee), {})[pack, spread] = number
    return found


def _counted(session: Session, query: Query, several: Several, *by: Any) -> Sequence[Any]:
    columns, query = placed(query, several)
    keys = [column for column in columns if isinstance(column, Column)]
    counted = query.with_only_columns(*columns, *by, func.count(), maintain_column_froms=True).order_by(None)
    return session.execute(counted.group_by(*keys, *by)).all()


def placed(query: Query, several: Several) -> tuple[list[Any], Query]:
    """Return the columns with the place of a machine, and the query with what they need."""
    columns: list[Any] = []
    for alias, level in ((PACK, several.pack_by), (SPREAD, several.spread_by)):
        columns.append(null() if level is None else alias.c.domain_id)
        query = query if level is None else query.outerjoin(alias, _at(alias, level))
    return columns, query


def _at(alias: Any, level: str) -> ColumnElement[bool]:
    return and_(alias.c.node_id == Node.id, alias.c.level == level)


def _some(
    session: Session, class_id: int | None, query: Query, several: Several, gap: Gap = None
) -> dict[int, Place] | None:
    """Return ids of machines that satisfy the request, each with its place, of the first free ones of the class from a
    random one on; None if these are not enough, or if only the search knows what fits. Of each place, those with the
    shortest ``gap`` are taken.

    SELECT n.id, pack.domain_id, spread.domain_id, <gap> FROM … WHERE i.provider_id IN (…) AND …
    """
    # What was offered to waiting requests a moment ago is to be chosen now: all are looked at.
    if class_id is None or gate.offered(session):
        return None
    some = sample(session, class_id)
    columns, query = placed(query.where(one_of(INVENTORIES.c.provider_id, some)), several)
    columns += [] if gap is None else [gap]
    return shortest(several, session.execute(query.with_only_columns(Node.id, *columns, maintain_column_froms=True)))


def shortest(several: Several, rows: Iterable[Any]) -> dict[int, Place] | None:
    """Return machines that satisfy the request, each with its place; None if no choice does. Each row is an id, a
    place, and a gap: the shortest ones come first, and those without one last."""
    at: dict[Place, list[tuple[float, float, int]]] = {}
    for node, pack, spread, *gap in rows:
        order = gap[0] if gap and gap[0] is not None else inf
        at.setdefault((pack, spread), []).append((order, random.random(), node))  # noqa: S311 - no secret
    chosen = quotas(several, {place: len(nodes) for place, nodes in at.items()})
    if chosen is None:
        return None
    return {
        node: (chosen.pack, spread)
        for spread, number in chosen.numbers.items()
        for *_, node in sorted(at[chosen.pack, spread])[:number]
    }


def sample(session: Session, class_id: int, most: int = SOME, *, is_free: bool = True) -> list[int]:
    """Return providers (ids) that have a class (an id), free now or not, at most ``most``: those from a random one on,
    and around the end.

    SELECT i.provider_id FROM inventories i WHERE i.resource_class_id = … AND i.free = 1 AND i.provider_id >= …
    ORDER BY i.free, i.provider_id LIMIT …
    """
    provider_id, free = INVENTORIES.c.provider_id, INVENTORIES.c.free
    of_class = INVENTORIES.c.resource_class_id == class_id
    found = select(provider_id).where(of_class, free == 1 if is_free else free < 1)
    ends = found.with_only_columns(func.min(provider_id), func.max(provider_id))
    lowest, highest = session.execute(ends).one()
    start = random.randint(lowest or 0, highest or 0)  # noqa: S311 - spreading, not a secret
    in_order = found.order_by(INVENTORIES.c.free, provider_id)
    some = list(session.scalars(in_order.where(provider_id >= start).limit(most)))
    some += session.scalars(in_order.where(provider_id < start).limit(most - len(some))) if len(some) < most else ()
    return some


def _pick(session: Session, query: Query, several: Several, chosen: Quotas, gap: Gap = None) -> dict[int, Place]:
    """Return ids of machines, as ``pick`` does: first the ones that were just offered to waiting requests, then those
    with the shortest ``gap``, then random ones."""
    factor = random.randrange(1, _PRIME)  # noqa: S311 - spreading, not a secret
    order: list[Any] = [Node.id * factor % _PRIME, Node.id]
    if gap is not None:
        order = [case((gap.is_(None), 1), else_=0), gap, *order]
    offered = gate.offered(session)
    if offered:
        order.insert(0, case((PROVIDERS.c.id.in_(offered), 0), else_=1))
    return pick(session, query, several, chosen, order)


def pick(session: Session, query: Query, several: Several, chosen: Quotas, order: Sequence[Any]) -> dict[int, Place]:
    """Return ids of machines, as many of each domain as the quotas say, each with its place: the first ones by an
    order.

    SELECT id, spread FROM (SELECT n.id, spread.domain_id AS spread, row_number() OVER (PARTITION BY spread.domain_id
    ORDER BY …) AS place FROM <the nodes> JOIN domain_members …) AS picked WHERE place <= …
    """
    if several.pack_by is not None:
        query = query.join(PACK, and_(_at(PACK, several.pack_by), PACK.c.domain_id == chosen.pack))
    place = func.row_number().over(order_by=order)
    domain: Any = null()
    if several.spread_by is not None:
        in_chosen = SPREAD.c.domain_id.in_(list(chosen.numbers))
        query = query.join(SPREAD, and_(_at(SPREAD, several.spread_by), in_chosen))
        domain = SPREAD.c.domain_id
        place = func.row_number().over(partition_by=domain, order_by=order)
    columns = (Node.id.label("node_id"), domain.label("domain_id"), place.label("place"))
    picked = query.with_only_columns(*columns, maintain_column_froms=True).order_by(None).subquery("picked")
    most = max(chosen.numbers.values())
    rows = session.execute(select(picked).where(picked.c.place <= most).order_by(picked.c.node_id)).all()
    return {
        row.node_id: (chosen.pack, row.domain_id) for row in rows if row.place <= chosen.numbers.get(row.domain_id, 0)
    }


def _rows(query: Query, picked: Mapping[int, Place]) -> Query:
    with_root = query.with_only_columns(Node, PROVIDERS.c.id, maintain_column_froms=True)
    return with_root.where(Node.id.in_(picked)).order_by(None).order_by(Node.id)


def _lock(session: Session, query: Query, several: Several, picked: Mapping[int, Place]) -> Sequence[Any]:
    """Lock the picked machines in the order of their ids, and return the rows of the ones that still fit and are still
    where they were. Others that are locked are skipped."""
    locked = _rows(query, picked).with_for_update(of=(Node, INVENTORIES), skip_locked=True)
    rows = session.execute(locked).all()
    if not several.levels:
        return rows
    # Under the lock: a node that was moved after the statement had read it is somewhere else now.
    members = table_of(DomainMember)
    here = select(members.c.node_id, members.c.domain_id).where(
        members.c.node_id.in_([node.id for node, _ in rows]), members.c.level.in_(several.levels)
    )
    at: dict[int, set[int]] = {}
    for node_id, domain_id in session.execute(here):
        at.setdefault(node_id, set()).add(domain_id)
    return [row for row in rows if at.get(row[0].id, set()) == {each for each in picked[row[0].id] if each is not None}]
