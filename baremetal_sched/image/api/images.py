"""/v2/images, and their tags"""

from typing import Any
from urllib.parse import urlencode

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.image import images, listing, patch
from baremetal_sched.image.api.call import MOST_IMAGES, ImageCall
from baremetal_sched.image.data import IMPORT_METHODS
from baremetal_sched.image.records import ImageRecord
from baremetal_sched.image.schemas import load
from baremetal_sched.web.responses import empty_response, json_response

#: Fields as they are shown, besides the paths and the properties.
_SHOWN = (
    *("name", "disk_format", "container_format", "visibility", "status", "protected", "min_ram", "min_disk", "owner"),
    "os_hidden",
)
#: What would be known of data, if any were kept.
_UNKNOWN = ("size", "virtual_size", "checksum", "os_hash_algo", "os_hash_value")


def document(call: ImageCall, image: ImageRecord) -> dict[str, Any]:
    """An image as JSON; its properties are beside its fields."""
    path = f"/v2/images/{image.uuid}"
    members = {
        **image.properties,
        **{name: getattr(image, name) for name in _SHOWN},
        **dict.fromkeys(_UNKNOWN),
        "id": image.uuid,
        "created_at": moment(image.created_at),
        "updated_at": moment(image.updated_at),
        "tags": list(image.tags),
        "self": path,
        "file": f"{path}/file",
        "schema": "/v2/schemas/image",
    }
    if image.location is None or not call.requester.may("get_image_location", image):
        return members
    return {**members, "direct_url": image.location}


def moment(stamp: Any) -> str:
    """A time stamp as Glance writes it."""
    return f"{stamp.isoformat()}Z"


def list_images(call: ImageCall, session: Session) -> Response:
    """GET /v2/images"""
    query = listing.parse(call.query)
    most = min(MOST_IMAGES, call.settings.api.max_limit)
    limit = min(most, listing.DEFAULT_LIMIT if query.limit is None else query.limit)
    records = listing.select_page(session, query, call.requester, limit)
    pairs = [(name, value) for name, value in call.query if name != "marker"]
    answer: dict[str, Any] = {
        "images": [document(call, image) for image in records if call.requester.may("get_image", image)],
        "first": _path(pairs),
        "schema": "/v2/schemas/images",
    }
    if records and len(records) == limit:
        answer["next"] = _path([*pairs, ("marker", records[-1].uuid)])
    return json_response(answer)


def _path(query: list[tuple[str, str]]) -> str:
    return f"/v2/images?{urlencode(query)}" if query else "/v2/images"


def create_image(call: ImageCall, session: Session) -> Response:
    """POST /v2/images"""
    fields, properties, tags = load(call.body())
    image = images.create(session, call.requester, fields, properties, tags)
    headers = {
        "Location": f"{call.base_url}/v2/images/{image.uuid}",
        "OpenStack-image-import-methods": ",".join(IMPORT_METHODS),
    }
    return json_response(document(call, image), 201, headers)


def show_image(call: ImageCall, session: Session, ident: str) -> Response:
    """GET /v2/images/{image}"""
    return json_response(document(call, images.get(session, ident, call.requester)))


def update_image(call: ImageCall, session: Session, ident: str) -> Response:
    """PATCH /v2/images/{image}"""
    media_type = (call.http.content_type or "").partition(";")[0]
    changes = patch.parse(call.body(), older=patch.MEDIA_TYPES[media_type])
    return json_response(document(call, images.update(session, ident, changes, call.requester)))


def delete_image(call: ImageCall, session: Session, ident: str) -> Response:
    """DELETE /v2/images/{image}"""
    images.delete(session, ident, call.requester)
    return empty_response(204)


def add_tag(call: ImageCall, session: Session, ident: str, tag: str) -> Response:
    """PUT /v2/images/{image}/tags/{tag}"""
    call.refuse_body()
    images.add_tag(session, ident, tag, call.requester)
    return empty_response(204)


def remove_tag(call: ImageCall, session: Session, ident: str, tag: str) -> Response:
    """DELETE /v2/images/{image}/tags/{tag}"""
    call.refuse_body()
    images.remove_tag(session, ident, tag, call.requester)
    return empty_response(204)
