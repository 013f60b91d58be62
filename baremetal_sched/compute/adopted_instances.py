"""Instances on nodes that were adopted: they are not servers of the compute API, only the node knows them.

``flavor_migration`` gives them their claim of the node. The claim is released when the node loses the instance.
"""

from contextlib import suppress

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Consumer, Node
from baremetal_sched.errors.placement import NoAllocations
from baremetal_sched.machines import states
from baremetal_sched.placement import allocations as claims
from baremetal_sched.settings import Settings

#: The type of the consumers that they are in placement: what was claimed by another, such as Nova, is not ours to free.
CONSUMER_TYPE = "ADOPTED_INSTANCE"

_LONGEST_NAME = 255

#: States in which the instance is on the machine, and no deployment is under way.
_IN_USE = (
    *(states.ACTIVE, states.ERROR),
    *(states.RESCUE, states.RESCUING, states.RESCUEWAIT, states.RESCUEFAIL, states.UNRESCUING, states.UNRESCUEFAIL),
    *(states.SERVICING, states.SERVICEWAIT, states.SERVICEHOLD, states.SERVICEFAIL),
)

#: SQL condition on a node with an instance that is not a server: it may have been adopted. (Allocations have their
#: claim.)
IS_ADOPTED: ColumnElement[bool] = and_(Node.provision_state.in_(_IN_USE), Node.allocation_uuid.is_(None))


def owner_of(node: Node, settings: Settings) -> tuple[str, str]:
    """Return project and user of the instance on a node, if the node has them."""
    info, placement = node.instance_info or {}, settings.placement
    return (
        _name(info.get("project_id")) or placement.incomplete_consumer_project_id,
        _name(info.get("user_id")) or placement.incomplete_consumer_user_id,
    )


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= _LONGEST_NAME else None


def release(session: Session, uuid: str) -> None:
    """Give back what the instance with this UUID holds, if it was claimed for an adopted node."""
    query = select(Consumer.id).where(Consumer.uuid == uuid, Consumer.consumer_type == CONSUMER_TYPE)
    if session.scalar(query) is not None:
        with suppress(NoAllocations):
            claims.release(session, uuid)
