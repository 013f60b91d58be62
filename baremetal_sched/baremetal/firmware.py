"""Components of nodes that have firmware, and the versions of that, as updates left them."""

from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.machine import Flashed
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import FirmwareComponent, Node
from baremetal_sched.documents.fields import COMMON, Field, Fields

#: Since when vendor, model and serial number are known.
IDENTITY_SINCE = 114

FIELDS = Fields(
    *(field for field in COMMON if field.name != "links"),
    *(Field(name) for name in ("component", "initial_version", "current_version", "last_version_flashed")),
    *(Field(name, IDENTITY_SINCE) for name in ("vendor", "model", "serial_number")),
)


def components(session: Session, node: Node) -> Sequence[FirmwareComponent]:
    """The components of ``node``, by name."""
    query = select(FirmwareComponent).where(FirmwareComponent.node_id == node.id).order_by(FirmwareComponent.component)
    return session.scalars(query).all()


def keep(session: Session, node: Node, flashed: Mapping[str, Flashed]) -> None:
    """These components of ``node`` (its row locked) have been updated."""
    known = {each.component: each for each in components(session, node)}
    for name, change in flashed.items():
        component = known.get(name)
        if component is None:
            component = FirmwareComponent(
                node_id=node.id, component=name, initial_version=change.before, created_at=utcnow()
            )
            session.add(component)
        else:
            component.updated_at = utcnow()
        component.current_version = component.last_version_flashed = change.now
        component.vendor, component.model = change.vendor, change.model
