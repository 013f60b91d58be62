"""Components of nodes that have firmware, and the versions of that, as updates left them."""

from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import FirmwareComponent, Node
from baremetal_sched.documents.fields import COMMON, Field, Fields
from baremetal_sched.machines.machine import Firmware, Flashed

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


def keep(session: Session, node: Node, found: Mapping[str, Flashed | Firmware]) -> None:
    """These components of ``node`` (its row locked) have been updated, or looked at."""
    known = {each.component: each for each in components(session, node)}
    for name, each in found.items():
        component = known.get(name)
        before, now = (each.before, each.now) if isinstance(each, Flashed) else (each.version, each.version)
        if component is None:
            component = FirmwareComponent(node_id=node.id, component=name, initial_version=before, created_at=utcnow())
            session.add(component)
        elif isinstance(each, Firmware) and _is_known(component, each):
            continue
        else:
            component.updated_at = utcnow()
            before = component.current_version or before
        if isinstance(each, Flashed) or before != now:
            component.last_version_flashed = now
        component.current_version = now
        component.vendor, component.model = each.vendor, each.model
        if isinstance(each, Firmware):
            component.serial_number = each.serial_number


def _is_known(component: FirmwareComponent, found: Firmware) -> bool:
    row = (component.current_version, component.vendor, component.model, component.serial_number)
    return row == (found.version, found.vendor, found.model, found.serial_number)
