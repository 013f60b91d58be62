"""A request as the views see it."""

import time
from typing import Any
from urllib.parse import parse_qsl

from flask import Request
from werkzeug.utils import cached_property

from baremetal_sched.settings import Settings
from baremetal_sched.web import body
from baremetal_sched.web.caller import Caller
from baremetal_sched.web.problems import BadRequest


class Call:
    """One request. ``version`` is the minor part of the negotiated microversion, set before a view runs.

    ``started``: when it came, by ``time.perf_counter``.
    """

    version: int = 0
    #: Has a microversion been agreed on?
    negotiated: bool = False
    #: Who calls, set before a view runs.
    caller: Caller = Caller()

    def __init__(self, http: Request, request_id: str, settings: Settings) -> None:
        self.started = time.perf_counter()
        self.http = http
        self.request_id = request_id
        self.settings = settings

    @cached_property
    def query(self) -> list[tuple[str, str]]:
        """Names and values of the query string, in order. Raises BadRequest if it is not UTF-8 or holds a NUL."""
        try:
            pairs = parse_qsl(self.http.query_string.decode("ascii"), keep_blank_values=True, errors="strict")
        except ValueError:
            raise BadRequest(message="The query string is not valid UTF-8.") from None
        for name, value in pairs:
            body.check_text(name)
            body.check_text(value)
        return pairs

    @cached_property
    def raw_body(self) -> bytes:
        """The request's body. Raises BodyTooLarge."""
        return body.read(self.http, self.max_body_size)

    @property
    def max_body_size(self) -> int:
        """Most bytes that the body may have."""
        limit: int = self.settings.api.max_json_body_size
        return limit

    @cached_property
    def json(self) -> Any:
        """The request's JSON body. Raises ValueError if it is none, and what ``body.parse_json`` raises."""
        return body.parse_json(self.raw_body, self.settings.api.max_json_body_depth)

    @cached_property
    def mount(self) -> str:
        """The path below which this API is served, without a slash at the end."""
        return self.http.script_root.rstrip("/")

    @cached_property
    def base_url(self) -> str:
        """Scheme, host and mount, as links begin; ``[api] public_endpoint`` replaces scheme and host."""
        public: str | None = self.settings.api.public_endpoint
        origin = public.rstrip("/") if public else f"{self.http.scheme}://{self.http.host}"
        return origin + self.mount
