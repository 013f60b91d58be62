"""Whether a machine may be offered: a table of conditions, each in Python and in SQL; and why a machine is not free, as
one word in SQL, and when held machines come back.

The projection, the reconciliation, allocations, the audit and explanations derive from this table. It is the rule of
Nova's bare metal driver and of Ironic's allocations.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    exists,
    false,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    true,
)
from sqlalchemy.orm import InstrumentedAttribute, Session

from baremetal_sched.db.clock import epoch, statement_epoch
from baremetal_sched.db.models import BookedMachine, Hold, Node, table_of
from baremetal_sched.machines import states
from baremetal_sched.placement.tables import ALLOCATIONS, CLAIM_ENDS, INVENTORIES, PROVIDERS


@dataclass(frozen=True)
class AvailabilityCondition:
    """A condition on one column of a node.

    ``accepts`` takes a value of ``column``; ``clause`` says the same in SQL, and is never NULL. ``reason`` explains a
    node that does not meet it (``{value}`` is that of the column; what an operator can do about it is in ``advice``),
    and ``failure`` has the words for one node that does not meet it, and for several.
    """

    label: str
    column: InstrumentedAttribute[Any]
    accepts: Callable[[Any], bool]
    clause: ColumnElement[bool]
    reason: str
    failure: tuple[str, str]

    def holds(self, node: Node) -> bool:
        """Return whether ``node`` meets the condition."""
        return self.accepts(getattr(node, self.column.key))

    def explain(self, node: Node) -> str:
        """Return why ``node``, which does not meet the condition, is not offered."""
        value = getattr(node, self.column.key)
        return self.reason.format(value="unknown" if value is None else value)


#: A hold is active.
MAINTENANCE = "maintenance"

#: In the order in which a failure counts.
CONDITIONS = (
    AvailabilityCondition(
        "parent node",
        Node.parent_node,
        lambda value: value is None,
        Node.parent_node.is_(None),
        "It is a child of node {value}.",
        ("is a part of another node", "are parts of other nodes"),
    ),
    AvailabilityCondition(
        "provision state",
        Node.provision_state,
        lambda value: bool(value == states.AVAILABLE),
        Node.provision_state == states.AVAILABLE,
        "Its provision state is '{value}', not 'available'.",
        ("is not in provision state 'available'", "are not in provision state 'available'"),
    ),
    AvailabilityCondition(
        MAINTENANCE,
        Node.maintenance,
        lambda value: not value,
        Node.maintenance == false(),
        "It is in maintenance.",
        ("is in maintenance", "are in maintenance"),
    ),
    AvailabilityCondition(
        "instance",
        Node.instance_uuid,
        lambda value: value is None,
        Node.instance_uuid.is_(None),
        "It is in use by instance {value}.",
        ("is in use by an instance", "are in use by instances"),
    ),
    AvailabilityCondition(
        "power state",
        Node.power_state,
        lambda value: value not in (None, states.ERROR),
        and_(Node.power_state.is_not(None), Node.power_state != states.ERROR),
        "Its power state is {value}, so it may be out of reach.",
        ("has an unknown power state", "have an unknown power state"),
    ),
)

#: What the conditions look at.
COLUMNS = tuple(condition.column for condition in CONDITIONS)

#: SQL condition on Node: it may be given out.
IS_AVAILABLE = and_(*(condition.clause for condition in CONDITIONS))


#: SQL condition on Node: no hold is planned that keeps it from being given out by now.
IS_OPEN = or_(Node.closes_at.is_(None), Node.closes_at > statement_epoch())


def is_available(node: Node) -> bool:
    """Return whether ``node`` may be given out. The same as ``IS_AVAILABLE``."""
    return all(condition.holds(node) for condition in CONDITIONS)


#: Claimed, or in use by an instance without a claim.
ALLOCATED = "allocated"

#: Words that say more than the labels of conditions. Where a state is why, the word is the state.
_STATE = "provision state"
_POWER = "power state"
POWER_UNKNOWN = "power unknown"
_WORDS = {"instance": ALLOCATED, _POWER: POWER_UNKNOWN}

#: In the order in which a failure is the word for all: an instance first. A state lasts and may have any reason; what
#: an operator set says more. An unknown power state is the reason only where the
#: machine would be available otherwise: before that, its power has not been read yet.
RANKED = tuple(
    sorted(CONDITIONS, key=lambda each: (each.label != "instance", each.label == _POWER, each.label == _STATE))
)


def word(condition: AvailabilityCondition) -> str | None:
    """Return the word for a node that does not meet ``condition``; None: it is the node's provision state."""
    return None if condition.label == _STATE else _WORDS.get(condition.label, condition.label)


def why_not(node: Node) -> str | None:
    """Return in one word why ``node`` may not be given out, None if it may."""
    failed = next((condition for condition in RANKED if not condition.holds(node)), None)
    return None if failed is None else word(failed) or node.provision_state


def unmet(node: Node) -> list[AvailabilityCondition]:
    """Return the conditions that ``node`` does not meet, in order; empty if it may be given out."""
    return [condition for condition in CONDITIONS if not condition.holds(node)]


# -- why a machine is not free, in SQL ---------------------------------------------------------------------------------

#: The word for a machine without a class.
RESOURCE_CLASS = "resource class"

#: The provider of a machine, and its inventory of the node's own class. Aliases, so that no condition on machines means
#: them by mistake.
PROVIDER = PROVIDERS.alias("machine")
STOCK = INVENTORIES.alias("own_stock")
_HELD = ALLOCATIONS.alias("held_machine")

#: A hold has been planned for now, or waits until the node rests, and its flag has not followed yet.
PLANNED = "planned hold"

#: It is kept for a booking, or for the plan of a request that waits.
BOOKED = "booked"

_KEPT, _DUE = table_of(BookedMachine).alias("kept"), table_of(Hold).alias("due")
#: SQL condition on Node, which is closed: it has bookings or plans, and no hold has closed it before them, or has come.
IS_BOOKED = and_(
    exists().where(_KEPT.c.node_id == Node.id, _KEPT.c.made_at <= Node.closes_at),
    ~exists().where(
        _DUE.c.node_id == Node.id,
        _DUE.c.begun_at.is_(None),
        func.coalesce(_DUE.c.starts_at, _DUE.c.asserted_at) <= statement_epoch(),
    ),
)

#: The provider was changed directly: the node says nothing against it, and it is not on offer.
DRIFTED = "resource provider"


def with_provider(source: Any) -> Any:
    """Return ``source``, which has the nodes, with the provider of each and its inventory of the node's own class.

    LEFT JOIN resource_providers p ON p.uuid = n.uuid
    LEFT JOIN inventories i ON i.provider_id = p.id AND i.resource_class_id = p.mirrored_class_id
    """
    return with_stock(source.outerjoin(PROVIDER, PROVIDER.c.uuid == Node.uuid))


def with_stock(source: Any) -> Any:
    """Return ``source``, which has nodes and their providers, with the inventory of the node's own class."""
    own = and_(STOCK.c.provider_id == PROVIDER.c.id, STOCK.c.resource_class_id == PROVIDER.c.mirrored_class_id)
    return source.outerjoin(STOCK, own)


def with_ends(source: Any) -> Any:
    """Return ``source``, which has nodes with their providers and inventories, with the ends of their consumers.

    LEFT JOIN allocations a ON a.provider_id = p.id AND a.resource_class_id = p.mirrored_class_id
    LEFT JOIN claim_ends e ON e.consumer_id = a.consumer_id
    """
    own = and_(_HELD.c.provider_id == PROVIDER.c.id, _HELD.c.resource_class_id == PROVIDER.c.mirrored_class_id)
    held = source.outerjoin(_HELD, own)
    return held.outerjoin(CLAIM_ENDS, CLAIM_ENDS.c.consumer_id == _HELD.c.consumer_id)


#: The condition of the rule that no instance uses the machine: one that does has it allocated.
HAS_NO_INSTANCE = next(each.clause for each in CONDITIONS if each.label == "instance")

#: A consumer has claimed it in placement.
IS_CLAIMED = or_(STOCK.c.used > 0, PROVIDER.c.holder.is_not(None))

#: It has no resource class: placement has no inventory of it.
HAS_NO_CLASS = or_(Node.resource_class.is_(None), Node.resource_class == "")


@cache
def reason() -> ColumnElement[Any]:
    """Return why the node is not free, NULL if it is.

    CASE WHEN <it is claimed or has an instance> THEN 'allocated' WHEN <it has no class> THEN 'resource class'
    WHEN NOT <first condition> THEN '<its word>' … WHEN <it is closed> THEN CASE WHEN
    <it is booked, and no hold has come> THEN 'booked' ELSE 'planned hold' END
    WHEN <placement does not offer it> THEN 'resource provider' END

    A machine that was booked before a hold came near ([scheduling] withhold_before_windows) is booked until that hold
    has come.
    """
    whens: list[tuple[Any, Any]] = [
        (or_(IS_CLAIMED, HAS_NO_INSTANCE.is_not(true())), _text(ALLOCATED)),
        (HAS_NO_CLASS, _text(RESOURCE_CLASS)),
    ]
    whens += [
        (each.clause.is_not(true()), Node.provision_state if said is None else _text(said))
        for each in RANKED
        if (said := word(each)) != ALLOCATED
    ]
    free = and_(STOCK.c.free.is_not(None), STOCK.c.free > literal_column("0"))
    closed = case((IS_BOOKED, _text(BOOKED)), else_=_text(PLANNED))
    return case(*whens, (IS_OPEN.is_not(true()), closed), (free.is_not(true()), _text(DRIFTED)), else_=null())


def reason_of_stock(stock: Any, holder: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the same of a node with a class that is not closed, from columns of the inventory that repeats what the
    node says, and the consumer that holds its tree.

    CASE WHEN <it is claimed> THEN 'allocated' WHEN node_state IS NOT NULL THEN node_state
    WHEN <placement does not offer it> THEN 'resource provider' END
    """
    return case(
        (or_(stock.used > literal_column("0"), holder.is_not(None)), _text(ALLOCATED)),
        (stock.node_state.is_not(None), stock.node_state),
        (stock.free <= literal_column("0"), _text(DRIFTED)),
        else_=null(),
    )


def _text(text: str) -> ColumnElement[str]:
    # Part of the statement: PostgreSQL takes parameters of a GROUP BY for different expressions (seen on 15).
    return literal(text, literal_execute=True)


#: SQL condition: the hold has started, even if it waits until its node rests, or its flag has not followed yet.
HAS_STARTED = or_(Hold.begun_at.is_not(None), func.coalesce(Hold.starts_at, Hold.asserted_at) <= epoch())
#: What ``held_by_type`` needs to know of each hold.
HELD_COLUMNS = (Hold.type, Hold.node_id, Hold.ends_at)


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


def held_by_type(
    database: Connection | Session, holds: Select[*tuple[Any, ...]], keys: Sequence[str] = (), most: int = 100
) -> Iterator[tuple[Sequence[Any], Held]]:
    """Yield what ``holds``, a query of ``HELD_COLUMNS`` and these keys, come to: the values of the keys, and each type.

    SELECT <the keys>, type, count(DISTINCT node_id), max(ends_at), max(<it has no end>) FROM (<holds>) GROUP BY …
    """
    held = holds.subquery().c
    grouped = [*(held[key] for key in keys), held.type]
    endless = func.max(case((held.ends_at.is_(None), 1), else_=0))
    counted = select(*grouped, func.count(held.node_id.distinct()), func.max(held.ends_at), endless).group_by(*grouped)
    for *values, kind, nodes, until, is_endless in database.execute(counted.order_by(*grouped).limit(most)):
        yield values, Held(kind, nodes, None if is_endless else datetime.fromtimestamp(until, UTC))
