"""A request for a page, as the views of pages see it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import parse_qsl
from wsgiref.types import WSGIApplication

from flask import Request
from werkzeug.datastructures import MultiDict
from werkzeug.utils import cached_property

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.versions import newest
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.edge import ComputeApi
from baremetal_sched.db.transaction import Database
from baremetal_sched.image.api.call import ImageCall
from baremetal_sched.image.api.edge import ImageApi
from baremetal_sched.settings import Settings
from baremetal_sched.ui.log_ins import PageAccess
from baremetal_sched.ui.sessions import SessionRow
from baremetal_sched.web import body
from baremetal_sched.web.http_errors import BadRequest
from baremetal_sched.web.policy import Target

#: The most bytes, and fields, of a form that anyone may send.
_LOGIN_FORM_SIZE, _LOGIN_FORM_FIELDS = 16_384, 20


class UiCall(BaremetalCall):
    """A request of the bare metal API's newest microversion: pages show what that API shows to the same caller.

    ``csrf_token``: the value that each form of this caller sends back in its field ``csrf_token``. ``credentials``: the
    entries of a WSGI environment that authenticate a request to an API as this caller.
    """

    #: The APIs by their mounts, and the database, for views with requests of their own.
    apis: Mapping[str, WSGIApplication]
    database: Database
    csrf_token: str = ""
    credentials: Mapping[str, Any] = MappingProxyType({})
    #: The session of the request, as soon as it is known to have one.
    row: SessionRow | None = None

    def __init__(
        self,
        http: Request,
        request_id: str,
        settings: Settings,
        compute: ComputeApi,
        image: ImageApi,
        page_access: PageAccess,
    ) -> None:
        super().__init__(http, request_id, settings)
        self.version = newest(settings)
        self._compute, self._image, self.page_access = compute, image, page_access
        #: Values of cookies that the answer sets, by name; empty ones are deleted.
        self.new_cookies: dict[str, str] = {}

    @cached_property
    def compute(self) -> ComputeCall:
        """The same request as one to the compute API, whose rules decide who sees servers and flavors."""
        return cast(ComputeCall, self._compute.request_of(self))

    @cached_property
    def image(self) -> ImageCall:
        """The same request as one to the image API, whose rules decide who sees images."""
        return cast(ImageCall, self._image.request_of(self))

    def leading_to(self, counted: Visibility) -> Visibility:
        """Return the nodes that a page counts whose numbers lead to the list of nodes: of the ``counted`` ones, those
        that the list has."""
        is_narrower = counted.everything and not (self.caller.unrestricted or self.allows("baremetal:node:list_all"))
        return Visibility(self.caller.project_id) if is_narrower else counted

    @property
    def max_body_size(self) -> int:
        limit = super().max_body_size
        return min(limit, _LOGIN_FORM_SIZE) if self._is_for_anyone else limit

    @property
    def _is_for_anyone(self) -> bool:
        """Return whether the form is one of the log-in: all others need a session."""
        return self.route is not None and self.route.public

    @cached_property
    def form(self) -> MultiDict[str, str]:
        """The fields of the submitted form. Raises BadRequest if they are too many, are not UTF-8, or hold a NUL,
        BodyTooLarge."""
        if self._is_for_anyone and self.raw_body.count(b"&") >= _LOGIN_FORM_FIELDS:
            raise BadRequest(message=f"The form has more than {_LOGIN_FORM_FIELDS} fields.")
        try:
            pairs = parse_qsl(self.raw_body.decode("ascii"), keep_blank_values=True, errors="strict")
        except ValueError:
            raise BadRequest(message="The form is not valid UTF-8.") from None
        for pair in pairs:
            for text in pair:
                body.check_text(text)
        return MultiDict(pairs)

    @cached_property
    def target(self) -> Target:
        """The values that rules compare with the caller. Values that the caller lacks are left out: pages also check
        the rules of the scheduling API, which compare projects."""
        facts: Target = super().target
        return {name: fact for name, fact in facts.items() if fact is not None}

    @property
    def known_caller(self) -> str | None:
        """Return the name of the user, or None without authentication."""
        return self.caller.user_name or self.caller.user_id

    @property
    def known_scope(self) -> str | None:
        """Return the project of the user, or "the system"; None without either."""
        scope = self.caller.project_name or self.caller.project_id
        return scope or ("the system" if self.caller.system_scope else None)
