"""Counts of machines by the requested keys: all, free, allocated, and out of use by reason."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Label, Select, and_, case, func, literal, null, select, union_all
from sqlalchemy.sql.expression import FromClause

from baremetal_sched.baremetal.bookings.times import closes
from baremetal_sched.baremetal.domains.domain_list import domain_at
from baremetal_sched.baremetal.nodes.node_list import NodeFilters
from baremetal_sched.baremetal.nodes.traits import has_any
from baremetal_sched.baremetal.provider.availability import (
    ALLOCATED,
    BOOKED,
    DRIFTED,
    HAS_NO_CLASS,
    HAS_NO_INSTANCE,
    HAS_STARTED,
    HELD_COLUMNS,
    IS_BOOKED,
    MAINTENANCE,
    PLANNED,
    PROVIDER,
    STOCK,
    Held,
    held_by_type,
    reason,
    reason_of_stock,
    with_ends,
    with_provider,
)
from baremetal_sched.baremetal.provider.blocked_times import comes_back_by, free_at, held_at
from baremetal_sched.baremetal.schemas.traits import is_trait
from baremetal_sched.baremetal.visibility import EVERYTHING, Conditions, Visibility
from baremetal_sched.db.clock import epoch, in_words, statement_epoch
from baremetal_sched.db.models import DomainMember, Hold, Node, table_of
from baremetal_sched.errors import InvalidValue
from baremetal_sched.options.kinds import LEVEL
from baremetal_sched.settings import Settings
from baremetal_sched.suggestions import did_you_mean

#: The keys that machines may be grouped by, besides traits and domains of a level.
COLUMNS = {
    "resource_class": Node.resource_class,
    "conductor_group": Node.conductor_group,
    "driver": Node.driver,
    "owner": Node.owner,
    "lessee": Node.lessee,
    "shard": Node.shard,
}
TRAIT = "trait:"
DOMAIN = "domain:"

#: What of that the inventories of nodes repeat.
_COPIES = {"resource_class": "node_class", "conductor_group": "node_group"}

#: The reasons that holds are behind.
_HELD = {MAINTENANCE, PLANNED}

#: The most keys that a request may group by, and the most rows that the database may return.
MOST_KEYS = 8
MOST_ROWS = 100_000


@dataclass
class Figures:
    """The machines that have the same ``keys``: how many, and why some of them are not free. ``held``: by type of the
    holds that have started; a machine may have several."""

    keys: dict[str, Any]
    free: int = 0
    allocated: int = 0
    unavailable: dict[str, int] = field(default_factory=dict)
    held: list[Held] = field(default_factory=list)

    @property
    def total(self) -> int:
        """All of them."""
        return self.free + self.allocated + sum(self.unavailable.values())

    def add(self, why: str | None, count: int) -> None:
        """Count machines that are not free for the reason ``why``; None: they are."""
        if why is None:
            self.free += count
        elif why == ALLOCATED:
            self.allocated += count
        else:
            self.unavailable[why] = self.unavailable.get(why, 0) + count


def measure(
    connection: Connection,
    settings: Settings,
    keys: Sequence[str],
    filters: NodeFilters,
    visible: Visibility = EVERYTHING,
) -> list[Figures]:
    """Return figures of the visible nodes that the filters let through, by ``keys``: names in COLUMNS, ``trait:X``,
    ``domain:LEVEL``.

    Without keys there is one row, even without nodes. Raises InvalidValue for an unknown key, and for more groups than
    an answer may hold.

    SELECT n.resource_class, …, 'allocated', count(*), 0 FROM nodes n WHERE n.instance_uuid IS NOT NULL AND …
    GROUP BY … UNION ALL SELECT n.resource_class, …, <why it is not free>, count(*), 0 FROM nodes n
    LEFT JOIN resource_providers p … LEFT JOIN inventories i … WHERE n.instance_uuid IS NULL AND … GROUP BY …

    A node with an instance counts as allocated, without a look at its provider: the joins take most of the time. Where
    all nodes are counted, by class and group at most, an index has the answer.
    """
    _check(keys)
    where = (*visible.conditions(), *filters.conditions)
    by_index = not where and _COPIES.keys() >= set(keys)
    statements = _by_index(settings, keys) if by_index else _by_node(keys, where)
    return _rows(connection, keys, union_all(*statements))


def _rows(connection: Connection, keys: Sequence[str], counted: Any) -> list[Figures]:
    rows = connection.execute(counted.limit(MOST_ROWS + 1)).all()
    if len(rows) > MOST_ROWS:
        raise InvalidValue(
            message=f"There are more than {MOST_ROWS} rows: group by fewer keys, or narrow the request by filters."
        )
    return _collected(keys, rows)


def measure_at(
    connection: Connection,
    settings: Settings,
    moment: float,
    keys: Sequence[str],
    filters: NodeFilters,
    visible: Visibility = EVERYTHING,
) -> list[Figures]:
    """Return the figures of ``measure`` for a later moment, in seconds since 1970, by what is known now: by ends of
    claims, holds, bookings, and the states of nodes. Raises InvalidValue also if the moment is over.

    SELECT n.resource_class, …, CASE WHEN <free at that moment> THEN NULL WHEN <only held> THEN 'planned hold'
    WHEN <only booked> THEN 'booked' ELSE <why it is not free now> END, count(*) FROM nodes n
    LEFT JOIN resource_providers p … LEFT JOIN inventories i … LEFT JOIN allocations a … LEFT JOIN claim_ends e …
    GROUP BY …
    """
    _check(keys)
    if moment < (connection.scalar(select(epoch())) or 0.0):
        raise InvalidValue(message=f"at must not be over: {in_words(moment)} is.")
    held = case((Node.maintenance, literal(MAINTENANCE)), else_=literal(PLANNED))
    why = case(
        (free_at(settings, moment), null()),
        (comes_back_by(settings, moment), case((held_at(settings, moment), held), else_=literal(BOOKED))),
        else_=func.coalesce(reason(), literal(DRIFTED)),
    )
    source = with_ends(with_provider(table_of(Node)))
    where = (*visible.conditions(), *filters.conditions)
    return _rows(connection, keys, _counted(_columns(keys), why, source, where))


def measure_domains(connection: Connection, domains: Sequence[int], visible: Visibility) -> dict[int, Figures]:
    """Return figures of the visible machines in these domains (ids), or below them. A machine counts in each domain.

    SELECT m.domain_id, <why it is not free>, count(*) FROM domain_members m JOIN nodes n ON n.id = m.node_id
    LEFT JOIN resource_providers p … LEFT JOIN inventories i … WHERE m.domain_id IN (…) AND … GROUP BY …

    One look at each machine: here the domains choose the machines, and not an index of the reason.
    """
    members, nodes = table_of(DomainMember), table_of(Node)
    source = with_provider(members.join(nodes, nodes.c.id == members.c.node_id))
    where = (members.c.domain_id.in_(domains), *visible.conditions())
    rows = connection.execute(_counted([members.c.domain_id.label("key_0")], reason(), source, where)).all()
    return {each.keys["domain"]: each for each in _collected(["domain"], rows)}


def name_holds(
    connection: Connection,
    figures: Sequence[Figures],
    filters: NodeFilters,
    visible: Visibility = EVERYTHING,
    seen: Conditions = (),
) -> None:
    """Say in the figures, which were measured with these filters, which holds machines without an instance have, of
    those that meet the conditions ``seen``.

    SELECT n.resource_class AS key_0, …, h.type, h.node_id, h.ends_at FROM holds h JOIN nodes n ON n.id = h.node_id
    WHERE <it has started> AND n.instance_uuid IS NULL AND …, counted by ``held_by_type``
    """
    if not any(_HELD & each.unavailable.keys() for each in figures):
        return
    keys = list(figures[0].keys)
    columns = _columns(keys)
    holds = (
        select(*columns, *HELD_COLUMNS)
        .join(Node, Node.id == Hold.node_id)
        .where(HAS_STARTED, HAS_NO_INSTANCE, *seen, *visible.conditions(), *filters.conditions)
    )
    by_keys = {tuple(each.keys.values()): each for each in figures}
    for values, each in held_by_type(connection, holds, [column.name for column in columns], MOST_ROWS):
        row = by_keys.get(_place(keys, values))
        if row is not None:  # it may have been asserted since they were counted
            row.held.append(each)


def _by_node(keys: Sequence[str], where: Sequence[ColumnElement[bool]]) -> list[Select[Any]]:
    columns = _columns(keys)
    nodes: FromClause = table_of(Node)
    return [
        _counted(columns, literal(ALLOCATED), nodes, (~HAS_NO_INSTANCE, *where)),
        _counted(columns, reason(), with_provider(nodes), (HAS_NO_INSTANCE, *where)),
    ]


def _by_index(settings: Settings, keys: Sequence[str]) -> list[Select[Any]]:
    """Nodes by the columns that their inventories repeat, and nodes without a class, which have no inventory.

    SELECT s.node_class, …, <why it is not free>, sum(s.machines - <closed ones>), sum(<closed ones>)
    FROM (SELECT node_class, …, count(*) AS machines, sum(closes_at <= now) AS closed
    FROM inventories WHERE withheld = 0 AND node_class IS NOT NULL GROUP BY <the columns of the index>) s GROUP BY …
    UNION ALL SELECT … FROM inventories JOIN resource_providers … WHERE withheld = 1 AND node_class IS NOT NULL …
    UNION ALL SELECT …, 'planned hold', count(*), -count(*) FROM (SELECT DISTINCT node_id FROM holds
    WHERE <it closes the node by now>) h JOIN nodes … JOIN inventories … WHERE <it is closed, and not booked> …

    A withheld inventory belongs to a tree, which a consumer may hold: only the root says so. The last column counts
    machines that are booked: those that are closed, without those that a hold has closed, as there are few of these.
    """
    of_nodes = STOCK.c.node_class.is_not(None)
    indexed = (STOCK.c.node_class, STOCK.c.node_group, STOCK.c.node_state, STOCK.c.used, STOCK.c.free)
    in_trees = STOCK.join(PROVIDER, PROVIDER.c.id == STOCK.c.provider_id)
    # Asked for once: to make it for each row costs PostgreSQL more than the rest.
    now = select(statement_epoch()).scalar_subquery()
    is_closed = case((STOCK.c.closes_at <= now, 1), else_=0)
    # As the index has them: neither sorted nor kept.
    plain = (
        select(*indexed, func.count().label("machines"), func.sum(is_closed).label("closed"))
        .where(STOCK.c.withheld == 0, of_nodes)
        .group_by(*indexed)
        .subquery()
    )

    closing = select(Hold.node_id).distinct().where(closes(settings, statement_epoch())).subquery()

    def named(columns: Mapping[str, ColumnElement[Any]]) -> list[ColumnElement[Any]]:
        return [columns[key].label(f"key_{place}") for place, key in enumerate(keys)]

    return [
        _counted(
            named({key: plain.c[name] for key, name in _COPIES.items()}),
            reason_of_stock(plain.c, null()),
            plain,
            (),
            plain.c.machines,
            case((_is_idle(plain.c), plain.c.closed), else_=0),
        ),
        _counted(
            named({key: STOCK.c[name] for key, name in _COPIES.items()}),
            reason_of_stock(STOCK.c, PROVIDER.c.holder),
            in_trees,
            (STOCK.c.withheld == 1, of_nodes),
            booked=case((and_(_is_idle(STOCK.c), PROVIDER.c.holder.is_(None)), is_closed), else_=0),
        ),
        _counted(
            named({key: STOCK.c[name] for key, name in _COPIES.items()}),
            literal(PLANNED),
            with_provider(closing.join(table_of(Node), Node.id == closing.c.node_id)),
            (of_nodes, is_closed == 1, _is_idle(STOCK.c), PROVIDER.c.holder.is_(None), ~IS_BOOKED),
            literal(0),
            literal(-1),
        ),
        _counted(named({key: _column(key) for key in keys}), reason(), with_provider(table_of(Node)), (HAS_NO_CLASS,)),
    ]


def _counted(
    columns: Sequence[ColumnElement[Any]],
    why: ColumnElement[Any],
    source: FromClause,
    where: Sequence[ColumnElement[bool]],
    number: ColumnElement[int] | None = None,
    booked: ColumnElement[int] | None = None,
) -> Select[Any]:
    """Count the rows of ``source``, each of them one machine, or ``number`` of them. ``booked``: how many of these are
    booked, and so not free for the reason ``why``."""
    more = [each.label(name) for name, each in (("number", number), ("booked", booked)) if each is not None]
    machines = select(*columns, why.label("reason"), *more).select_from(source).where(*where).subquery()
    grouped = [machines.c[column.name] for column in columns]
    count = func.count() if number is None else func.sum(machines.c.number)
    others = literal(0) if booked is None else func.sum(machines.c.booked)
    return select(*grouped, machines.c.reason, count - others, others).group_by(*grouped, machines.c.reason)


def _is_idle(stock: Any) -> ColumnElement[bool]:
    """SQL condition on an inventory: nothing but a hold or a booking keeps the machine from being free."""
    return and_(stock.used <= 0, stock.node_state.is_(None))


def _check(keys: Sequence[str]) -> None:
    if len(keys) > MOST_KEYS:
        raise InvalidValue(message=f"group_by has {len(keys)} keys: at most {MOST_KEYS} are accepted.")
    for key in keys:
        if key in COLUMNS or (key.startswith(TRAIT) and is_trait(key.removeprefix(TRAIT))):
            continue
        if key.startswith(DOMAIN) and re.fullmatch(LEVEL, key.removeprefix(DOMAIN)):
            continue
        known = ", ".join([*COLUMNS, f"{TRAIT}NAME", f"{DOMAIN}LEVEL"])
        raise InvalidValue(message=f"Cannot group by '{key}', only by {known}.{did_you_mean(key, COLUMNS)}")


def _columns(keys: Sequence[str]) -> list[Label[Any]]:
    return [_column(key).label(f"key_{place}") for place, key in enumerate(keys)]


def _column(key: str) -> ColumnElement[Any]:
    if key.startswith(DOMAIN):
        return domain_at(key.removeprefix(DOMAIN))
    return has_any([key.removeprefix(TRAIT)]) if key.startswith(TRAIT) else COLUMNS[key].expression


def _place(keys: Sequence[str], values: Sequence[Any]) -> tuple[Any, ...]:
    # MariaDB and SQLite have no booleans.
    return tuple(bool(value) if key.startswith(TRAIT) else value for key, value in zip(keys, values, strict=True))


def _collected(keys: Sequence[str], rows: Sequence[Any]) -> list[Figures]:
    figures: dict[tuple[Any, ...], Figures] = {}
    if not keys:
        figures[()] = Figures({})
    for *values, why, count, booked in rows:
        place = _place(keys, values)
        if place not in figures:
            figures[place] = Figures(dict(zip(keys, place, strict=True)))
        figures[place].add(why, int(count))
        figures[place].add(BOOKED, int(booked))
    for each in figures.values():
        each.unavailable = {why: count for why, count in each.unavailable.items() if count}
    return sorted(figures.values(), key=lambda each: [str(value or "") for value in each.keys.values()])
