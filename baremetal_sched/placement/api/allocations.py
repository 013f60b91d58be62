"""/allocations and /reshaper"""

import uuid as uuid_module
from typing import Any

from flask import Response
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from baremetal_sched.documents.schema import is_tolerant_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.placement import allocations, consumers, providers, reshaper
from baremetal_sched.placement.api.call import PlacementCall
from baremetal_sched.placement.consumers import ConsumerWrite, Unset
from baremetal_sched.placement.inventories import InventoryValues
from baremetal_sched.placement.reshaper import ReshapedState
from baremetal_sched.placement.schemas.allocations import (
    CONSUMER_GENERATION_SINCE,
    CONSUMER_TYPE_SINCE,
    KEYED_SINCE,
    post_schema,
    put_schema,
    reshape_schema,
)
from baremetal_sched.placement.usages import UNKNOWN
from baremetal_sched.web.responses import empty_response


def replace_allocations(call: PlacementCall, connection: Connection, consumer: str) -> Response:
    """PUT /allocations/{consumer}"""
    if not is_tolerant_uuid(consumer):
        raise InvalidValue(message=f"Malformed consumer_uuid: {consumer}")
    body = call.body(put_schema(call.version))
    request = _write(call, str(uuid_module.UUID(consumer)), body)
    allocations.write(connection, [request], "Unable to allocate inventory for consumer {consumer}:")
    return empty_response(204)


def write_allocations(call: PlacementCall, connection: Connection) -> Response:
    """POST /allocations"""
    requests = writes_of(call, call.body(post_schema(call.version)))
    allocations.write(connection, requests, "Unable to allocate inventory")
    return empty_response(204)


def writes_of(call: PlacementCall, bodies: dict[str, Any]) -> list[ConsumerWrite]:
    """Return the writes for each consumer."""
    return [_write(call, consumer, body) for consumer, body in bodies.items()]


def _write(call: PlacementCall, consumer: str, body: dict[str, Any]) -> ConsumerWrite:
    options = call.settings.placement
    return ConsumerWrite(
        uuid=consumer,
        allocations=_amounts(body["allocations"]),
        project_id=body.get("project_id", options.incomplete_consumer_project_id),
        user_id=body.get("user_id", options.incomplete_consumer_user_id),
        generation=body.get("consumer_generation", Unset.ANY_GENERATION),
        consumer_type=body.get("consumer_type", Unset.KEEP_TYPE),
    )


def _amounts(given: Any) -> dict[str, dict[str, int]]:
    """Return amounts by class by provider from either form of a body: the older list, or the object keyed by
    provider."""
    if isinstance(given, list):
        given = {item["resource_provider"]["uuid"]: item for item in given}
    return {
        provider: {name: int(amount) for name, amount in item["resources"].items()} for provider, item in given.items()
    }


def show_allocations(call: PlacementCall, session: Session, consumer: str) -> Response:
    """GET /allocations/{consumer}"""
    rows = consumers.held_by(session, consumer)
    held: dict[str, dict[str, Any]] = {}
    for row in rows:
        provider = held.setdefault(row.provider, {"resources": {}, "generation": row.provider_generation})
        provider["resources"][row.resource_class] = row.used
    document: dict[str, Any] = {"allocations": held}
    if rows:
        document |= _consumer(call.version, rows[0])
    return call.answer(document, max((row.created_at for row in rows), default=None))


def _consumer(version: int, row: Any) -> dict[str, Any]:
    document: dict[str, Any] = {}
    if version >= KEYED_SINCE:
        document |= {"project_id": row.project_id, "user_id": row.user_id}
    if version >= CONSUMER_GENERATION_SINCE:
        document["consumer_generation"] = row.generation
    if version >= CONSUMER_TYPE_SINCE:
        document["consumer_type"] = row.consumer_type or UNKNOWN
    return document


def delete_allocations(call: PlacementCall, connection: Connection, consumer: str) -> Response:
    """DELETE /allocations/{consumer}"""
    allocations.release(connection, consumer)
    return empty_response(204)


def list_provider_allocations(call: PlacementCall, session: Session, uuid: str) -> Response:
    """GET /resource_providers/{uuid}/allocations"""
    provider = providers.find(session, uuid)
    rows = consumers.held_of(session, provider["id"])
    holders: dict[str, dict[str, Any]] = {}
    for row in rows:
        holder = holders.setdefault(row.consumer, {"resources": {}})
        holder["resources"][row.resource_class] = row.used
        if call.version >= CONSUMER_GENERATION_SINCE:
            holder["consumer_generation"] = row.generation
    document = {"allocations": holders, "resource_provider_generation": provider["generation"]}
    return call.answer(document, max((row.created_at for row in rows), default=None))


def reshape(call: PlacementCall, session: Session) -> Response:
    """POST /reshaper"""
    body = call.body(reshape_schema(call.version))
    shapes = {
        uuid: ReshapedState(
            {name: InventoryValues.of(document) for name, document in item["inventories"].items()},
            item["resource_provider_generation"],
        )
        for uuid, item in body["inventories"].items()
    }
    reshaper.reshape(session, shapes, writes_of(call, body["allocations"]))
    return empty_response(204)
