"""How an image becomes active, and stops being so. No data are kept: what counts is where they are."""

from typing import Any
from urllib.parse import urlsplit

from sqlalchemy.orm import Session

from baremetal_sched.db.models import Image
from baremetal_sched.errors.image import ImageChangeForbidden, ImageConflict, ImageDeactivated, InvalidImage
from baremetal_sched.image import images
from baremetal_sched.image.access import ImageRequester, require

#: The only way to import an image.
WEB_DOWNLOAD = "web-download"
IMPORT_METHODS = (WEB_DOWNLOAD,)

_LONGEST_URI = 2048
_SHOWN = 200


def upload_nothing(session: Session, ident: str, requester: ImageRequester) -> None:
    """Make a queued image active, as an empty upload does.

    Raises ImageNotFound, ImageChangeForbidden, ImageConflict if it is not queued, InvalidImage if it lacks a format.
    """
    image = images.find_for_change(session, ident, requester, "upload data for", "upload_image")
    if image.status != images.QUEUED:
        raise ImageConflict(message=f"Image status transition from {image.status} to saving is not allowed")
    missing = [name for name in ("disk_format", "container_format") if getattr(image, name) is None]
    if missing:
        noun = "Property" if len(missing) == 1 else "Properties"
        raise InvalidImage(message=f"{noun} {', '.join(missing)} must be set prior to saving data.")
    image.status = images.ACTIVE
    images.touch(session, image)


def require_download(session: Session, ident: str, requester: ImageRequester) -> None:
    """Raise ImageNotFound, or ImageDeactivated, if the (empty) data of an image cannot be read."""
    image = images.get(session, ident, requester)
    require(requester, "download_image", image, "download")
    if image.status == images.DEACTIVATED and not requester.is_admin:
        raise ImageDeactivated


def import_location(session: Session, ident: str, body: Any, requester: ImageRequester) -> None:
    """Note where the data of a queued image are, which makes it active. Nothing is fetched.

    Raises InvalidImage, ImageNotFound, ImageChangeForbidden, ImageConflict.
    """
    uri = _uri(body)
    image = images.find_for_change(session, ident, requester)
    if image.status == images.ACTIVE:
        raise ImageConflict(message="Image with status active cannot be target for import")
    if image.status != images.QUEUED:
        raise ImageConflict(message=f"Image needs to be in 'queued' state to use '{WEB_DOWNLOAD}' method")
    for name in ("container_format", "disk_format"):
        if getattr(image, name) is None:
            raise ImageConflict(message=f"'{name}' needs to be set before import")
    image.location = _checked(uri)
    image.status = images.ACTIVE
    images.touch(session, image)


def deactivate(session: Session, ident: str, requester: ImageRequester) -> None:
    """Deactivate an active image, so that it boots nothing. Raises ImageNotFound, ImageChangeForbidden."""
    _switch(session, ident, requester, "deactivate", images.DEACTIVATED)


def reactivate(session: Session, ident: str, requester: ImageRequester) -> None:
    """Make a deactivated image active again. Raises ImageNotFound, ImageChangeForbidden."""
    _switch(session, ident, requester, "reactivate", images.ACTIVE)


def _switch(session: Session, ident: str, requester: ImageRequester, doing: str, status: str) -> None:
    image: Image = images.find_for_change(session, ident, requester, doing, doing)
    if image.status not in (images.ACTIVE, images.DEACTIVATED):
        raise ImageChangeForbidden(message=f"Not allowed to {doing} image in status '{image.status}'")
    if image.status != status:
        image.status = status
        images.touch(session, image)


def _uri(body: Any) -> Any:
    """Where an import says that the data are. Raises InvalidImage if it says anything that is not served."""
    if not isinstance(body, dict) or not isinstance(body.get("method"), dict):
        raise InvalidImage(message="Import request requires a 'method' field.")
    method = body["method"]
    if "name" not in method:
        raise InvalidImage(message="Import request requires a 'name' field.")
    if method["name"] not in IMPORT_METHODS:
        raise InvalidImage(
            message=f"Unknown import method name '{str(method['name'])[:_SHOWN]}'. This service keeps no image data: "
            f"only {WEB_DOWNLOAD} is possible, with the uri of data that lie elsewhere."
        )
    for name in ("all_stores", "all_stores_must_succeed"):
        if not isinstance(body.get(name, True), bool):
            raise InvalidImage(message=f"'{name}' must be boolean value only")
    if body.get("stores"):
        raise InvalidImage(message="There are no stores: this service keeps no image data.")
    return method.get("uri")


def _checked(uri: Any) -> str:
    """``uri`` if it is one of http or https. Raises InvalidImage."""
    try:
        address = urlsplit(uri) if isinstance(uri, str) and len(uri) <= _LONGEST_URI and uri.isprintable() else None
        if address is not None and address.scheme in ("http", "https") and address.hostname and " " not in uri:
            _ = address.port
            return str(uri)
    except ValueError:
        pass
    raise InvalidImage(
        message=f"URI for web-download does not pass filtering: {str(uri)[:_SHOWN]}. It must be one of http or https."
    )
