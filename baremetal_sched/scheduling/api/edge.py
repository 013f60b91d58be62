"""How the scheduling API does what the edge leaves to each API."""

from flask import Response

from baremetal_sched.scheduling.api import policies
from baremetal_sched.scheduling.api.routes import ROUTES
from baremetal_sched.web.api import Api
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import message_of
from baremetal_sched.web.responses import json_response


class SchedulingApi(Api):
    """The scheduling API, which follows no other: it has no microversions."""

    name = "scheduling"
    routes = ROUTES
    rules = policies.RULES

    def error_body(self, call: Call, error: Exception, status: int) -> Response:
        return json_response({"error": {"status": status, "message": message_of(error)}}, status)
