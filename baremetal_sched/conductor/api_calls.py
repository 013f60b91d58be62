"""HTTP calls requested by inspection rules."""

import time
from collections.abc import Sequence

from baremetal_sched.baremetal.inspection.addresses import AddressRefused, AllowedHosts
from baremetal_sched.baremetal.inspection.rules.limits import RuleFailed
from baremetal_sched.baremetal.inspection.rules.subject import ApiCall
from baremetal_sched.conductor import http_get

#: Seconds that all calls of an inspection may take, with retries and pauses; the node is reserved meanwhile.
TIME_LIMIT = 60.0
#: Statuses of transient errors, after which a call is retried.
_MAY_PASS = (429, 500, 502, 503, 504)


def make_all(calls: Sequence[ApiCall], hosts: AllowedHosts) -> None:
    """Make the calls in order, retrying each if necessary, with growing pauses.

    Raises RuleFailed if a call does not succeed, leads to a forbidden host, or if all of them take too long.
    """
    deadline = time.monotonic() + TIME_LIMIT
    for call in calls:
        _make(call, hosts, deadline)


def _make(call: ApiCall, hosts: AllowedHosts, deadline: float) -> None:
    reason = ""
    for attempt in range(call.retries + 1):
        if attempt:
            pause = call.backoff_factor * 2 ** (attempt - 1)
            if time.monotonic() + pause >= deadline:
                break
            time.sleep(pause)
        try:
            status, words = http_get.get(
                call.url,
                headers=call.headers or {},
                proxies=call.proxies or {},
                hosts=hosts,
                deadline=min(deadline, time.monotonic() + call.timeout),
            )
        except AddressRefused as error:
            reason = str(error)
            break
        except http_get.RequestFailed as error:
            reason = str(error)
        else:
            if status < 300:
                return
            reason = f"HTTP Error {status}: {words}"
            if status not in _MAY_PASS:
                break
    if time.monotonic() >= deadline:
        reason = f"{reason or 'it did not begin'}; all calls of an inspection may take {TIME_LIMIT:g} s"
    raise RuleFailed(message=f"The call of {call.url} by an inspection rule failed: {reason}")
