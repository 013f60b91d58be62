"""Sending one event to a receiver: signed, within limits, and only to hosts that may be called."""

import http.client
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import structlog

from baremetal_sched import bounded_http
from baremetal_sched.allowed_hosts import AddressRefused, is_public
from baremetal_sched.bounded_http import Answer, CallFailed
from baremetal_sched.errors import InvalidValue
from baremetal_sched.scheduling.events.cloud_events import source_of
from baremetal_sched.scheduling.events.cursors import Cursor
from baremetal_sched.scheduling.webhooks.signing import headers_of
from baremetal_sched.scheduling.webhooks.webhooks import SECONDS, hosts_of
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Bytes of the answer that are read; nobody sees them.
_LARGEST_ANSWER = 64 * 2**10
_GONE = 410
#: Answers with ``Retry-After``.
_LATER = (429, 503)
#: Characters of an error that are kept.
_MOST_WORDS = 255


@dataclass(frozen=True)
class Envelope:
    """An event: the cursor after it, its UUID, and the CloudEvent as JSON."""

    cursor: Cursor
    uuid: str
    body: bytes


@dataclass(frozen=True)
class DeliveryResult:
    """How a delivery ended. ``error``: None if it succeeded. ``status``: of the answer, if there was one. ``parks``:
    there is no use in trying again; None: it is tried again for ever. ``pause``: for how many seconds the receiver
    wants no other attempt."""

    error: str | None = None
    status: int | None = None
    parks: bool | None = False
    pause: float = 0.0

    def document(self, seconds: float) -> dict[str, object]:
        """Return what the maker of a webhook is told of an attempt that took so long."""
        return {"status": self.status, "duration": round(seconds, 3), "error": self.error}


class Sender:
    """Sends events as the settings allow; ``source`` is that of all of them.

    Raises InvalidValue for wrong settings.
    """

    def __init__(self, settings: Settings) -> None:
        self.source = source_of(settings)
        self._hosts = {scheme: hosts_of(settings, scheme) for scheme in ("http", "https")}
        try:
            self._context = bounded_http.trusting(settings.events.cafile or True)
        except OSError as error:
            raise InvalidValue(message=f"[events] cafile: {settings.events.cafile} cannot be used: {error}") from None

    def send(self, url: str, envelope: Envelope, keys: Sequence[str], deadline: float, at: float) -> DeliveryResult:
        """POST the event, signed with each of ``keys``. No part of the answer but its status is returned.

        ``deadline`` is by ``time.monotonic()``. ``at``: the time by the clock of the database, in seconds since 1970.
        """
        headers = {
            **headers_of(envelope.uuid, int(at), envelope.body, keys),
            "Content-Type": "application/cloudevents+json",
            "User-Agent": "baremetal-sched",
        }
        hosts = self._hosts[urlsplit(url).scheme]
        try:
            answer = bounded_http.exchange(
                "POST", url, deadline=deadline, hosts=hosts, headers=headers, body=envelope.body,
                context=self._context, most=_LARGEST_ANSWER, truncates=True,
            )  # fmt: skip
        except AddressRefused as error:
            return DeliveryResult(f"It must not be called: {error}."[:_MOST_WORDS], parks=True)
        except CallFailed as error:
            if all(map(is_public, error.addresses)):
                return DeliveryResult(_words(error)[:_MOST_WORDS])
            # Its maker could find out what runs in the operator's network.
            log.info("a receiver was not reached", message_id=envelope.uuid, reason=_words(error))
            return DeliveryResult("It was not reached.")
        return _result_of(answer)


def _result_of(answer: Answer) -> DeliveryResult:
    status = answer.status
    if 200 <= status < 300:
        return DeliveryResult(status=status)
    if status == _GONE:
        return DeliveryResult("It answered 410: it wants no more events.", status, parks=True)
    if 300 <= status < 400:
        return DeliveryResult(f"It answered {status}: redirects are not followed.", status)
    pause = answer.retry_after if status in _LATER else None
    return DeliveryResult(f"It answered {status}.", status, pause=pause or 0.0)


def _words(error: CallFailed) -> str:
    """Return why there is no answer, without any part of one, which may be that of another service."""
    cause = error.__cause__
    if error.late:
        return f"It did not answer within {SECONDS:g} seconds."
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"Its certificate is not valid: {cause.verify_message.rstrip('.')}."
    if isinstance(cause, OSError) and not isinstance(cause, http.client.HTTPException):
        return f"It cannot be reached: {cause.strerror or cause}."
    return "Its answer is not HTTP."
