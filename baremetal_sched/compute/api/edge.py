"""The parts of the edge that each API implements, for the compute API."""

from flask import Response

from baremetal_sched.baremetal.api.ends import END_RULES
from baremetal_sched.baremetal.api.waiting import WaitingApi
from baremetal_sched.compute.api import policies
from baremetal_sched.compute.api.call import ComputeCall, is_of_machine, render, without_machine
from baremetal_sched.compute.api.root import VERSIONS
from baremetal_sched.compute.api.routes import ROUTES
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import message_of


class ComputeApi(WaitingApi):
    """The compute API (Nova v2.1, microversions 2.1 to 2.104)."""

    name = "compute"
    is_of_projects = True
    routes = ROUTES
    versions = VERSIONS
    call = ComputeCall
    rules = policies.RULES
    borrowed_rules = END_RULES

    def error_body(self, call: Call, error: Exception, status: int) -> Response:
        if is_of_machine(error) and not (isinstance(call, ComputeCall) and call.is_admin):
            return render(without_machine(error), status)
        return render(message_of(error), status)

    def finish(self, call: Call, response: Response) -> None:
        super().finish(call, response)
        response.headers["X-Compute-Request-Id"] = call.request_id
