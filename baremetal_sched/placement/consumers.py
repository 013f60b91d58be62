"""What a consumer is to hold, as a client writes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Unset(Enum):
    """What an older client does not say."""

    ANY_GENERATION = "the consumer's generation is not checked"
    KEEP_TYPE = "the consumer's type stays as it is"


@dataclass
class ConsumerWrite:
    """What a consumer is to hold from now on: amounts by class by provider (UUID). Nothing frees it."""

    uuid: str
    allocations: Mapping[str, Mapping[str, int]]
    project_id: str
    user_id: str
    generation: int | Unset | None = Unset.ANY_GENERATION
    consumer_type: str | Unset = Unset.KEEP_TYPE
