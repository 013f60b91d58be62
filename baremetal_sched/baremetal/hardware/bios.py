"""Settings of the BIOS of nodes and the versions of their firmware, as steps found or made them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import BiosSetting, FirmwareComponent, Node
from baremetal_sched.documents.fields import COMMON, Field, Fields
from baremetal_sched.errors.baremetal import BiosSettingNotFound
from baremetal_sched.machines.machine import BiosValue, Firmware, Flashed

#: The first microversion with more than the value.
REGISTRY_SINCE = 74

SETTING_FIELDS = Fields(
    *COMMON,
    Field("name"),
    Field("value"),
    *(
        Field(name, REGISTRY_SINCE)
        for name in (
            *("attribute_type", "allowable_values", "lower_bound", "upper_bound", "min_length", "max_length"),
            *("read_only", "reset_required", "unique"),
        )
    ),
)

#: The fields of a list, unless the request asks for all.
LIST_DEFAULT = ("name", "value")


def settings(session: Session, node: Node) -> Sequence[BiosSetting]:
    """The settings of ``node``, by name."""
    query = select(BiosSetting).where(BiosSetting.node_id == node.id).order_by(BiosSetting.name)
    return session.scalars(query).all()


def find(session: Session, node: Node, name: str) -> BiosSetting:
    """The setting of this name. Raises BiosSettingNotFound."""
    setting = session.get(BiosSetting, (node.id, name))
    if setting is None:
        raise BiosSettingNotFound(node=node.uuid, name=name)
    return setting


def keep_settings(session: Session, node: Node, values: Mapping[str, BiosValue | str | None]) -> None:
    """Replace the BIOS settings of ``node`` (its row locked).

    The known possible values of a setting are kept if only a value is given.
    """
    known = {setting.name: setting for setting in settings(session, node)}
    for name, value in values.items():
        facts = asdict(value) if isinstance(value, BiosValue) else {"value": value}
        setting = known.get(name)
        if setting is None:
            session.add(BiosSetting(node_id=node.id, name=name, **facts, created_at=utcnow()))
            continue
        changed = {key: fact for key, fact in facts.items() if getattr(setting, key) != fact}
        for key, fact in changed.items():
            setattr(setting, key, fact)
        if changed:
            setting.updated_at = utcnow()
    gone = known.keys() - values.keys()
    session.execute(delete(BiosSetting).where(BiosSetting.node_id == node.id, BiosSetting.name.in_(gone)))


#: The first microversion with vendor, model and serial number.
IDENTITY_SINCE = 114

COMPONENT_FIELDS = Fields(
    *(field for field in COMMON if field.name != "links"),
    *(Field(name) for name in ("component", "initial_version", "current_version", "last_version_flashed")),
    *(Field(name, IDENTITY_SINCE) for name in ("vendor", "model", "serial_number")),
)


def components(session: Session, node: Node) -> Sequence[FirmwareComponent]:
    """The components of ``node``, by name."""
    query = select(FirmwareComponent).where(FirmwareComponent.node_id == node.id).order_by(FirmwareComponent.component)
    return session.scalars(query).all()


def keep_components(session: Session, node: Node, firmware: Mapping[str, Flashed | Firmware]) -> None:
    """Store the components of ``node`` (its row locked) that were updated or read."""
    known = {each.component: each for each in components(session, node)}
    for name, each in firmware.items():
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


def _is_known(component: FirmwareComponent, firmware: Firmware) -> bool:
    row = (component.current_version, component.vendor, component.model, component.serial_number)
    return row == (firmware.version, firmware.vendor, firmware.model, firmware.serial_number)
