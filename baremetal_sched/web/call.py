"""A request as views see it."""

import re
import time
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl

from flask import Request
from marshmallow import Schema
from sqlalchemy.orm import Session
from werkzeug.utils import cached_property

from baremetal_sched.db.requester import Requester
from baremetal_sched.documents import schema
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import Settings
from baremetal_sched.web import body, forwarding
from baremetal_sched.web.caller import Caller
from baremetal_sched.web.http_errors import BadRequest, TooNew
from baremetal_sched.web.microversions import Microversions
from baremetal_sched.web.policy import Policy, Target
from baremetal_sched.web.route import Methods, Route

_NOTHING: Mapping[str, Any] = MappingProxyType({})

_STRING = r'"(?:[^"\\]|\\.)*"?'
#: One preference: its name and its value; parameters follow. A string that is not closed goes on to the end.
_PREFERENCE = re.compile(rf'([^\s=;,"]+)\s*(?:=((?:[^",;]|{_STRING})*))?(?:[^,"]|{_STRING})*')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


class Call:
    """One request. ``version`` is the minor part of the negotiated microversion, set before a view runs.

    ``started``: its arrival, by ``time.perf_counter``. ``deadline``: until when it may wait, by ``time.monotonic``, set
    when it begins; None: no limit.
    """

    #: The microversions of the API; None: it has none.
    versions: Microversions | None = None
    #: The error message of this API for a body that is not JSON; ``reason`` is the parser's message.
    not_json = "The body of the request is not JSON: {reason}"
    version: int = 0
    #: Whether a microversion has been negotiated.
    negotiated: bool = False
    deadline: float | None = None
    #: The route, set before a view runs; None until then.
    route: Route | None = None
    #: All routes of the path, set before authentication; empty for an unknown path.
    methods: Methods = _NOTHING
    #: The caller, set before a view runs.
    caller: Caller = Caller()
    #: The same in the caller's own scope, if that is not the scope of the API.
    unscoped: Caller | None = None
    #: Adds data of the request to the session of a view.
    attach: Callable[[Session], None] | None = None
    #: The rules of the API, set when the request begins.
    policy: Policy

    def __init__(self, http: Request, request_id: str, settings: Settings) -> None:
        self.started = time.perf_counter()
        self.http = http
        self.request_id = request_id
        self.settings = settings

    @property
    def named(self) -> Mapping[str, Any]:
        """Return the values in the request that correspond to route parameters of other requests."""
        return _NOTHING

    @property
    def target(self) -> Target:
        """Return the target for policy rules, from the request itself."""
        # Attributes that the caller lacks are left out, so that nothing equals them.
        return {} if self.caller.project_id is None else {"project_id": self.caller.project_id}

    @property
    def requested_by(self) -> Requester:
        """Return the requester in the form that work items and history store."""
        return Requester(self.request_id, self.caller.user_id, self.caller.project_id)

    @cached_property
    def preferences(self) -> Mapping[str, str]:
        """Return the values of the client's preferences (RFC 7240) by name in lower case, without their parameters.

        The first of several with the same name counts. One without a value has the value "". What is no valid value
        stays as it is.
        """
        found: dict[str, str] = {}
        for name, value in _PREFERENCE.findall(self.http.headers.get("Prefer", "")):
            quoted = _QUOTED.fullmatch(value.strip())
            found.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else value.strip())
        return found

    def require(self, rule: str, target: Target | None = None) -> None:
        """Raise NotAllowed or WrongScope unless ``rule`` allows the caller to access ``target``; default: that of the
        request."""
        self.policy.require(self.caller, rule, self.target if target is None else target)

    def allows(self, rule: str, target: Target | None = None) -> bool:
        """Return whether ``rule`` allows the caller to access ``target``; default: that of the request."""
        return self.policy.allows(self.caller, rule, self.target if target is None else target)

    def allows_optional(self, rule: str, target: Target | None = None) -> bool:
        """Return whether ``rule``, which may be undefined, allows the caller to access ``target``; default: as in
        ``allows``."""
        return self.policy.allows_optional(self.caller, rule, self.target if target is None else target)

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
        """Return the maximum number of bytes of the body."""
        limit: int = self.settings.api.max_json_body_size
        return limit if self.route is None else max(limit, self.route.largest_body)

    @cached_property
    def json(self) -> Any:
        """Return the request's JSON body. Raises BadRequest if it is not valid JSON, BodyTooDeep, BodyTooLarge."""
        try:
            return body.parse_json(self.raw_body, self.settings.api.max_json_body_depth)
        except ValueError as error:
            raise BadRequest(message=self.not_json.format(reason=error)) from None

    def load(self, form: Schema, argument: str = "body") -> dict[str, Any]:
        """Return the JSON body as ``form`` loads it.

        Raises InvalidValue ("Schema error for <argument>: …") for what the schema refuses, and what ``json`` raises.
        """
        return schema.load(form, self.json, argument)

    def refuse_query(self) -> None:
        """Raise InvalidValue if the request has a query string, which this view does not accept."""
        self.refuse_unknown(())

    def refuse_unknown(self, known: Collection[str]) -> None:
        """Raise InvalidValue for query parameters that are not in ``known``."""
        unknown = sorted({name for name, _ in self.query if name not in known})
        if unknown:
            raise InvalidValue(message=f"Unexpected arguments: {', '.join(unknown)}")

    def require_version(self, since: int) -> None:
        """Raise TooNew if the microversion of the request is older than the one with the minor part ``since``.

        An API without microversions has everything.
        """
        if self.version < since and self.versions is not None:
            raise TooNew(since=self.versions.text(since))

    @cached_property
    def mount(self) -> str:
        """Return the path below which this API is served, without a trailing slash."""
        return self.http.script_root.rstrip("/")

    @cached_property
    def base_url(self) -> str:
        """Return the scheme, host and mount for links; ``[api] public_endpoint`` replaces scheme and host."""
        public: str | None = self.settings.api.public_endpoint
        host = forwarding.host_of(self.http.environ) or self.http.host
        origin = public.rstrip("/") if public else f"{self.http.scheme}://{host}"
        return origin + self.mount
