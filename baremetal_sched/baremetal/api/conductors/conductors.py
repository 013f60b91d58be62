"""/v1/conductors"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from flask import Response
from sqlalchemy import RowMapping, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.resources.query import PAGING, BaremetalQuery
from baremetal_sched.baremetal.api.resources.view import links
from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.db.models import Conductor
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.responses import json_response
from baremetal_sched.web.view import timestamp

_FIELDS = ("alive", "conductor_group", "created_at", "drivers", "hostname", "links", "updated_at")
_SORT_COLUMNS = {
    "id": Conductor.id,
    "hostname": Conductor.hostname,
    "conductor_group": Conductor.conductor_group,
    "created_at": Conductor.created_at,
    "updated_at": Conductor.heartbeat_at,
}


def list_conductors(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/conductors"""
    query = BaremetalQuery(call, (*PAGING, "fields", "detail"))
    names = known_names(query, _FIELDS)
    detail = query.flag("detail")
    if detail and names:
        raise InvalidValue(message="Can not specify ?detail=True and fields in the same request.")
    fields = _FIELDS if detail else names or ("hostname", "conductor_group", "alive")
    limit = query.limit()
    rows = _rows(call, session, query, limit)
    document: dict[str, Any] = {"conductors": _render(call, session, rows, fields)}
    if len(rows) == limit:
        url = f"{call.base_url}/v1/conductors"
        document["next"] = query.next_page(url, rows[-1]["hostname"], limit, None if detail else fields)
    return json_response(document)


def show_conductor(call: BaremetalCall, session: Session, hostname: str) -> Response:
    """GET /v1/conductors/{hostname}"""
    names = known_names(BaremetalQuery(call, ("fields",)), _FIELDS)
    row = conductors.find(session, hostname, call.settings.conductor.heartbeat_timeout)
    return json_response(_render(call, session, [row], names or _FIELDS)[0])


def known_names(query: BaremetalQuery, known: Sequence[str]) -> list[str]:
    """Return the fields that the request names. Raises InvalidValue for names that are not ``known``."""
    names = query.names("fields")
    for name in names:
        if name not in known:
            raise InvalidValue(message=f"Schema error: '{name}' is not one of {list(known)}")
    return names


def _rows(call: BaremetalCall, session: Session, query: BaremetalQuery, limit: int) -> list[RowMapping]:
    """The page. There are few conductors, so the marker is looked for among all of them."""
    sort_key = query.text("sort_key") or "id"
    if sort_key not in _SORT_COLUMNS:
        raise InvalidValue(message=f"The sort_key value {sort_key} is an invalid field for sorting")
    timeout = call.settings.conductor.heartbeat_timeout
    order = [_SORT_COLUMNS[sort_key], Conductor.id]
    columns = conductors.columns(timeout)
    rows: list[RowMapping] = list(
        session.execute(
            select(*columns).order_by(*(column.desc() if query.descending() else column.asc() for column in order))
        ).mappings()
    )
    marker = query.text("marker")
    if marker is not None:
        conductors.find(session, marker, timeout)
        position = [row["hostname"] for row in rows].index(marker)
        rows = rows[position + 1 :]
    return rows[:limit]


def _render(call: BaremetalCall, session: Session, rows: list[RowMapping], fields: Any) -> list[dict[str, Any]]:
    served = conductors.hardware_types(session, [row["id"] for row in rows]) if "drivers" in fields else {}
    documents = []
    for row in rows:
        document = {
            "hostname": row["hostname"],
            "conductor_group": row["conductor_group"],
            "alive": bool(row["alive"]),
            "created_at": timestamp(row["created_at"]),
            "updated_at": timestamp(datetime.fromtimestamp(int(row["heartbeat_at"]), UTC).replace(tzinfo=None)),
            "drivers": served.get(row["id"]),
        }
        document = {name: value for name, value in document.items() if name in fields}
        document["links"] = links(call.base_url, "conductors", row["hostname"])
        documents.append(document)
    return documents
