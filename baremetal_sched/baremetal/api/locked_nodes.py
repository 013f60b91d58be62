"""A locked node is tried again for a while: most locks last a moment, and clients back off for seconds."""

import time
from collections.abc import Callable

from flask import Response

from baremetal_sched.errors.baremetal import NodeBusy, NodeLocked
from baremetal_sched.web.call import Call


def retried(call: Call, transaction: Callable[[], Response]) -> Response:
    """Run the transaction of a view, again if the node is locked, as often and as long as the settings allow.

    Raises NodeLocked if it still is then; NodeBusy at once.
    """
    options = call.settings.conductor
    for _ in range(options.node_locked_retry_attempts - 1):
        try:
            return transaction()
        except NodeBusy:
            raise
        except NodeLocked:
            if call.deadline is not None and time.monotonic() > call.deadline - options.node_locked_retry_interval:
                raise
            time.sleep(options.node_locked_retry_interval)
    return transaction()
