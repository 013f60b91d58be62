"""A request to the image API, as its views see it."""

from typing import Any

from werkzeug.utils import cached_property

from baremetal_sched.image.access import PUBLIC, ImageRequester
from baremetal_sched.image.api.policies import IS_ADMIN
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import BadRequest
from baremetal_sched.web.policy import Target

#: Most images of a page, as in Glance; ``[api] max_limit`` may be less.
MOST_IMAGES = 1000


class ImageCall(Call):
    """Adds what the views of this API share."""

    not_json = "Malformed JSON in request body: {reason}"

    @property
    def target(self) -> Target:
        # The rule of a route is checked for an image that is the caller's own in every respect. It is checked for the
        # image itself as soon as that is found: see ``requester``.
        project = self.caller.project_id
        if project is None:
            return {}
        return {"project_id": project, "owner": project, "member_id": project, "visibility": PUBLIC}

    @cached_property
    def requester(self) -> ImageRequester:
        """The requester. Without authentication everyone is the administrator of the project that the settings name."""
        project = self.settings.compute.project_id if self.caller.unrestricted else self.caller.project_id
        return ImageRequester(project, is_admin=self.allows(IS_ADMIN), rules=self.allows)

    def body(self) -> Any:
        """Return the JSON body. Raises BadRequest if it is missing or not JSON."""
        if not self.raw_body:
            raise BadRequest(message="Body expected in request.")
        return self.json

    def refuse_body(self) -> None:
        """Raise BadRequest if the request has a body: this view takes none."""
        if self.raw_body:
            raise BadRequest(message="A body is not expected with this request.")

    def refuse_query(self) -> None:
        """Raise BadRequest if the request has a query string: this view takes none."""
        if self.query:
            names = ", ".join(sorted({name[:80] for name, _ in self.query}))
            raise BadRequest(message=f"Unexpected query parameters: {names}")
