"""/v1/webhooks/{webhook}/test: a delivery to try a receiver, for whose result the request waits."""

import time
from functools import partial

from flask import Response

from baremetal_sched.errors.webhooks import WebhookTestNotSent
from baremetal_sched.scheduling.api.request_bodies import SchedulingCall
from baremetal_sched.scheduling.api.webhooks import find
from baremetal_sched.scheduling.webhooks import testing
from baremetal_sched.web.responses import json_response

#: Seconds before the deadline of a request at which it ends waiting.
_RESERVE = 5.0


def send_test(call: SchedulingCall, session: None, webhook: str) -> Response:
    """POST /v1/webhooks/{webhook}/test

    Raises WebhookTestUnderWay, TooManyWebhookTests; WebhookTestNotSent if no conductor sends it.
    """
    seconds, project = testing.patience(call.settings), call.caller.project_id
    token = call.database.write(
        lambda session: testing.begin(session, find(call, session, webhook), seconds), deadline=call.deadline
    )
    read = partial(testing.answer_of, token=token)
    until = time.monotonic() + seconds
    latest = until + testing.LONGEST if call.deadline is None else call.deadline - _RESERVE
    may_wait = call.decisions.wait_for_test(token, min(until, latest), project)
    answer = call.database.read(read, deadline=call.deadline)
    if answer is None and not call.database.change(partial(testing.withdraw, token=token), deadline=call.deadline):
        call.decisions.wait_for_test(token, min(until + testing.LONGEST, latest), project)
        answer = call.database.read(read, deadline=call.deadline)
    if answer is None:
        raise WebhookTestNotSent(
            reason="no conductor sends events to webhooks now" if may_wait else "too many requests wait already"
        )
    return json_response(answer)
