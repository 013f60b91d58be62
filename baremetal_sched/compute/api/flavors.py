"""/flavors, their extra specs, who may use them, and a flavor as clients of each microversion see it"""

from typing import Any

import orjson
from flask import Response
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.compute.api.server_filters import part_of
from baremetal_sched.compute.flavors import flavors
from baremetal_sched.compute.schemas import flavors as forms
from baremetal_sched.compute.schemas.flavors import (
    BY_NAME_SINCE,
    DESCRIPTION_SINCE,
    EXTRA_SPECS_SINCE,
    SWAP_IS_NUMBER_SINCE,
)
from baremetal_sched.compute.schemas.form import to_boolean, to_integer
from baremetal_sched.db.models import Flavor
from baremetal_sched.db.paging import Page, SortKey
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.compute import ExtraSpecNotFound
from baremetal_sched.web.http_errors import BadRequest
from baremetal_sched.web.query import PAGING, Query
from baremetal_sched.web.responses import empty_response, json_response


def summary(call: ComputeCall, row: Any) -> dict[str, Any]:
    """Return a row of ``flavors.COLUMNS`` as a list without details shows it."""
    document = {"id": row.flavorid, "name": row.name, "links": call.links("flavors", row.flavorid)}
    if call.version >= DESCRIPTION_SINCE:
        document["description"] = row.description
    return document


def detail(call: ComputeCall, row: Any) -> dict[str, Any]:
    """Return all that the microversion shows of a row of ``flavors.COLUMNS``."""
    document = {
        "id": row.flavorid,
        "name": row.name,
        "ram": row.memory_mb,
        "disk": row.root_gb,
        "swap": row.swap_mb if row.swap_mb or call.version >= SWAP_IS_NUMBER_SINCE else "",
        "OS-FLV-EXT-DATA:ephemeral": row.ephemeral_gb,
        "vcpus": row.vcpus,
        "os-flavor-access:is_public": bool(row.is_public),
        "links": call.links("flavors", row.flavorid),
    }
    if call.version < BY_NAME_SINCE:
        document |= {"OS-FLV-DISABLED:disabled": False, "rxtx_factor": row.rxtx_factor}
    if call.version >= DESCRIPTION_SINCE:
        document["description"] = row.description
    if call.version >= EXTRA_SPECS_SINCE and call.shows_extra_specs:
        document["extra_specs"] = orjson.Fragment(row.extra_specs)
    return document


#: Parameters of the lists; ``name`` since 2.102.
PARAMETERS = (*PAGING, "is_public", "minRam", "minDisk", "name")

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
    return _list(call, session, summary)


def list_details(call: ComputeCall, session: Session) -> Response:
    """GET /flavors/detail"""
    return _list(call, session, detail)


def show_flavor(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """GET /flavors/{flavor_id}"""
    return _answer(call, session, flavor_id)


def create_flavor(call: ComputeCall, session: Session) -> Response:
    """POST /flavors"""
    body = call.body(forms.create(call.version))["flavor"]
    flavor = flavors.create(session, _values(body))
    return _answer(call, session, flavor.flavorid)


def update_flavor(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """PUT /flavors/{flavor_id}, from 2.55"""
    description = call.body(forms.UPDATE)["flavor"]["description"]
    flavors.update_description(session, flavor_id, description)
    session.flush()
    return _answer(call, session, flavor_id)


def delete_flavor(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """DELETE /flavors/{flavor_id}"""
    flavors.destroy(session, flavor_id)
    return empty_response(202)


def _answer(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    return json_response({"flavor": detail(call, flavors.show(session, flavor_id, call.viewer))})


def _list(call: ComputeCall, session: Session, view: Any) -> Response:
    is_old = call.version < BY_NAME_SINCE
    query = Query(call, [name for name in PARAMETERS if name != "name" or not is_old])
    limit = query.limit(least=0)
    sort, within = query.sort([SortKey("flavorid")]), flavors.visible_to(call.viewer)
    keys = {name: key for name, key in flavors.SORT_KEYS.items() if name != "rxtx_factor" or is_old}
    page = Page(limit, query.text("marker"), sort, keys, "flavorid", within)
    rows = flavors.list_page(session, page, *_conditions(call, query))
    links = query.links("flavors", [row.flavorid for row in rows], limit)
    return json_response({"flavors": [view(call, row) for row in rows], **links})


def _conditions(call: ComputeCall, query: Query) -> list[ColumnElement[bool]]:
    conditions = [flavors.of_publicity(_is_public(query) if call.is_admin else True, call.project_id)]
    for name, column in (("minRam", Flavor.memory_mb), ("minDisk", Flavor.root_gb)):
        if (least := query.integer(name)) is not None:
            conditions.append(column >= least)
    if call.version >= BY_NAME_SINCE and (part := query.text("name")) is not None:
        conditions.append(part_of("name", Flavor.name, part))
    return conditions


def _is_public(query: Query) -> bool | None:
    """Return the publicity that an administrator asks for, by default public; ``None`` is the word for all."""
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


def list_access(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """GET /flavors/{flavor_id}/os-flavor-access"""
    return _projects(flavor_id, flavors.projects_of(session, flavor_id, call.viewer))


def act(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """POST /flavors/{flavor_id}/action: addTenantAccess or removeTenantAccess"""
    ((action, arguments),) = call.body(forms.ACTION).items()
    project = arguments["tenant"]
    operation = "add_tenant_access" if action == "addTenantAccess" else "remove_tenant_access"
    call.require(name_of("os-flavor-access", operation))
    if action == "addTenantAccess":
        public_too = call.version < forms.PUBLIC_REFUSED_SINCE
        projects = flavors.add_access(session, flavor_id, project, public_too=public_too)
    else:
        projects = flavors.remove_access(session, flavor_id, project)
    return _projects(flavor_id, projects)


def _projects(flavor_id: str, projects: list[str]) -> Response:
    return json_response({"flavor_access": [{"flavor_id": flavor_id, "tenant_id": project} for project in projects]})


def list_specs(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """GET /flavors/{flavor_id}/os-extra_specs"""
    return json_response({"extra_specs": flavors.find(session, flavor_id, call.viewer).extra_specs})


def show_spec(call: ComputeCall, session: Session, flavor_id: str, key: str) -> Response:
    """GET /flavors/{flavor_id}/os-extra_specs/{key}"""
    specs = flavors.find(session, flavor_id, call.viewer).extra_specs
    if key not in specs:
        raise ExtraSpecNotFound(flavor=flavor_id, key=key)
    return json_response({key: specs[key]})


def create_specs(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """POST /flavors/{flavor_id}/os-extra_specs: existing ones are replaced."""
    body = call.body(forms.EXTRA_SPECS)
    flavors.set_extra_specs(session, flavor_id, _texts(body["extra_specs"]))
    return json_response(body)


def update_spec(call: ComputeCall, session: Session, flavor_id: str, key: str) -> Response:
    """PUT /flavors/{flavor_id}/os-extra_specs/{key}"""
    body = call.body(forms.ONE_EXTRA_SPEC)
    if key not in body:
        raise BadRequest(message="Request body and URI mismatch")
    flavors.set_extra_specs(session, flavor_id, _texts(body))
    return json_response(body)


def delete_spec(call: ComputeCall, session: Session, flavor_id: str, key: str) -> Response:
    """DELETE /flavors/{flavor_id}/os-extra_specs/{key}"""
    flavors.delete_extra_spec(session, flavor_id, key)
    return empty_response(200)


def _texts(specs: dict[str, Any]) -> dict[str, str]:
    """The values as they are kept: numbers as texts. Raises BadRequest for one that is too long."""
    texts = {key: str(value) for key, value in specs.items()}
    for key, text in texts.items():
        if len(text) > forms.LONGEST_SPEC:
            raise BadRequest(message=f"Extra spec {key} is too long: at most {forms.LONGEST_SPEC} characters.")
    return texts
