"""Settings of the BIOS of nodes, as steps of cleaning found or made them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import BiosSetting, Node
from baremetal_sched.documents.fields import COMMON, Field, Fields
from baremetal_sched.errors.baremetal import BiosSettingNotFound
from baremetal_sched.machines.machine import BiosValue

#: Since when more than the value is known.
REGISTRY_SINCE = 74

FIELDS = Fields(
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

#: What a list shows unless all is asked for.
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


def keep(session: Session, node: Node, values: Mapping[str, BiosValue | str | None]) -> None:
    """Replace the BIOS settings of ``node`` (its row locked).

    What is known about the possible values of a setting is kept if only a value is given.
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
