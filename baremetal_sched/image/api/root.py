"""/, /versions, and the service's own description"""

from flask import Response

from baremetal_sched.image.api.call import ImageCall
from baremetal_sched.image.data import IMPORT_METHODS
from baremetal_sched.image.schemas import IMAGE, IMAGES, MEMBER, MEMBERS
from baremetal_sched.web.http_errors import BadRequest
from baremetal_sched.web.responses import json_response

#: Versions of Glance's API whose part for records is here, the newest first.
VERSIONS = ("v2.17", *(f"v2.{minor}" for minor in (15, 9, 7, 6, 5, 4, 3, 2, 1, 0)))


def show_root(call: ImageCall, session: None) -> Response:
    """GET /"""
    return json_response(_versions(call), 300)


def list_versions(call: ImageCall, session: None) -> Response:
    """GET /versions"""
    return json_response(_versions(call))


def _versions(call: ImageCall) -> dict[str, object]:
    links = [{"rel": "self", "href": f"{call.base_url}/v2/"}]
    return {
        "versions": [
            {"id": version, "status": "CURRENT" if version == VERSIONS[0] else "SUPPORTED", "links": links}
            for version in VERSIONS
        ]
    }


def show_import_methods(call: ImageCall, session: None) -> Response:
    """GET /v2/info/import"""
    call.refuse_query()
    return json_response(
        {
            "import-methods": {
                "description": "Import methods available.",
                "type": "array",
                "value": list(IMPORT_METHODS),
            }
        }
    )


def list_tasks(call: ImageCall, session: None) -> Response:
    """GET /v2/tasks: an import is done when it is answered, so there are never any."""
    return json_response({"tasks": [], "first": "/v2/tasks", "schema": "/v2/schemas/tasks"})


def show_image_schema(call: ImageCall, session: None) -> Response:
    """GET /v2/schemas/image"""
    return json_response(IMAGE)


def show_images_schema(call: ImageCall, session: None) -> Response:
    """GET /v2/schemas/images"""
    return json_response(IMAGES)


def show_member_schema(call: ImageCall, session: None) -> Response:
    """GET /v2/schemas/member"""
    return json_response(MEMBER)


def show_members_schema(call: ImageCall, session: None) -> Response:
    """GET /v2/schemas/members"""
    return json_response(MEMBERS)


def refuse_stores(call: ImageCall, session: None) -> Response:
    """GET /v2/info/stores: as in a Glance with one store."""
    raise StoresNotServed


class StoresNotServed(BadRequest):
    """There is nothing to choose from."""

    status = 404
    template = "Multi backend is not supported at this site."
