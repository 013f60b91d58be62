"""Calls that inspection rules ask for."""

import http.client
import time
import urllib.error
import urllib.request

from baremetal_sched.baremetal.rules.signatures import RuleFailed
from baremetal_sched.baremetal.rules.subject import ApiCall

#: Worth another try, as they may pass.
_MAY_PASS = (429, 500, 502, 503, 504)


def make(call: ApiCall) -> None:
    """Make the call, and again if need be, each time after a longer pause. Raises RuleFailed if it does not succeed."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(dict(call.proxies or {})))
    for attempt in range(call.retries + 1):
        if attempt:
            time.sleep(call.backoff_factor * 2 ** (attempt - 1))
        try:
            request = urllib.request.Request(call.url, headers=dict(call.headers or {}))  # noqa: S310 - HTTP, see rules
            with opener.open(request, timeout=call.timeout):
                return
        except urllib.error.HTTPError as error:
            error.close()
            reason = str(error)
            if error.code not in _MAY_PASS:
                break
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = str(error) or repr(error)
    raise RuleFailed(message=f"The call of {call.url} by an inspection rule failed: {reason}")
