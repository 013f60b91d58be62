"""/v1/events"""

import structlog
from flask import Response

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.schemas.network import EVENTS_POSTED
from baremetal_sched.documents.schema import load
from baremetal_sched.web.responses import empty_response

log = structlog.get_logger(__name__)


def receive_events(call: BaremetalCall, session: None) -> Response:
    """POST /v1/events: they are written to the log, as Ironic does, and nothing follows from them."""
    call.refuse_query()
    for event in load(EVENTS_POSTED, call.body(), "events")["events"]:
        log.info("external event", **{("kind" if name == "event" else name): value for name, value in event.items()})
    return empty_response(204)
