"""/flavors"""

from typing import Any

from flask import Response
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from baremetal_sched.compute import flavors
from baremetal_sched.compute.api import flavor_view
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.schemas import flavors as forms
from baremetal_sched.compute.schemas.form import to_boolean, to_integer
from baremetal_sched.db.models import Flavor
from baremetal_sched.db.paging import Page, SortKey
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.query import PAGING, Query
from baremetal_sched.web.responses import empty_response, json_response

#: Parameters of the lists.
PARAMETERS = (*PAGING, "is_public", "minRam", "minDisk")

#: Columns by the members of the body that set them; numbers with the least that each may be.
_NUMBERS = {
    "ram": ("memory_mb", 1),
    "vcpus": ("vcpus", 1),
    "disk": ("root_gb", 0),
    "OS-FLV-EXT-DATA:ephemeral": ("ephemeral_gb", 0),
    "swap": ("swap_mb", 0),
}


def list_flavors(call: ComputeCall, session: Session) -> Response:
    """GET /flavors"""
    return _list(call, session, flavor_view.summary)


def list_details(call: ComputeCall, session: Session) -> Response:
    """GET /flavors/detail"""
    return _list(call, session, flavor_view.detail)


def show_flavor(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """GET /flavors/{flavor_id}"""
    call.refuse_query()
    return _answer(call, session, flavor_id)


def create_flavor(call: ComputeCall, session: Session) -> Response:
    """POST /flavors"""
    call.refuse_query()
    body = call.body(forms.create(call.version))["flavor"]
    flavor = flavors.create(session, _values(body))
    return _answer(call, session, flavor.flavorid)


def update_flavor(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """PUT /flavors/{flavor_id}, from 2.55"""
    call.refuse_query()
    description = call.body(forms.UPDATE)["flavor"]["description"]
    flavors.update_description(session, flavor_id, description)
    session.flush()
    return _answer(call, session, flavor_id)


def delete_flavor(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """DELETE /flavors/{flavor_id}"""
    call.refuse_query()
    flavors.destroy(session, flavor_id)
    return empty_response(202)


def _answer(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    return json_response({"flavor": flavor_view.detail(call, flavors.show(session, flavor_id, call.viewer))})


def _list(call: ComputeCall, session: Session, view: Any) -> Response:
    query = Query(call, PARAMETERS)
    limit = query.limit(least=0)
    sort, within = query.sort([SortKey("flavorid")]), flavors.visible_to(call.viewer)
    page = Page(limit, query.text("marker"), sort, flavors.SORT_KEYS, "flavorid", within)
    rows = flavors.list_page(session, page, *_conditions(call, query))
    document: dict[str, Any] = {"flavors": [view(call, row) for row in rows]}
    if rows and len(rows) == limit:
        url = f"{call.base_url}{call.http.path}"
        document["flavors_links"] = [{"rel": "next", "href": query.next_url(url, rows[-1].flavorid)}]
    return json_response(document)


def _conditions(call: ComputeCall, query: Query) -> list[ColumnElement[bool]]:
    conditions = [flavors.of_publicity(_is_public(query) if call.is_admin else True, call.project_id)]
    for name, column in (("minRam", Flavor.memory_mb), ("minDisk", Flavor.root_gb)):
        if (least := query.integer(name)) is not None:
            conditions.append(column >= least)
    return conditions


def _is_public(query: Query) -> bool | None:
    """What an administrator asks for: public flavors, if nothing; ``None`` is a word that clients send."""
    word = query.text("is_public")
    if word is None:
        return True
    if word.lower() == "none":
        return None
    try:
        return query.flag("is_public")
    except InvalidValue:
        raise InvalidValue(message=f"Invalid is_public filter [{word}]") from None


def _values(body: dict[str, Any]) -> dict[str, Any]:
    """The body of a creation as columns."""
    values: dict[str, Any] = {
        "name": body["name"],
        "flavorid": None if body.get("id") is None else forms.to_id(body["id"]),
        "description": body.get("description"),
        "is_public": to_boolean(body.get("os-flavor-access:is_public", True)),
        "rxtx_factor": forms.to_factor(body.get("rxtx_factor", 1.0)),
    }
    for member, (column, least) in _NUMBERS.items():
        values[column] = to_integer(member, body.get(member, 0), least)
    return values
