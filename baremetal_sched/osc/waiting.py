"""Claims through the scheduling API: one request for all machines, which may wait until they are free."""

import argparse
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from keystoneauth1.exceptions import ClientException as NoAnswer
from osc_lib.exceptions import CommandError

from baremetal_sched import commands
from baremetal_sched.osc.claiming import PASSING, NothingFits
from baremetal_sched.osc.client import Client, RequestFailed
from baremetal_sched.osc.tables import plain

#: Seconds that one request waits for a decision, and seconds between two requests if the service does not wait.
_POLL = 30
_PAUSE = 2.0
#: Seconds after its deadline for which the command keeps asking for a claim that is not decided.
_GRACE = 60.0
#: How often a request is made that is not answered. Claims and their ends may be repeated.
_ATTEMPTS = 3
#: Codes of refusals because nothing is free.
_NOTHING_FITS = ("scheduling.nothing_free", "scheduling.never_fits")

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
WAITING, CLAIMED = "waiting", "claimed"

#: Shows what the command waits for, for how long it has waited, and for how long it may.
Say = Callable[[str, float, float], None]
Pause = Callable[[float], None]


def duration(text: str) -> int:
    """Return the seconds of ``90``, ``30m``, ``1h`` or ``2d``; for argparse."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd]?)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 90, 30m, 1h or 2d")
    return int(found[1]) * _UNITS[found[2]]


class ProgressLine:
    """One line about the wait, on the standard error: rewritten on a terminal, else only if it changes."""

    def __init__(self) -> None:
        self._last = ""

    def say(self, what: str, waited: float, seconds: float) -> None:
        """Show what the command waits for, for how long it has waited, and for how long it may."""
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{clock(waited)} of {clock(seconds)}: {what[:200]}")
        elif what != self._last:
            sys.stderr.write(f"{what}\n")
        self._last = what
        sys.stderr.flush()

    def end(self) -> None:
        """Begin a new line on a terminal."""
        if self._last and sys.stderr.isatty():
            sys.stderr.write("\n")


def clock(seconds: float) -> str:
    """Return hours, minutes and seconds, as in ``1:02:03``."""
    minutes, rest = divmod(int(max(seconds, 0)), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def make_claim(
    client: Client, body: dict[str, Any], say: Say, *, is_new: bool, pause: Pause = time.sleep
) -> dict[str, Any]:
    """Make the claim of ``body``, which names its consumer, wait as long as it says, and return the claim.

    ``is_new``: the consumer's UUID was made for this claim. If an error is raised, or the command is interrupted, the
    claim is given back, except one of a UUID that is not new and may be that of an earlier claim.

    Raises NothingFits if no machine fits, also at the end of the wait, CommandError if the service knows no claims,
    and the errors of a refused request.
    """
    began, uuid = time.monotonic(), body["consumer"]["uuid"]
    try:
        claim = answered(client, "POST", "/claims", body, pause)
    except BaseException as error:
        if not _is_refusal(error):
            _give_back(client, uuid, pause, may_delete=is_new)
        if isinstance(error, RequestFailed) and error.code in _NOTHING_FITS:
            raise NothingFits(str(error)) from None
        raise
    try:
        return _decided(client, claim, began, body["wait"], say, pause)
    except BaseException:
        _give_back(client, uuid, pause)
        raise


def _is_refusal(error: BaseException) -> bool:
    """Return whether nothing can have been claimed."""
    return isinstance(error, CommandError) and not (isinstance(error, RequestFailed) and error.status in PASSING)


def answered(client: Client, method: str, path: str, body: Any, pause: Pause) -> Any:
    """Make a request that may be repeated until it is answered, a few times. Raises like ``Client.request``."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return client.request("scheduling", method, path, body)
        except RequestFailed as error:
            if error.status == 404 and method == "POST" and error.code is None:
                raise CommandError(f"The service is too old: it has no {path.strip('/')}.") from None
            if error.status not in PASSING:
                raise
        except NoAnswer:
            pass
        pause(_PAUSE)
    return client.request("scheduling", method, path, body)


def _decided(
    client: Client, claim: dict[str, Any], began: float, seconds: float, say: Say, pause: Pause
) -> dict[str, Any]:
    """Wait until the claim is decided, and return it. Raises NothingFits."""
    subject = f"{claim['count']} machine{'s' if claim['count'] > 1 else ''}"
    while claim["state"] == WAITING and (waited := time.monotonic() - began) <= seconds + _GRACE:
        say(f"{subject}, position {claim['position']} in the queue. {plain(claim['reason'])}", waited, seconds)
        asked_at = time.monotonic()
        claim = answered(client, "GET", f"/claims/{claim['uuid']}?wait={_POLL}", None, pause)
        if claim["state"] == WAITING and time.monotonic() - asked_at < _PAUSE:
            pause(_PAUSE)
    if claim["state"] != CLAIMED:
        raise NothingFits(plain(claim["reason"]) or f"The claim is {claim['state']}.")
    return claim


def _give_back(client: Client, uuid: str, pause: Pause, *, may_delete: bool = True) -> None:
    if may_delete:
        with suppress(CommandError, NoAnswer):
            answered(client, "DELETE", f"/claims/{uuid}", None, pause)
            return
    with suppress(OSError):
        sys.stderr.write(f"The claim may exist. This gives it back:\n{commands.CANCEL_CLAIM.of(uuid=uuid)}\n")
