"""The requested allocations of a consumer."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


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
