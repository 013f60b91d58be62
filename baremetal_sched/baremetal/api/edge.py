"""The parts of the application that each API implements, for the bare metal API."""

from wsgiref.types import WSGIEnvironment

from flask import Request, Response

from baremetal_sched.baremetal.api import alternatives, errors
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.ends import END_RULES
from baremetal_sched.baremetal.api.policies import OPTIONAL_RULES, RULES
from baremetal_sched.baremetal.api.policies.domains import DOMAIN_RULES
from baremetal_sched.baremetal.api.policies.holds import HOLDS
from baremetal_sched.baremetal.api.routes import ALTERNATIVES, ROUTES, SUB_COLLECTIONS
from baremetal_sched.baremetal.api.versions import newest, versions_up_to
from baremetal_sched.baremetal.api.waiting import WaitingApi
from baremetal_sched.settings import Settings
from baremetal_sched.web.authentication import Strategy
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import MicroversionMalformed, MicroversionNotServed, NotAcceptable
from baremetal_sched.web.responses import JSON, empty_response
from baremetal_sched.web.route import Route


class BaremetalApi(WaitingApi):
    """The bare metal API (Ironic v1, microversions 1.1 to 1.115)."""

    name = "baremetal"
    routes = (*ROUTES, *ALTERNATIVES)
    statuses = {MicroversionMalformed: 406}
    rules = RULES
    borrowed_rules = (*HOLDS, *DOMAIN_RULES, *END_RULES)
    optional_rules = OPTIONAL_RULES

    def __init__(self, settings: Settings, strategy: Strategy | None = None) -> None:
        super().__init__(settings, strategy)
        self.offered = versions_up_to(newest(settings))
        self.versions = self.offered

    def new_call(self, http: Request, request_id: str) -> Call:
        call = BaremetalCall(http, request_id, self.settings)
        call.sub_collections = SUB_COLLECTIONS
        call.stripped_json = alternatives.STRIPPED in http.environ
        return call

    def rewrite_path(self, environ: WSGIEnvironment) -> None:
        alternatives.rewrite(environ)

    def before_routing(self, call: Call) -> Response | None:
        return empty_response(200) if call.http.method == "OPTIONS" else None

    def before_view(self, call: Call, route: Route) -> None:
        super().before_view(call, route)
        if call.http.headers.get("Accept") == JSON:
            return  # the usual case: no need to parse it
        if not self.accepts_json(call):
            raise NotAcceptable(message=f"Only {JSON} is served, which {call.http.accept_mimetypes} excludes.")

    def failure(self, call: Call, error: Exception) -> Response:
        response = super().failure(call, error)
        response.headers.pop("Allow", None)  # Ironic does not say
        response.headers.pop("Retry-After", None)  # python-ironicclient fails on it, and then does not retry
        if errors.is_unversioned(error):
            call.negotiated = False
        if isinstance(error, MicroversionNotServed):
            self.offered.describe_range(response.headers)
        return response

    def error_body(self, call: Call, error: Exception, status: int) -> Response:
        return errors.body(error, status, at_root=call.http.path == "/")

    def finish(self, call: Call, response: Response) -> None:
        super().finish(call, response)
        response.headers.add("openstack-request-id", call.request_id)
