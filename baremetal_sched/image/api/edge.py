"""How the image API does what the edge leaves to each API."""

from flask import Response

from baremetal_sched.errors.image import ImageDataRefused, TooManyOfAnImage
from baremetal_sched.image.api import errors, policies
from baremetal_sched.image.api.call import ImageCall
from baremetal_sched.image.api.routes import ROUTES
from baremetal_sched.image.patch import MEDIA_TYPES
from baremetal_sched.web.api import Api
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import BodyTooLarge, HttpError


class ImageApi(Api):
    """The image API (Glance v2, without image data)."""

    name = "image"
    is_of_projects = True
    routes = ROUTES
    call = ImageCall
    rules = policies.RULES
    statuses = {TooManyOfAnImage: 413}

    def failure(self, call: Call, error: Exception) -> Response:
        parts = call.http.path.split("/")
        if (
            isinstance(error, HttpError)
            and error.status == BodyTooLarge.status
            and parts[-1] == "file"
            and len(parts) == 5
        ):
            # However many bytes they are: the server itself refuses very many.
            error = ImageDataRefused(image=parts[3])
        response = super().failure(call, error)
        if response.status_code == 415 and call.http.method == "PATCH":
            response.headers["Accept-Patch"] = ", ".join(sorted(MEDIA_TYPES))
        return response

    def error_body(self, call: Call, error: Exception, status: int) -> Response:
        return errors.render(error, status, call.http.headers.get("Accept", ""))
