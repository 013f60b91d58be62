"""The requested allocations of a consumer, what consumers have, and UUIDs that are reserved for requests that wait.

A UUID belongs to the row of a consumer. A request that waits for a machine has one without allocations, of
generation ``RESERVED``, so that no other request and no client of the placement API takes its UUID.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, func, or_, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import UpdateBase

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.insert import insert_if_missing
from baremetal_sched.db.models import Allocation, Consumer, ProviderTrait, ResourceClass, ResourceProvider, Trait
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.types import Query, Rows
from baremetal_sched.placement import usages
from baremetal_sched.placement.tables import CONSUMERS

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
    waited.
    """

    uuid: str
    allocations: Mapping[str, Mapping[str, int]]
    project_id: str
    user_id: str
    generation: int | Unset | None = Unset.ANY_GENERATION
    consumer_type: str | Unset = Unset.KEEP_TYPE
    kind: str = PLACEMENT

    def type_beside(self, present: str | None) -> str | None:
        """Return the future type of the consumer; ``present`` is what it has."""
        return present if isinstance(self.consumer_type, Unset) else self.consumer_type

    @cached_property
    def usages(self) -> dict[str, str] | None:
        """The parameters of ``usages.OF_SINGLE`` for a new consumer, None unless it gets one amount of one class."""
        amounts = [item for named in self.allocations.values() for item in named.items()]
        return usages.given_of_single(self.type_beside(None), *amounts[0]) if len(amounts) == 1 else None


_HAS_UUID = CONSUMERS.c.uuid == bindparam("consumer")
#: SQL condition: its UUID is reserved for a request that waits.
IS_RESERVED = and_(CONSUMERS.c.generation == RESERVED, CONSUMERS.c.request_kind.is_not(None))
_WHOSE = select(CONSUMERS.c.generation, CONSUMERS.c.request_kind).where(_HAS_UUID)
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


def take_reserved(connection: Connection, write: ConsumerWrite) -> int | None:
    """Make the consumer of a request that waited one with allocations; return its id, None if nothing is reserved."""
    given, has_returning = write.usages or {}, connection.dialect.name in ("sqlite", "postgresql")
    result = compiled.change(connection, _take(bool(given), has_returning), {"consumer": write.uuid, **given})
    taken: int | None = result.scalar() if has_returning else result.lastrowid if rows_changed(result) else None
    return taken


@lru_cache
def _take(is_single: bool, has_returning: bool) -> UpdateBase:
    taken = _TAKE.values(usages=usages.OF_SINGLE if is_single else None)
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


def belongs_to_kind(kind: str) -> ColumnElement[bool]:
    """SQL condition on Consumer: it was made for a request of this kind. (Earlier releases do not note the kind.)"""
    return or_(Consumer.request_kind == kind, Consumer.request_kind.is_(None))


def amounts_held_by(
    session: Session, consumers: Collection[str] | Query, kind: str
) -> dict[str, dict[str, dict[str, int]]]:
    """Return the amounts that the consumers (UUIDs, or a query of them) of requests of this kind have, by class by
    provider (UUID) by consumer (UUID)."""
    rows = session.execute(
        select(Consumer.uuid, ResourceProvider.uuid, ResourceClass.name, Allocation.used)
        .select_from(Consumer)
        .join(Allocation, Allocation.consumer_id == Consumer.id)
        .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
        .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
        .where(Consumer.uuid.in_(consumers), belongs_to_kind(kind))
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
