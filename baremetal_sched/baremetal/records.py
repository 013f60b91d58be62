"""Common operations on single rows of every resource: finding, checking keys, recording a change."""

import uuid as uuid_module
from collections.abc import Mapping
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.paging import Missing
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.baremetal import AlreadyExists

Entity = TypeVar("Entity")


def named(model: Any, ident: str) -> ColumnElement[bool]:
    """Return the condition that the row has this UUID, or, if ``ident`` is not a UUID, this name."""
    canonical = canonical_uuid(ident)
    condition: ColumnElement[bool] = model.name == ident if canonical is None else model.uuid == canonical
    return condition


def uuid_of(session: Session, model: Any, ident: str, missing: Missing) -> str:
    """The UUID of the row that ``ident`` names. Raises what ``missing`` makes."""
    uuid: str | None = session.scalar(select(model.uuid).where(named(model, ident)))
    if uuid is None:
        raise missing(ident)
    return uuid


def id_of(session: Session, model: Any, ident: str, missing: Missing, *conditions: ColumnElement[bool]) -> int:
    """The id of the row that ``ident`` names, if the conditions hold. Raises what ``missing`` makes."""
    found: int | None = session.scalar(select(model.id).where(named(model, ident), *conditions))
    if found is None:
        raise missing(ident)
    return found


def find_for_change(session: Session, model: type[Entity], ident: str, missing: Missing) -> Entity:
    """The row that ``ident`` names, locked until the transaction ends. Raises what ``missing`` makes."""
    entity = session.scalars(select(model).where(named(model, ident)).with_for_update()).first()
    if entity is None:
        raise missing(ident)
    return entity


def require_free(session: Session, column: Any, value: Any, taken: SchedulerError) -> None:
    """Raise ``taken`` if a row has ``value`` in ``column``. The unique key decides; this is for the message."""
    if value is not None and session.scalar(select(exists().where(column == value))):
        raise taken


#: The words of messages for columns that are called otherwise.
_WORDS = {"address": "MAC address", "uuid": "UUID"}


def require_keys_free(session: Session, values: Mapping[str, Any], thing: str, *columns: Any) -> None:
    """Raise AlreadyExists, about a ``thing`` (for example "A port"), if a row has one of ``values`` in one of these
    columns."""
    for column in columns:
        value = values.get(column.key)
        taken = AlreadyExists(thing=thing, key=_WORDS.get(column.key, column.key), value=value)
        require_free(session, column, value, taken)


def new(session: Session, model: type[Entity], values: Mapping[str, Any]) -> Entity:
    """Return a new row with these values, without the ones that are None, and with a new UUID unless one is given."""
    present = {name: value for name, value in values.items() if value is not None}
    entity = model(**{"uuid": str(uuid_module.uuid4()), "created_at": utcnow(), **present})
    session.add(entity)
    return entity


def change(entity: Any, changed: Mapping[str, Any]) -> None:
    """Set the changed values, and the time of the change."""
    for name, value in changed.items():
        setattr(entity, name, value)
    if changed:
        entity.updated_at = utcnow()
