"""/resource_providers/{uuid}/aggregates"""

from flask import Response
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from baremetal_sched.placement import aggregates, provider_parts
from baremetal_sched.placement.api.call import PlacementCall
from baremetal_sched.placement.locked import lock
from baremetal_sched.placement.schemas import associations

GENERATION_SINCE = 19


def list_aggregates(call: PlacementCall, connection: Connection, uuid: str) -> Response:
    """GET /resource_providers/{uuid}/aggregates"""
    generation, uuids = provider_parts.aggregates(connection, uuid)
    return _answer(call, uuids, generation)


def replace_aggregates(call: PlacementCall, session: Session, uuid: str) -> Response:
    """PUT /resource_providers/{uuid}/aggregates"""
    provider = lock(session, uuid)
    if call.version < GENERATION_SINCE:
        wanted, generation = call.body(associations.AGGREGATES_ONLY), None
    else:
        body = call.body(associations.AGGREGATES)
        wanted, generation = body["aggregates"], body["resource_provider_generation"]
    aggregates.replace(session, provider, wanted, generation)
    return _answer(call, wanted, provider.generation)


def _answer(call: PlacementCall, uuids: list[str], generation: int) -> Response:
    document: dict[str, object] = {"aggregates": uuids}
    if call.version >= GENERATION_SINCE:
        document["resource_provider_generation"] = generation
    return call.answer(document)
