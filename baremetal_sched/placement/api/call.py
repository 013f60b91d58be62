"""A request to the Placement API, as views see it."""

from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from flask import Response

from baremetal_sched.db.clock import utcnow
from baremetal_sched.documents.schema import SchemaDict
from baremetal_sched.errors.placement import BadQuery
from baremetal_sched.placement.api.policies import USAGES
from baremetal_sched.placement.schemas.common import validation_error
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import BadRequest
from baremetal_sched.web.policy import Target
from baremetal_sched.web.responses import json_response

CACHE_HEADERS_SINCE = 15


def check_query(values: dict[str, str], schema: SchemaDict) -> None:
    """Raise BadQuery, with the validator's message, if parameters do not fit ``schema``."""
    wrong = validation_error(values, schema, query=True)
    if wrong is not None:
        raise BadQuery(message=f"Invalid query string parameters: {wrong}")


def check_body(document: Any, schema: SchemaDict) -> None:
    """Raise BadRequest, with the validator's message, if ``document`` does not fit ``schema``."""
    wrong = validation_error(document, schema)
    if wrong is not None:
        raise BadRequest(message=f"JSON does not validate: {wrong}")


class PlacementCall(Call):
    """A request with what the views of this API share."""

    not_json = "Malformed JSON: {reason}"

    @property
    def target(self) -> Target:
        if self.route is not None and self.route.policy == USAGES:
            projects = self.http.args.getlist("project_id")
            # Views use the last one.
            return {"project_id": projects[-1] if projects else None}
        return {"project_id": self.caller.project_id, "user_id": self.caller.user_id}

    def body(self, schema: SchemaDict) -> Any:
        """Return the JSON body if it fits ``schema``. Raises BadRequest with the message of the parser or the
        validator."""
        check_body(self.json, schema)
        return self.json

    def checked_query(self, schema: SchemaDict) -> dict[str, str]:
        """Return the query string (last value of each parameter) if it fits ``schema``. Raises BadQuery."""
        values = dict(self.query)
        check_query(values, schema)
        return values

    def answer(self, document: Any, modified: datetime | None = None, *, cached: bool = True) -> Response:
        """Return ``document`` as JSON, from 1.15 on with cache headers: last modified at ``modified``, or now."""
        return self.with_cache_headers(json_response(document), modified) if cached else json_response(document)

    def location(self, path: str) -> dict[str, str]:
        """Return the Location header for ``path`` below the mount of this API."""
        return {"Location": f"{self.base_url}{path}"}

    def with_cache_headers(self, response: Response, modified: datetime | None = None) -> Response:
        """Add the headers that 1.15 introduced to ``response``."""
        if self.version >= CACHE_HEADERS_SINCE:
            moment = (modified or utcnow()).replace(tzinfo=UTC)
            response.headers["Last-Modified"] = format_datetime(moment, usegmt=True)
            response.headers["Cache-Control"] = "no-cache"
        return response
