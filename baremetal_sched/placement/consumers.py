"""The requested allocations of a consumer, and what consumers have."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Allocation, Consumer, ResourceClass, ResourceProvider


class Unset(Enum):
    """Marks what an older client cannot specify."""

    ANY_GENERATION = "the consumer's generation is not checked"
    KEEP_TYPE = "the consumer's type stays as it is"


@dataclass
class ConsumerWrite:
    """The future allocations of a consumer: amounts by class by provider (UUID). Without any, the consumer is freed."""

    uuid: str
    allocations: Mapping[str, Mapping[str, int]]
    project_id: str
    user_id: str
    generation: int | Unset | None = Unset.ANY_GENERATION
    consumer_type: str | Unset = Unset.KEEP_TYPE


def amounts_held_by(session: Session, consumer_uuids: Iterable[str]) -> dict[str, dict[str, dict[str, int]]]:
    """Return the amounts that the consumers have, by class by provider (UUID) by consumer (UUID)."""
    rows = session.execute(
        select(Consumer.uuid, ResourceProvider.uuid, ResourceClass.name, Allocation.used)
        .select_from(Consumer)
        .join(Allocation, Allocation.consumer_id == Consumer.id)
        .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
        .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
        .where(Consumer.uuid.in_(list(consumer_uuids)))
        .order_by(Allocation.provider_id, Allocation.resource_class_id)
    )
    held: dict[str, dict[str, dict[str, int]]] = {}
    for consumer, provider, resource_class, used in rows:
        held.setdefault(consumer, {}).setdefault(provider, {})[resource_class] = used
    return held
