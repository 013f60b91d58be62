"""Bodies about inventories."""

from baremetal_sched.documents.schema import SchemaDict
from baremetal_sched.placement.schemas.common import CLASS_NAME, INT32, closed

_GENERATION: SchemaDict = {"type": "integer"}


def _whole(minimum: int) -> dict[str, object]:
    return {"type": "integer", "minimum": minimum, "maximum": INT32}


_INVENTORY: SchemaDict = {
    "resource_provider_generation": _GENERATION,
    "total": _whole(1),
    "reserved": _whole(0),
    "min_unit": _whole(1),
    "max_unit": _whole(1),
    "step_size": _whole(1),
    "allocation_ratio": {"type": "number", "maximum": 3.40282e38},
}

#: POST …/inventories
CREATE = closed(
    {**_INVENTORY, "resource_class": {"type": "string", "pattern": CLASS_NAME}}, ("total", "resource_class")
)

#: PUT …/inventories/{class}
UPDATE = closed(_INVENTORY, ("total", "resource_provider_generation"))

_STOCK = closed(_INVENTORY, ("total",))

#: PUT …/inventories. Class names are looked up elsewhere, not checked here.
REPLACE = closed(
    {
        "resource_provider_generation": _GENERATION,
        "inventories": {
            "type": "object",
            "patternProperties": {CLASS_NAME: _STOCK},
            "additionalProperties": _STOCK,
        },
    },
    ("resource_provider_generation", "inventories"),
)
