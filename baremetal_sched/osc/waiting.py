"""Claims that wait until machines are free, through the scheduling API."""

import argparse
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from keystoneauth1.exceptions import ClientException as NoAnswer
from osc_lib.exceptions import CommandError

from baremetal_sched import commands
from baremetal_sched.osc.claiming import ClaimChoice, Consumers, NothingFits
from baremetal_sched.osc.client import Client, RequestFailed
from baremetal_sched.osc.tables import plain

#: Seconds that one request waits for a decision, and seconds between two requests if the service does not wait.
_POLL = 30
_PAUSE = 2.0
#: Seconds after its deadline for which the command keeps asking for a claim that is not decided.
_GRACE = 60.0
#: How often a request is made that is not answered. Claims and their ends may be repeated.
_ATTEMPTS = 3
#: Answers that say nothing of whether the request was done, or that it may work in a moment.
_PASSING = (502, 503, 504)

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
WAITING, CLAIMED = "waiting", "claimed"


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


def claim_when_free(
    client: Client,
    query: str,
    consumers: Consumers,
    seconds: int,
    say: Callable[[str, float, float], None],
    *,
    even_if_impossible: bool = False,
    pause: Callable[[float], None] = time.sleep,
) -> list[ClaimChoice]:
    """Claim a machine for each consumer, and wait for at most ``seconds`` until all have one. All or none: if an error
    is raised, or the command is interrupted, all claims are given back.

    Raises NothingFits if one waits in vain, CommandError if the service cannot wait, and the errors of a refused
    request.
    """
    began, entered, answers = time.monotonic(), [], []
    try:
        for uuid in consumers.uuids:
            entered.append(uuid)
            body = _body(query, consumers, uuid, seconds) | {"even_if_impossible": even_if_impossible}
            answers.append(_answered(client, "POST", "/claims", body, pause))
        return [
            _awaited(client, uuid, claim, f"{number} of {len(entered)}", began, seconds, say, pause)
            for number, (uuid, claim) in enumerate(zip(entered, answers, strict=True), 1)
        ]
    except BaseException:
        _give_back(client, entered, pause)
        raise


def _body(query: str, consumers: Consumers, uuid: str, seconds: int) -> dict[str, Any]:
    facts = {"project_id": consumers.project, "user_id": consumers.user, "type": consumers.type}
    return {"query": query, "wait": seconds, "consumer": {"uuid": uuid, **facts}}


def _answered(client: Client, method: str, path: str, body: Any, pause: Callable[[float], None]) -> Any:
    """Make a request that may be repeated until it is answered, a few times. Raises like ``Client.request``."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return client.request("scheduling", method, path, body)
        except RequestFailed as error:
            if error.status == 404 and method == "POST":
                raise CommandError("The service is too old to let claims wait. Leave --wait out.") from None
            if error.status not in _PASSING:
                raise
        except NoAnswer:
            pass
        pause(_PAUSE)
    return client.request("scheduling", method, path, body)


def _awaited(
    client: Client,
    uuid: str,
    claim: dict[str, Any],
    number: str,
    began: float,
    seconds: float,
    say: Callable[[str, float, float], None],
    pause: Callable[[float], None],
) -> ClaimChoice:
    """Wait until the claim, first seen as ``claim``, is decided, and return what it has. Raises NothingFits."""
    return _choice(_decided(client, uuid, claim, f"machine {number}", began, seconds, say, pause))


def _decided(
    client: Client,
    uuid: str,
    claim: dict[str, Any],
    subject: str,
    began: float,
    seconds: float,
    say: Callable[[str, float, float], None],
    pause: Callable[[float], None],
) -> dict[str, Any]:
    while claim["state"] == WAITING and (waited := time.monotonic() - began) <= seconds + _GRACE:
        say(
            f"{subject}, position {claim['position']} in the queue. {plain(claim['reason'])}",
            waited,
            seconds,
        )
        asked_at = time.monotonic()
        claim = _answered(client, "GET", f"/claims/{uuid}?wait={_POLL}", None, pause)
        if claim["state"] == WAITING and time.monotonic() - asked_at < _PAUSE:
            pause(_PAUSE)
    if claim["state"] != CLAIMED:
        raise NothingFits(plain(claim["reason"]) or f"The claim is {claim['state']}.")
    return claim


def claim_together(
    client: Client,
    body: dict[str, Any],
    seconds: int,
    say: Callable[[str, float, float], None],
    *,
    pause: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """Claim several machines with one request, whose ``body`` names the consumer, and wait for at most ``seconds``
    until all are there; return the claim. Raises NothingFits, and the errors of a refused request."""
    began, uuid = time.monotonic(), body["consumer"]["uuid"]
    try:
        claim = _answered(client, "POST", "/claims", body, pause)
        return _decided(client, uuid, claim, f"{claim['count']} machines", began, seconds, say, pause)
    except RequestFailed as error:
        raise NothingFits(str(error)) if error.status == 409 else error from None
    except BaseException:
        _give_back(client, [uuid], pause)
        raise


def _choice(claim: dict[str, Any]) -> ClaimChoice:
    """Return the machine of a claim: the node is the provider that has its class."""
    held = claim["allocations"]
    nodes = [uuid for uuid, each in held.items() if claim["resource_class"] in each["resources"]]
    return ClaimChoice((nodes or [*held])[0], held)


def _give_back(client: Client, uuids: Sequence[str], pause: Callable[[float], None]) -> None:
    kept = []
    for uuid in uuids:
        try:
            _answered(client, "DELETE", f"/claims/{uuid}", None, pause)
        except (CommandError, NoAnswer):
            kept.append(uuid)
    if kept:
        with suppress(OSError):
            lines = "\n".join(commands.CANCEL_CLAIM.of(uuid=uuid) for uuid in kept)
            sys.stderr.write(f"Not given back:\n{lines}\n")
