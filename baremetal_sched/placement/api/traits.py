"""/traits and /resource_providers/{uuid}/traits"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from flask import Response
from sqlalchemy import Row
from sqlalchemy.orm import Session

from baremetal_sched.db.types import Reader, Rows
from baremetal_sched.errors.placement import BadQuery, TraitNotFound
from baremetal_sched.placement import provider_parts, query_values, traits
from baremetal_sched.placement.api.call import PlacementCall
from baremetal_sched.placement.locked import lock
from baremetal_sched.placement.schemas import associations
from baremetal_sched.web.responses import empty_response

_ASSOCIATED = {"true": True, "false": False}


def list_traits(call: PlacementCall, session: Session) -> Response:
    """GET /traits"""
    values = call.checked_query(query_values.TRAITS_SCHEMA)
    operator, argument = _parse_name(values.get("name"))
    associated = values.get("associated")
    if associated is not None and associated.lower() not in _ASSOCIATED:
        raise BadQuery(message='The query parameter "associated" only accepts "true" or "false"')
    rows = traits.list_traits(
        session,
        names=argument.split(",") if operator == "in" else None,
        prefix=argument if operator == "startswith" else None,
        associated=_ASSOCIATED[associated.lower()] if associated is not None else None,
    )
    return call.answer({"traits": [row.name for row in rows]}, _newest(rows))


def _parse_name(text: str | None) -> tuple[str, str]:
    if text is None:
        return "", ""
    operator, colon, argument = text.partition(":")
    if not colon:
        raise BadQuery(
            message="Badly formatted name parameter. Expected name query string parameter in form: "
            f'?name=[in|startswith]:[name1,name2|prefix]. Got: "{text}"'
        )
    return operator, argument


def show_trait(call: PlacementCall, session: Session, name: str) -> Response:
    """GET /traits/{name}"""
    rows = traits.list_traits(session, names=[name])
    if not rows:
        raise TraitNotFound(traits=name)
    return call.with_cache_headers(empty_response(204), _newest(rows))


def list_provider_traits(call: PlacementCall, reader: Reader, uuid: str) -> Response:
    """GET /resource_providers/{uuid}/traits"""
    return _answer(call, *provider_parts.traits(reader, uuid))


def _answer(call: PlacementCall, generation: int, rows: Rows) -> Response:
    document = {"traits": [row.name for row in rows], "resource_provider_generation": generation}
    return call.answer(document, _newest(rows))


def put_trait(call: PlacementCall, session: Session, name: str) -> Response:
    """PUT /traits/{name}"""
    status = 201 if traits.ensure(session, name) else 204
    (row,) = traits.list_traits(session, names=[name])
    return call.with_cache_headers(empty_response(status, call.location(f"/traits/{name}")), row.created_at)


def delete_trait(call: PlacementCall, session: Session, name: str) -> Response:
    """DELETE /traits/{name}"""
    traits.remove(session, name)
    return empty_response(204)


def replace_provider_traits(call: PlacementCall, session: Session, uuid: str) -> Response:
    """PUT /resource_providers/{uuid}/traits"""
    body = call.body(associations.TRAITS)
    provider = lock(session, uuid)
    rows = traits.replace(session, provider, body["traits"], body["resource_provider_generation"])
    return list_provider_traits(call, session, uuid) if rows is None else _answer(call, provider.generation, rows)


def delete_provider_traits(call: PlacementCall, session: Session, uuid: str) -> Response:
    """DELETE /resource_providers/{uuid}/traits"""
    traits.remove_all(session, lock(session, uuid))
    return empty_response(204)


def _newest(rows: Sequence[Row[Any]]) -> datetime | None:
    return max((row.created_at for row in rows), default=None)
