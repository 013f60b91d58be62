"""The requested allocations of a consumer, what consumers have, and UUIDs that are reserved for requests that wait.

A UUID belongs to the row of a consumer. A request that waits for a machine has one without allocations, of
generation ``RESERVED``, so that no other request and no client of the placement API takes its UUID.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import UpdateBase

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.compiled import insert_if_missing
from baremetal_sched.db.models import Allocation, Consumer, ProviderTrait, ResourceClass, ResourceProvider, Trait
from baremetal_sched.db.results import new_id, require_changed, rows_changed
from baremetal_sched.db.sql_functions import as_digits, concat
from baremetal_sched.db.types import Query, Rows
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.tables import CLASSES, CONSUMERS

#: The generation of a consumer whose UUID is reserved, and of one that has what it was given first.
RESERVED, FIRST = 0, 1

#: The kind of consumers that clients of the placement API make.
PLACEMENT = "placement"


class Unset(Enum):
    """Marks what an older client cannot specify."""

    ANY_GENERATION = "the consumer's generation is not checked"
    KEEP_TYPE = "the consumer's type stays as it is"


@dataclass
class ConsumerWrite:
    """The future allocations of a consumer: amounts by class by provider (UUID). Without any, the consumer is freed.

    ``kind`` is the kind of the request that they are for. A ``generation`` of ``RESERVED`` is that of a request which
    waited. ``end``: that of a new consumer. ``calendars``: of machines (UUIDs of providers) that are closed to others,
    but not to this request: the ``calendar`` at which that was looked up, which the claim compares.
    """

    uuid: str
    allocations: Mapping[str, Mapping[str, int]]
    project_id: str
    user_id: str
    generation: int | Unset | None = Unset.ANY_GENERATION
    consumer_type: str | Unset = Unset.KEEP_TYPE
    kind: str = PLACEMENT
    end: End | None = None
    calendars: Mapping[str, int] = field(default_factory=dict)

    def type_beside(self, present: str | None) -> str | None:
        """Return the future type of the consumer; ``present`` is what it has."""
        return present if isinstance(self.consumer_type, Unset) else self.consumer_type

    @cached_property
    def usages(self) -> dict[str, str] | None:
        """The parameters of ``OF_SINGLE`` for a new consumer, None unless it gets one amount of one class."""
        amounts = [item for named in self.allocations.values() for item in named.items()]
        return _given_of_single(self.type_beside(None), *amounts[0]) if len(amounts) == 1 else None


# -- texts of what consumers have (see ``usages``) ---------------------------------------------------------------------

#: Maximum length of a text; no id in it is larger.
LONGEST = 500
_LARGEST_ID = 2**31 - 1

KEEP = update(CONSUMERS).where(CONSUMERS.c.id == bindparam("consumer")).values(usages=bindparam("text"))


def text_of(consumer_type: str | None, amounts: Mapping[int, int]) -> str | None:
    """Return the text of a consumer that has these amounts, by class id."""
    if not amounts:
        return ""
    text = f"{consumer_type or ''}:" + "".join(f"{class_id}={amounts[class_id]}," for class_id in sorted(amounts))
    return text if len(text) <= LONGEST and text.isascii() else None


#: The same in SQL, for one amount of one class, which is known by its name.
OF_SINGLE = concat(
    bindparam("usages_type"),
    as_digits(select(CLASSES.c.id).where(CLASSES.c.name == bindparam("resource_class")).scalar_subquery()),
    bindparam("usages_amount"),
)


def _given_of_single(consumer_type: str | None, resource_class: str, amount: int) -> dict[str, str] | None:
    """Return the parameters of ``OF_SINGLE``; None if the text may be too long."""
    if text_of(consumer_type, {_LARGEST_ID: amount}) is None:
        return None
    kind = f"{consumer_type or ''}:"
    return {"usages_type": kind, "resource_class": resource_class, "usages_amount": f"={amount},"}


# -- rows --------------------------------------------------------------------------------------------------------------

_HAS_UUID = CONSUMERS.c.uuid == bindparam("consumer")
#: SQL condition: its UUID is reserved for a request that waits.
IS_RESERVED = and_(CONSUMERS.c.generation == RESERVED, CONSUMERS.c.request_kind.is_not(None))
_WHOSE = select(CONSUMERS.c.generation, CONSUMERS.c.request_kind).where(_HAS_UUID)
_NEW = insert(CONSUMERS)
_TAKE = update(CONSUMERS).where(_HAS_UUID, IS_RESERVED).values(generation=FIRST)


def reserve(connection: Connection, write: ConsumerWrite) -> bool:
    """Reserve the UUID for a request that begins to wait; return False if it is taken."""
    row = {
        "uuid": write.uuid,
        "project_id": write.project_id,
        "user_id": write.user_id,
        "consumer_type": write.type_beside(None),
        "generation": RESERVED,
        "request_kind": write.kind,
        "created_at": utcnow(),
        "usages": "",
    }
    return insert_if_missing(connection, CONSUMERS, row) is not None


def enter(connection: Connection, write: ConsumerWrite) -> int | None:
    """Enter the consumer of a write: one that waited, or a new one. Return its id, None if it is there already."""
    taken = take_reserved(connection, write)
    return enter_new(connection, write) if taken is None else taken


def enter_new(connection: Connection, write: ConsumerWrite) -> int | None:
    """Enter the consumer of a write that expects none, and that gives it something; return its id. None if there is one
    with its UUID, or if the write is another one."""
    if write.generation is not None or not any(write.allocations.values()):
        return None
    given = write.usages
    row = {**new_row(write), **(given or {})}
    return insert_if_missing(connection, CONSUMERS, row, usages=OF_SINGLE if given else None)


def new_row(write: ConsumerWrite) -> dict[str, Any]:
    """Return the columns of a new consumer, except its text."""
    known = {"uuid": write.uuid, "generation": FIRST, "created_at": utcnow(), "request_kind": write.kind}
    return {**known, **_values(write)}


def _values(write: ConsumerWrite) -> dict[str, Any]:
    values: dict[str, Any] = {"project_id": write.project_id, "user_id": write.user_id}
    if not isinstance(write.consumer_type, Unset):
        values["consumer_type"] = write.consumer_type
    return values


def save(connection: Connection, write: ConsumerWrite, present: Any, text: str | None) -> int:
    """Save the consumer of a write, with its text, and return its id. ``present``: its row, None if it is new. Raises
    StaleDataError if the row has changed."""
    values = {**_values(write), "usages": text}
    if present is None:
        return new_id(connection.execute(_NEW, {**new_row(write), **values}))
    statement = (
        update(CONSUMERS)
        .where(CONSUMERS.c.id == present.id, CONSUMERS.c.generation == present.generation)
        .values(generation=present.generation + 1, updated_at=utcnow(), **values)
    )
    require_changed(connection.execute(statement), "the consumer was changed")
    row_id: int = present.id
    return row_id


def take_reserved(connection: Connection, write: ConsumerWrite) -> int | None:
    """Make the consumer of a request that waited one with allocations; return its id. None if the write is of no such
    request, or if it began to wait while a release before this one might serve the database: then it has no consumer.
    """
    if write.kind == PLACEMENT or write.generation != RESERVED:
        return None
    given, has_returning = write.usages or {}, connection.dialect.name in ("sqlite", "postgresql")
    result = compiled.change(connection, _take(bool(given), has_returning), {"consumer": write.uuid, **given})
    taken: int | None = result.scalar() if has_returning else result.lastrowid if rows_changed(result) else None
    if taken is None:
        write.generation = None
    return taken


@lru_cache
def _take(is_single: bool, has_returning: bool) -> UpdateBase:
    taken = _TAKE.values(usages=OF_SINGLE if is_single else None)
    # MariaDB has no UPDATE … RETURNING (seen on 10.11).
    return taken.returning(CONSUMERS.c.id) if has_returning else taken.values(id=func.last_insert_id(CONSUMERS.c.id))


def free_uuids(session: Session, uuids: Collection[str]) -> None:
    """Delete the reservations of requests that stopped waiting and got nothing."""
    session.connection().execute(delete(CONSUMERS).where(CONSUMERS.c.uuid.in_(uuids), IS_RESERVED))


@dataclass(frozen=True)
class Taken:
    """The owner of a UUID: a consumer, or a request of this ``kind`` that waits."""

    generation: int
    kind: str | None

    @property
    def waits(self) -> bool:
        """Return whether it is a request that waits."""
        return self.generation == RESERVED and self.kind is not None


def find(session: Session, uuid: str) -> Taken | None:
    """Return the owner of this UUID, None if it is free."""
    found = session.connection().execute(_WHOSE, {"consumer": uuid}).first()
    return None if found is None else Taken(*found)


def note_kind(session: Session, consumers: Collection[int], kind: str) -> None:
    """Note the kind of the request that consumers (ids) were made for, unless it is known. Earlier releases, and what
    was moved in, do not have it."""
    is_unknown = Consumer.id.in_(consumers), Consumer.request_kind.is_(None)
    session.execute(update(Consumer).where(*is_unknown).values(request_kind=kind))


def belongs_to_kind(kind: str) -> ColumnElement[bool]:
    """SQL condition on Consumer: it was made for a request of this kind. (Earlier releases do not note the kind.)"""
    return or_(Consumer.request_kind == kind, Consumer.request_kind.is_(None))


def amounts_held_by(
    session: Session, consumers: Collection[str] | Query, kind: str | None = None
) -> dict[str, dict[str, dict[str, int]]]:
    """Return the amounts that the consumers (UUIDs, or a query of them) of requests of this kind (None: of any) have,
    by class by provider (UUID) by consumer (UUID)."""
    rows = session.execute(
        select(Consumer.uuid, ResourceProvider.uuid, ResourceClass.name, Allocation.used)
        .select_from(Consumer)
        .join(Allocation, Allocation.consumer_id == Consumer.id)
        .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
        .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
        .where(Consumer.uuid.in_(consumers), *(() if kind is None else (belongs_to_kind(kind),)))
        .order_by(Allocation.provider_id, Allocation.resource_class_id)
    )
    held: dict[str, dict[str, dict[str, int]]] = {}
    for consumer, provider, resource_class, used in rows:
        held.setdefault(consumer, {}).setdefault(provider, {})[resource_class] = used
    return held


def held_by(session: Session, consumer_uuid: str) -> Rows:
    """Return the consumer's allocations: provider uuid and generation, class name, used, and the consumer's columns."""
    return session.execute(
        select(
            ResourceProvider.uuid.label("provider"),
            ResourceProvider.generation.label("provider_generation"),
            ResourceClass.name.label("resource_class"),
            Allocation.used,
            Allocation.created_at,
            Consumer.project_id,
            Consumer.user_id,
            Consumer.generation,
            Consumer.consumer_type,
        )
        .join(Consumer, Consumer.id == Allocation.consumer_id)
        .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
        .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
        .where(Consumer.uuid == consumer_uuid)
        .order_by(Allocation.provider_id, Allocation.resource_class_id)
    ).all()


def traits_held_by(session: Session, consumer_uuid: str) -> set[str]:
    """Return the traits of the providers from which the consumer has allocations."""
    return set(
        session.scalars(
            select(Trait.name)
            .distinct()
            .join(ProviderTrait, ProviderTrait.trait_id == Trait.id)
            .join(Allocation, Allocation.provider_id == ProviderTrait.provider_id)
            .join(Consumer, Consumer.id == Allocation.consumer_id)
            .where(Consumer.uuid == consumer_uuid)
        )
    )


def held_of(session: Session, provider_id: int) -> Rows:
    """Return the provider's allocations: consumer uuid and generation, class name, used, created_at."""
    return session.execute(
        select(
            Consumer.uuid.label("consumer"),
            Consumer.generation,
            ResourceClass.name.label("resource_class"),
            Allocation.used,
            Allocation.created_at,
        )
        .join(Consumer, Consumer.id == Allocation.consumer_id)
        .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
        .where(Allocation.provider_id == provider_id)
        .order_by(Allocation.consumer_id, Allocation.resource_class_id)
    ).all()
