"""Why a machine is not free, as one word in SQL: from the table of ``baremetal.provider.availability`` and what is
claimed."""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, and_, case, literal, literal_column, null, or_, true

from baremetal_sched.baremetal.matching.explanation import RESOURCE_CLASS
from baremetal_sched.baremetal.provider import availability
from baremetal_sched.db.models import Node
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS

#: The provider of a machine, and its inventory of the node's own class. Aliases, so that no condition on machines means
#: them by mistake.
PROVIDER = PROVIDERS.alias("machine")
STOCK = INVENTORIES.alias("own_stock")

ALLOCATED = availability.ALLOCATED

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


#: The condition of the rule of availability that no instance uses the machine: one that does has it allocated.
HAS_NO_INSTANCE = and_(*(each.clause for each in availability.CONDITIONS if each.label == "instance"))

#: It has no resource class: placement has no inventory of it.
HAS_NO_CLASS = or_(Node.resource_class.is_(None), Node.resource_class == "")


@cache
def reason() -> ColumnElement[Any]:
    """Return why the node is not free, NULL if it is.

    CASE WHEN <it is claimed or has an instance> THEN 'allocated' WHEN <it has no class> THEN 'resource class'
    WHEN NOT <first condition> THEN '<its word>' … WHEN <placement does not offer it> THEN 'resource provider' END
    """
    claimed = or_(STOCK.c.used > 0, PROVIDER.c.holder.is_not(None))
    whens: list[tuple[Any, Any]] = [
        (or_(claimed, HAS_NO_INSTANCE.is_not(true())), _word(ALLOCATED)),
        (HAS_NO_CLASS, _word(RESOURCE_CLASS)),
    ]
    whens += [
        (each.clause.is_not(true()), Node.provision_state if said is None else _word(said))
        for each in availability.RANKED
        if (said := availability.word(each)) != ALLOCATED
    ]
    free = and_(STOCK.c.free.is_not(None), STOCK.c.free > literal_column("0"))
    return case(*whens, (free.is_not(true()), _word(DRIFTED)), else_=null())


def reason_of_stock(stock: Any, holder: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the same of a node with a class, from columns of the inventory that repeats what the node says, and the
    consumer that holds its tree.

    CASE WHEN <it is claimed> THEN 'allocated' WHEN node_state IS NOT NULL THEN node_state
    WHEN <placement does not offer it> THEN 'resource provider' END
    """
    return case(
        (or_(stock.used > literal_column("0"), holder.is_not(None)), _word(ALLOCATED)),
        (stock.node_state.is_not(None), stock.node_state),
        (stock.free <= literal_column("0"), _word(DRIFTED)),
        else_=null(),
    )


def _word(text: str) -> ColumnElement[str]:
    # Part of the statement: PostgreSQL takes parameters of a GROUP BY for different expressions.
    return literal(text, literal_execute=True)
