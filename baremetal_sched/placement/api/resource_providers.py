"""/resource_providers"""

import uuid as uuid_module
from collections.abc import Mapping
from typing import Any

import orjson
from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.db.types import Rows
from baremetal_sched.documents.json_template import Template, part, value
from baremetal_sched.errors.placement import TraitNotFound
from baremetal_sched.placement import providers, query_values, tree
from baremetal_sched.placement.api.call import PlacementCall
from baremetal_sched.placement.api.errors import UnknownTraitInQuery
from baremetal_sched.placement.candidates.request.query import RequestGroup, check_size
from baremetal_sched.placement.providers import ProviderFilters
from baremetal_sched.placement.schemas import providers as schemas
from baremetal_sched.web.responses import empty_response

AGGREGATES_SINCE = 1
TRAITS_SINCE = 6
ALLOCATIONS_SINCE = 11
ANSWERED_SINCE = 20
TREES_SINCE = 14
MOVES_SINCE = 37

#: A provider's links besides ``self``, with the first microversion of each.
_LINKS = {
    "inventories": 0,
    "usages": 0,
    "aggregates": AGGREGATES_SINCE,
    "traits": TRAITS_SINCE,
    "allocations": ALLOCATIONS_SINCE,
}


def list_providers(call: PlacementCall, session: Session) -> Response:
    """GET /resource_providers"""
    values = call.checked_query(query_values.providers_schema(call.version))
    repeated = query_values.all_values(call.query)
    group = RequestGroup("", in_tree=values.get("in_tree"))
    if "member_of" in values:
        group.aggregates = query_values.parse_member_of("member_of", repeated["member_of"], call.version)
    if "required" in values:
        group.traits = query_values.parse_required(repeated["required"], call.version)
    if "resources" in values:
        group.resources = query_values.parse_resources(values["resources"])
    check_size([group])
    filters = ProviderFilters(values.get("name"), values.get("uuid"), group)
    try:
        rows, modified = providers.list_providers(session, filters)
    except TraitNotFound as error:
        raise UnknownTraitInQuery(message=f'Invalid trait(s) in "required" parameter: {error}') from None
    return call.answer({"resource_providers": _render_all(call, rows)}, modified)


def _render_all(call: PlacementCall, rows: Rows) -> orjson.Fragment:
    """Return the documents of many providers: a list may have tens of thousands."""
    document = {
        "uuid": part(0),
        "name": value(1),
        "generation": value(2),
        "parent_provider_uuid": value(3),
        "root_provider_uuid": part(4),
    }
    fill = Template(render(call, document)).fill
    texts = [
        fill(uuid, name, str(generation), f'"{parent}"' if parent else "null", root or uuid)
        for uuid, name, generation, parent, root, _ in rows
    ]
    return orjson.Fragment(f"[{','.join(texts)}]")


def show_provider(call: PlacementCall, session: Session, uuid: str) -> Response:
    """GET /resource_providers/{uuid}"""
    row = providers.find(session, uuid)
    return call.answer(render(call, row), row["updated_at"] or row["created_at"])


def create_provider(call: PlacementCall, session: Session) -> Response:
    """POST /resource_providers"""
    body = call.body(schemas.create(call.version))
    uuid = str(uuid_module.UUID(body["uuid"])) if "uuid" in body else str(uuid_module.uuid4())
    tree.create(session, uuid, body["name"], body.get("parent_provider_uuid"))
    location = call.location(f"/resource_providers/{uuid}")
    if call.version < ANSWERED_SINCE:
        return empty_response(201, location)
    row = providers.find(session, uuid)
    response = call.answer(render(call, row), row["updated_at"])
    response.headers.extend(location)
    return response


def update_provider(call: PlacementCall, session: Session, uuid: str) -> Response:
    """PUT /resource_providers/{uuid}"""
    providers.find(session, uuid)
    body = call.body(schemas.update(call.version))
    parent = body.get("parent_provider_uuid", tree.Parent.UNCHANGED)
    tree.save(session, uuid, body["name"], parent, may_move=call.version >= MOVES_SINCE)
    row = providers.find(session, uuid)
    return call.answer(render(call, row), row["updated_at"])


def delete_provider(call: PlacementCall, session: Session, uuid: str) -> Response:
    """DELETE /resource_providers/{uuid}"""
    tree.remove(session, uuid)
    return empty_response(204)


def render(call: PlacementCall, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of one provider."""
    document = {
        "uuid": row["uuid"],
        "name": row["name"],
        "generation": row["generation"],
        "links": _links(call, row["uuid"]),
    }
    if call.version >= TREES_SINCE:
        document["parent_provider_uuid"] = row["parent_provider_uuid"]
        document["root_provider_uuid"] = row["root_provider_uuid"]
    return document


def _links(call: PlacementCall, uuid: str) -> list[dict[str, str]]:
    path = f"{call.mount}/resource_providers/{uuid}"
    subs = [name for name, since in _LINKS.items() if call.version >= since]
    return [{"rel": "self", "href": path}, *({"rel": name, "href": f"{path}/{name}"} for name in subs)]
