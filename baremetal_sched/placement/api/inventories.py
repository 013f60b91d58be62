"""/resource_providers/{uuid}/inventories"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.errors import InventoryNotFound
from baremetal_sched.placement import inventories, providers
from baremetal_sched.placement.api.call import PlacementCall
from baremetal_sched.web.responses import json_response


def list_inventories(call: PlacementCall, session: Session, uuid: str) -> Response:
    """GET /resource_providers/{uuid}/inventories"""
    provider = providers.find(session, uuid)
    rows = inventories.list_inventories(session, provider["id"])
    document = {
        "resource_provider_generation": provider["generation"],
        "inventories": {row.name: _render(row) for row in rows},
    }
    if not rows:
        # Nothing was ever modified: the cache headers without a date.
        response = call.with_cache_headers(json_response(document))
        response.headers.pop("Last-Modified", None)
        return response
    return call.answer(document, max(row.updated_at or row.created_at for row in rows))


def show_inventory(call: PlacementCall, session: Session, uuid: str, resource_class: str) -> Response:
    """GET /resource_providers/{uuid}/inventories/{resource_class}"""
    provider = providers.find(session, uuid)
    for row in inventories.list_inventories(session, provider["id"]):
        if row.name == resource_class:
            document = _render(row) | {"resource_provider_generation": provider["generation"]}
            return call.answer(document, row.updated_at or row.created_at)
    raise InventoryNotFound(resource_class=resource_class, provider=uuid)


def _render(row: Any) -> dict[str, Any]:
    return {part: getattr(row, part) for part in inventories.PARTS}
