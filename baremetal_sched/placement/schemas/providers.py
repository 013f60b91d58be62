"""Bodies about resource providers."""

from functools import cache

from baremetal_sched.documents.schema import SchemaDict
from baremetal_sched.placement.schemas.common import UUID, closed

TREES_SINCE = 14

_NAME: SchemaDict = {"type": "string", "maxLength": 200}
_PARENT: SchemaDict = {"anyOf": [UUID, {"type": "null"}]}


@cache
def create(version: int) -> dict[str, object]:
    """POST /resource_providers"""
    properties = {"name": _NAME, "uuid": UUID}
    if version >= TREES_SINCE:
        properties["parent_provider_uuid"] = _PARENT
    return closed(properties, ("name",))


@cache
def update(version: int) -> dict[str, object]:
    """PUT /resource_providers/{uuid}"""
    properties = {"name": _NAME}
    if version >= TREES_SINCE:
        properties["parent_provider_uuid"] = _PARENT
    return closed(properties, ("name",))
