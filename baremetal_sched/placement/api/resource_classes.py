"""/resource_classes"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.errors.placement import ResourceClassNotFound
from baremetal_sched.placement import resource_classes
from baremetal_sched.placement.api.call import PlacementCall, check_body
from baremetal_sched.placement.schemas import associations
from baremetal_sched.web.responses import empty_response, json_response


def list_classes(call: PlacementCall, session: Session) -> Response:
    """GET /resource_classes"""
    rows = resource_classes.list_classes(session)
    newest = max(row.updated_at or row.created_at for row in rows)
    return call.answer({"resource_classes": [_document(call, row.name) for row in rows]}, newest)


def show_class(call: PlacementCall, session: Session, name: str) -> Response:
    """GET /resource_classes/{name}"""
    rows = resource_classes.list_classes(session, name=name)
    if not rows:
        raise ResourceClassNotFound(resource_class=name)
    return call.answer(_document(call, name), rows[0].updated_at or rows[0].created_at)


def create_class(call: PlacementCall, session: Session) -> Response:
    """POST /resource_classes"""
    name = call.body(associations.RESOURCE_CLASS)["name"]
    resource_classes.create(session, name)
    return empty_response(201, call.location(f"/resource_classes/{name}"))


def rename_class(call: PlacementCall, session: Session, name: str) -> Response:
    """PUT /resource_classes/{name}, until 1.6"""
    new_name = call.body(associations.RESOURCE_CLASS)["name"]
    resource_classes.rename(session, name, new_name)
    return json_response(_document(call, new_name))


def ensure_class(call: PlacementCall, session: Session, name: str) -> Response:
    """PUT /resource_classes/{name}, from 1.7 on: the class exists afterwards."""
    check_body({"name": name}, associations.RESOURCE_CLASS)
    status = 201 if resource_classes.ensure(session, name) else 204
    return empty_response(status, call.location(f"/resource_classes/{name}"))


def delete_class(call: PlacementCall, session: Session, name: str) -> Response:
    """DELETE /resource_classes/{name}"""
    resource_classes.remove(session, name)
    return empty_response(204)


def _document(call: PlacementCall, name: str) -> dict[str, Any]:
    return {"name": name, "links": [{"rel": "self", "href": f"{call.mount}/resource_classes/{name}"}]}
