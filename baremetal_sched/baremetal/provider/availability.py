"""Whether a machine may be offered: a table of conditions, each in Python and in SQL.

The projection, the reconciliation, allocations, the audit and explanations derive from this table. It is the rule of
Nova's bare metal driver and of Ironic's allocations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, false
from sqlalchemy.orm import InstrumentedAttribute

from baremetal_sched.baremetal.provider import advice
from baremetal_sched.db.models import Node
from baremetal_sched.machines import states


@dataclass(frozen=True)
class AvailabilityCondition:
    """A condition on one column of a node.

    ``accepts`` takes a value of ``column``; ``clause`` says the same in SQL, and is never NULL. ``reason`` says what is
    wrong if it does not hold (``{value}`` is that of the column), ``remedy`` what an operator can do about a node that
    does not meet it, and ``failure`` what is said of one such node, and of several.
    """

    label: str
    column: InstrumentedAttribute[Any]
    accepts: Callable[[Any], bool]
    clause: ColumnElement[bool]
    reason: str
    remedy: Callable[[Node], str]
    failure: tuple[str, str]

    def holds(self, node: Node) -> bool:
        """Return whether ``node`` meets the condition."""
        return self.accepts(getattr(node, self.column.key))

    def explain(self, node: Node) -> str:
        """Return why ``node``, which does not meet the condition, is not offered."""
        value = getattr(node, self.column.key)
        return self.reason.format(value="unknown" if value is None else value)


#: In the order in which a failure counts.
CONDITIONS = (
    AvailabilityCondition(
        "parent node",
        Node.parent_node,
        lambda value: value is None,
        Node.parent_node.is_(None),
        "It is a child of node {value}.",
        lambda node: "Unset parent_node if the machine is to be scheduled by itself.",
        ("is a part of another node", "are parts of other nodes"),
    ),
    AvailabilityCondition(
        "provision state",
        Node.provision_state,
        lambda value: bool(value == states.AVAILABLE),
        Node.provision_state == states.AVAILABLE,
        "Its provision state is '{value}', not 'available'.",
        advice.to_make_available,
        ("is not in provision state 'available'", "are not in provision state 'available'"),
    ),
    AvailabilityCondition(
        "maintenance",
        Node.maintenance,
        lambda value: not value,
        Node.maintenance == false(),
        "It is in maintenance.",
        lambda node: "Unset maintenance when the machine is fit for use.",
        ("is in maintenance", "are in maintenance"),
    ),
    AvailabilityCondition(
        "instance",
        Node.instance_uuid,
        lambda value: value is None,
        Node.instance_uuid.is_(None),
        "It is in use by instance {value}.",
        advice.to_free,
        ("is in use by an instance", "are in use by instances"),
    ),
    AvailabilityCondition(
        "power state",
        Node.power_state,
        lambda value: value not in (None, states.ERROR),
        and_(Node.power_state.is_not(None), Node.power_state != states.ERROR),
        "Its power state is {value}, so it may be out of reach.",
        advice.to_know_power,
        ("has an unknown power state", "have an unknown power state"),
    ),
)

#: What the conditions look at.
COLUMNS = tuple(condition.column for condition in CONDITIONS)

#: SQL condition on Node: it may be given out.
IS_AVAILABLE = and_(*(condition.clause for condition in CONDITIONS))


def is_available(node: Node) -> bool:
    """Return whether ``node`` may be given out. The same as ``IS_AVAILABLE``."""
    return all(condition.holds(node) for condition in CONDITIONS)


#: Claimed, or in use by an instance without a claim.
ALLOCATED = "allocated"

#: Words that say more than the labels of conditions. Where a state is why, the word is the state.
_STATE = "provision state"
_POWER = "power state"
_WORDS = {"instance": ALLOCATED, _POWER: "power unknown"}

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
