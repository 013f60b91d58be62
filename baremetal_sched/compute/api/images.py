"""/images, below 2.36: the images of the image API as clients of old microversions list them"""

from collections.abc import Callable, Iterator
from typing import Any

from flask import Response
from oslo_utils import strutils
from sqlalchemy.orm import Session

from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.errors import NotFoundError
from baremetal_sched.image import images, listing
from baremetal_sched.image.records import ImageRecord
from baremetal_sched.web.query import Query
from baremetal_sched.web.responses import json_response

#: The last microversion with images.
LAST = 35

#: Filters, by the parameter of the image API that each is.
_FILTERS = {
    "name": "name",
    "status": "status",
    "changes-since": "updated_at",
    "minRam": "min_ram",
    "minDisk": "min_disk",
    "server": "instance_uuid",
    "type": "image_type",
}
PARAMETERS = (*_FILTERS, "limit", "marker")
_PROPERTY = "property-"

#: Statuses, as this API calls them, and the progress of each.
_STATUSES = {images.ACTIVE: ("ACTIVE", 100), images.QUEUED: ("SAVING", 25)}
_UNKNOWN = ("UNKNOWN", 0)


class ImagesGone(NotFoundError):
    template = "Images are in the image API: from microversion 2.36 on, this API has none."


def gone(method: str, version: int) -> Exception:
    """Return the error of later microversions."""
    return ImagesGone()


def list_images(call: ComputeCall, session: Session) -> Response:
    """GET /images"""
    return _list(call, session, _summary)


def list_details(call: ComputeCall, session: Session) -> Response:
    """GET /images/detail"""
    return _list(call, session, _detail)


def show_image(call: ComputeCall, session: Session, image_id: str) -> Response:
    """GET /images/{image_id}"""
    return json_response({"image": _detail(call, images.get(session, image_id, call.image_requester))})


def _list(call: ComputeCall, session: Session, view: Callable[[ComputeCall, ImageRecord], dict[str, Any]]) -> Response:
    query = Query(call, [*PARAMETERS, *(name for name, _ in call.query if name.startswith(_PROPERTY))])
    limit = query.limit(least=0)
    found = listing.select_page(session, listing.parse(_image_parameters(call)), call.image_requester, limit)
    links = query.links("images", [image.uuid for image in found], limit)
    return json_response({"images": [view(call, image) for image in found], **links})


def _image_parameters(call: ComputeCall) -> Iterator[tuple[str, str]]:
    """Yield the parameters as those of the image API."""
    for name, value in call.query:
        if name == "status":
            value = next((status for status, (known, _) in _STATUSES.items() if known == value.upper()), value.lower())
        elif name == "changes-since":
            value = f"gte:{value}"
        elif name == "server":
            value = value.rpartition("/")[2]
        if name != "limit":
            yield _FILTERS.get(name, name.removeprefix(_PROPERTY)), value


def _summary(call: ComputeCall, image: ImageRecord) -> dict[str, Any]:
    return {"id": image.uuid, "name": image.name, "links": _links(call, image)}


def _detail(call: ComputeCall, image: ImageRecord) -> dict[str, Any]:
    status, progress = _STATUSES.get(image.status, _UNKNOWN)
    document = {
        **_summary(call, image),
        "minRam": image.min_ram,
        "minDisk": image.min_disk,
        "metadata": dict(image.properties),
        "created": f"{image.created_at.isoformat(timespec='seconds')}Z",
        "updated": f"{image.updated_at.isoformat(timespec='seconds')}Z",
        "status": status,
        "progress": progress,
        # No data are kept, so their size is not known.
        "OS-EXT-IMG-SIZE:size": 0,
    }
    if server := image.properties.get("instance_uuid"):
        document["server"] = {"id": server, "links": call.links("servers", server)}
    if (disk_config := image.properties.get("auto_disk_config")) is not None:
        document["OS-DCF:diskConfig"] = "AUTO" if strutils.bool_from_string(disk_config) else "MANUAL"
    return document


def _links(call: ComputeCall, image: ImageRecord) -> list[dict[str, str]]:
    alternate = f"{call.base_url.rpartition('/')[0]}/image/v2/images/{image.uuid}"
    links = call.links("images", image.uuid)
    return [*links, {"rel": "alternate", "type": "application/vnd.openstack.image", "href": alternate}]
