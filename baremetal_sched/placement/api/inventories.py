"""/resource_providers/{uuid}/inventories"""

from dataclasses import asdict
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.db.types import Reader
from baremetal_sched.errors.placement import InventoryNotFound
from baremetal_sched.placement import inventories, provider_parts
from baremetal_sched.placement.api.call import PlacementCall
from baremetal_sched.placement.inventories import InventoryValues
from baremetal_sched.placement.locked import lock
from baremetal_sched.placement.schemas import inventories as schemas
from baremetal_sched.web.responses import empty_response, json_response

FULLY_RESERVED_SINCE = 26


def list_inventories(call: PlacementCall, reader: Reader, uuid: str) -> Response:
    """GET /resource_providers/{uuid}/inventories"""
    generation, rows = provider_parts.inventories(reader, uuid)
    found = {row.name: _render(row) for row in rows}
    document = {"resource_provider_generation": generation, "inventories": found}
    if not rows:
        # There is no time of modification: the cache headers without a date.
        response = call.with_cache_headers(json_response(document))
        response.headers.pop("Last-Modified", None)
        return response
    return call.answer(document, max(row.updated_at or row.created_at for row in rows))


def show_inventory(call: PlacementCall, reader: Reader, uuid: str, resource_class: str) -> Response:
    """GET /resource_providers/{uuid}/inventories/{resource_class}"""
    generation, rows = provider_parts.inventories(reader, uuid)
    for row in rows:
        if row.name == resource_class:
            document = _render(row) | {"resource_provider_generation": generation}
            return call.answer(document, row.updated_at or row.created_at)
    raise InventoryNotFound(resource_class=resource_class, provider=uuid)


def create_inventory(call: PlacementCall, session: Session, uuid: str) -> Response:
    """POST /resource_providers/{uuid}/inventories"""
    provider = lock(session, uuid)
    body = call.body(schemas.CREATE)
    resource_class, stock = body["resource_class"], InventoryValues.of(body)
    inventories.add(session, provider, resource_class, stock, may_be_full=_may_be_full(call))
    response = call.answer(_document(stock, provider.generation))
    response.status_code = 201
    response.headers.extend(call.location(f"/resource_providers/{uuid}/inventories/{resource_class}"))
    return response


def update_inventory(call: PlacementCall, session: Session, uuid: str, resource_class: str) -> Response:
    """PUT /resource_providers/{uuid}/inventories/{resource_class}"""
    provider = lock(session, uuid)
    body = call.body(schemas.UPDATE)
    stock, generation = InventoryValues.of(body), body["resource_provider_generation"]
    inventories.change(session, provider, resource_class, stock, generation, may_be_full=_may_be_full(call))
    if provider.mirrors_node:  # which may have stored something else than was written
        return show_inventory(call, session, uuid, resource_class)
    return call.answer(_document(stock, provider.generation))


def replace_inventories(call: PlacementCall, session: Session, uuid: str) -> Response:
    """PUT /resource_providers/{uuid}/inventories"""
    provider = lock(session, uuid)
    body = call.body(schemas.REPLACE)
    stocks = {name: InventoryValues.of(document) for name, document in body["inventories"].items()}
    generation = body["resource_provider_generation"]
    written = inventories.replace(session, provider, stocks, generation, may_be_full=_may_be_full(call))
    if not written:
        return list_inventories(call, session, uuid)
    found = {name: asdict(stock) for name, stock in written.items()}
    return call.answer({"resource_provider_generation": provider.generation, "inventories": found})


def delete_inventory(call: PlacementCall, session: Session, uuid: str, resource_class: str) -> Response:
    """DELETE /resource_providers/{uuid}/inventories/{resource_class}"""
    inventories.remove_one(session, lock(session, uuid), resource_class)
    return empty_response(204)


def delete_inventories(call: PlacementCall, session: Session, uuid: str) -> Response:
    """DELETE /resource_providers/{uuid}/inventories"""
    inventories.remove_all(session, lock(session, uuid))
    return empty_response(204)


def _may_be_full(call: PlacementCall) -> bool:
    return call.version >= FULLY_RESERVED_SINCE


def _document(stock: InventoryValues, generation: int) -> dict[str, Any]:
    return {**asdict(stock), "resource_provider_generation": generation}


def _render(row: Any) -> dict[str, Any]:
    return {part: getattr(row, part) for part in provider_parts.INVENTORY_FIELDS}
