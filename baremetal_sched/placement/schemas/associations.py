"""Bodies about aggregates, traits and resource classes."""

from baremetal_sched.documents.schema import SchemaDict
from baremetal_sched.placement.schemas.common import UUID, closed

_GENERATION: SchemaDict = {"type": "integer"}

#: PUT …/aggregates, before it knew generations
AGGREGATES_ONLY: SchemaDict = {"type": "array", "items": UUID, "uniqueItems": True}

#: PUT …/aggregates since 1.19
AGGREGATES = closed(
    {"aggregates": AGGREGATES_ONLY, "resource_provider_generation": _GENERATION},
    ("aggregates", "resource_provider_generation"),
)

#: PUT …/traits
TRAITS = closed(
    {
        "traits": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 255}},
        "resource_provider_generation": _GENERATION,
    },
    ("traits", "resource_provider_generation"),
)

_CUSTOM_CLASS: SchemaDict = {"type": "string", "pattern": "^CUSTOM_[A-Z0-9_]+$", "minLength": 1, "maxLength": 255}

#: POST /resource_classes, and PUT of one before 1.7
RESOURCE_CLASS = closed({"name": _CUSTOM_CLASS}, ("name",))
