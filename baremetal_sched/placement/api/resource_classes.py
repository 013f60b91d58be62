"""/resource_classes"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.errors import ResourceClassNotFound
from baremetal_sched.placement import resource_classes
from baremetal_sched.placement.api.call import PlacementCall


def list_classes(call: PlacementCall, session: Session) -> Response:
    """GET /resource_classes"""
    rows = resource_classes.list_classes(session)
    newest = max(row.updated_at or row.created_at for row in rows)
    return call.answer({"resource_classes": [_render(call, row) for row in rows]}, newest)


def show_class(call: PlacementCall, session: Session, name: str) -> Response:
    """GET /resource_classes/{name}"""
    rows = resource_classes.list_classes(session, name=name)
    if not rows:
        raise ResourceClassNotFound(resource_class=name)
    return call.answer(_render(call, rows[0]), rows[0].updated_at or rows[0].created_at)


def _render(call: PlacementCall, row: Any) -> dict[str, Any]:
    return {"name": row.name, "links": [{"rel": "self", "href": f"{call.mount}/resource_classes/{row.name}"}]}
