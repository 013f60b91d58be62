"""The parts of the edge that each API implements, for the scheduling API."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from flask import Request, Response

from baremetal_sched.db.clock import exactly
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors.holds import HoldExists
from baremetal_sched.errors.scheduling import (
    BookingLimit,
    BookingNotFound,
    CannotWait,
    MachinesShare,
    NeverFits,
    NotBookable,
    NothingFree,
)
from baremetal_sched.scheduling.api import policies
from baremetal_sched.scheduling.api.request_bodies import SchedulingCall
from baremetal_sched.scheduling.api.routes import ROUTES
from baremetal_sched.scheduling.api.webhook_makers import Makers
from baremetal_sched.scheduling.decisions import Decisions
from baremetal_sched.web.api import Api
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import message_of
from baremetal_sched.web.responses import json_response

#: Codes of the errors that programs can act on.
CODES: dict[type[Exception], str] = {
    BookingLimit: "scheduling.booking_limit",
    BookingNotFound: "scheduling.booking_not_found",
    CannotWait: "scheduling.cannot_wait",
    HoldExists: "scheduling.hold_exists",
    MachinesShare: "scheduling.machines_share",
    NeverFits: "scheduling.never_fits",
    NotBookable: "scheduling.not_bookable",
    NothingFree: "scheduling.nothing_free",
}


class SchedulingApi(Api):
    """The scheduling API, which follows no other: it has no microversions. The application sets ``database``,
    ``decisions`` and ``apis``, the other APIs by name."""

    name = "scheduling"
    routes = ROUTES
    rules = policies.RULES
    borrowed_rules = policies.BORROWED
    database: Database
    decisions: Decisions
    apis: Mapping[str, Api]

    def new_call(self, http: Request, request_id: str) -> Call:
        call = SchedulingCall(http, request_id, self.settings)
        call.database, call.decisions, call.makers = self.database, self.decisions, self._makers
        call.apis = self.apis
        return call

    @cached_property
    def _makers(self) -> Makers:
        return Makers(self.settings, self.policy, self.strategy)

    def error_body(self, call: Call, error: Exception, status: int) -> Response:
        code = {"code": CODES[type(error)]} if type(error) in CODES else {}
        described = {"status": status, "message": message_of(error), **code, **_possible(error)}
        return json_response({"error": described}, status)


def _possible(error: Exception) -> dict[str, Any]:
    """Return what could be booked instead, as members of the answer, as far as that is known."""
    if not isinstance(error, NotBookable):
        return {}
    earliest, longest = (error.details.get(name) for name in ("earliest", "longest"))
    return {
        **({} if earliest is None else {"earliest": exactly(earliest)}),
        **({} if longest is None else {"longest": longest}),
    }
