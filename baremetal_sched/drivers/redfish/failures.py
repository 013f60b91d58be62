"""Failures of controllers as errors of this service: in words for people, short, and without secrets."""

import http.client
import socket
import ssl
from base64 import b64encode
from collections.abc import Iterator
from http import HTTPStatus

import requests
from sushy import exceptions

from baremetal_sched import masking
from baremetal_sched.drivers.redfish.driver_info import ADDRESS, PASSWORD, SYSTEM_ID, USERNAME, VERIFY_CA, RedfishTarget
from baremetal_sched.drivers.redfish.transport import Nonsense
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.baremetal import ControllerError, MachineUnreachable

#: The longest text of a controller that is repeated, in characters.
_LONGEST = 300
#: Shorter passwords are not masked: they occur in ordinary words.
_SHORTEST_SECRET = 4

#: sushy's errors about an answer, or about something that the controller does not offer.
_LACKS = (
    exceptions.MissingAttributeError,
    exceptions.MissingActionError,
    exceptions.InvalidParameterValueError,
    exceptions.UnknownDefaultError,
)
#: Errors about connections, and what they mean, in the order in which they are looked for among the causes.
_SILENCES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    (requests.ConnectTimeout, "it does not take the connection in time ([redfish] connect_timeout)."),
    ((TimeoutError, requests.Timeout), "it did not answer in time ([redfish] read_timeout)."),
    (socket.gaierror, f"its name is not known here. Look at driver_info/{ADDRESS}."),
    (ConnectionRefusedError, "the connection was refused."),
    (ConnectionError, "it broke the connection off."),
    (http.client.IncompleteRead, "it broke its answer off."),
)
#: Errors of sushy at JSON of another form than Redfish defines, for example a collection whose ``Members`` are null.
NONSENSE = (TypeError, AttributeError, KeyError)
_NO_JSON = "answered nonsense: no JSON, or JSON that is nested too deeply."
#: Errors about connections whose texts are fit for people.
_IN_WORDS = (OSError, http.client.HTTPException)
_REFUSALS = (SchedulerError, exceptions.HTTPError, *_LACKS)


def is_refusal(error: BaseException) -> bool:
    """Return whether the controller understood the request and refused it; the connection is in order then."""
    if isinstance(error, exceptions.AccessError | exceptions.ServerSideError):
        return False
    return isinstance(error, _REFUSALS)


def is_unexpected(error: BaseException) -> bool:
    """Return whether the controller's answer caused an error that nothing expects."""
    return not isinstance(error, exceptions.SushyError | requests.RequestException | OSError | Nonsense)


def may_pass(error: BaseException) -> bool:
    """Return whether connecting again may help: not after a time-out, and not if certificates are wrong."""
    causes = list(_causes(error))
    return not any(isinstance(each, TimeoutError | requests.Timeout | ssl.SSLError) for each in causes)


def translated(error: BaseException, target: RedfishTarget) -> SchedulerError:
    """Return ``error``, which a call of the controller raised, as MachineUnreachable or ControllerError."""
    if isinstance(error, exceptions.AccessError):
        said = "no user is given" if target.username is None else "user or password is wrong, or the user has no right"
        what_to_do = f"Look at driver_info/{USERNAME} and {PASSWORD}."
        return unreachable(target, f"it refused the credentials (HTTP {error.status_code}): {said}. {what_to_do}")
    if isinstance(error, exceptions.ServerSideError) and error.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        return unreachable(target, f"It is busy (HTTP 503){_said(error, target)}")
    if isinstance(error, exceptions.ServerSideError):
        return unreachable(target, f"it failed (HTTP {error.status_code}){_said(error, target)}")
    if isinstance(error, exceptions.ResourceNotFoundError):
        what_to_do = f"Look at driver_info/{SYSTEM_ID} and {ADDRESS}."
        path = str(error).removeprefix("Resource ").removesuffix(" not found")
        return refused(target, f"does not know {shortened(path, target)} (HTTP 404). {what_to_do}")
    if isinstance(error, exceptions.HTTPError):
        return refused(target, f"refused the request (HTTP {error.status_code}){_said(error, target)}")
    if isinstance(error, Nonsense):
        return refused(target, shortened(str(error), target))
    if isinstance(error, exceptions.UnknownDefaultError):
        return refused(target, f"has no machine, or more than one: driver_info/{SYSTEM_ID} must name its path.")
    if isinstance(error, _LACKS):
        return refused(target, f"lacks something that is needed: {shortened(str(error), target)}")
    if isinstance(error, requests.exceptions.InvalidJSONError):
        return refused(target, _NO_JSON)
    if isinstance(error, exceptions.ConnectionError | requests.RequestException | OSError):
        return unreachable(target, _silence(error, target))
    if isinstance(error, ValueError | RecursionError):
        return refused(target, _NO_JSON)
    # What Python says of it names types and attributes of ours; the log says where it was.
    return refused(target, "answered nonsense: JSON of another form than Redfish defines.")


def shortened(text: str, target: RedfishTarget) -> str:
    """Return a controller's text in one line, masked and not too long."""
    password = target.password or ""
    if len(password) >= _SHORTEST_SECRET:
        for secret in (password, b64encode(f"{target.username}:{password}".encode()).decode()):
            text = text.replace(secret, masking.MASK)
    text = masking.mask_text(" ".join(text[: 20 * _LONGEST].split()))
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def unreachable(target: RedfishTarget, reason: str) -> MachineUnreachable:
    """Return the error that the controller cannot be used, for this reason."""
    return MachineUnreachable(address=target.address, reason=reason)


def refused(target: RedfishTarget, reason: str) -> ControllerError:
    """Return the error that a controller refused something or made no sense; ``reason`` continues "The controller"."""
    return ControllerError(address=target.address, reason=reason)


def _said(error: exceptions.HTTPError, target: RedfishTarget) -> str:
    """Return the messages in the answer, as the standard defines them, or else the meaning of the status."""
    extended = error.extended_info if isinstance(error.extended_info, list) else []
    messages = [each.get("Message") or each.get("MessageId") for each in extended if isinstance(each, dict)]
    said = "; ".join(dict.fromkeys(each for each in (error.detail, *messages) if isinstance(each, str) and each))
    known = {status.value: status.phrase for status in HTTPStatus}
    return f": {shortened(said, target) if said else known.get(error.status_code, 'no reason')}"


def _silence(error: BaseException, target: RedfishTarget) -> str:
    """Return why there was no answer."""
    causes = list(_causes(error))
    text = " ".join(f"{type(each).__name__} {each}" for each in causes)
    if "CERTIFICATE_VERIFY_FAILED" in text or "CertificateError" in text:
        return (
            "its certificate cannot be verified: it is signed by an authority that is not trusted here, has expired, "
            f"or is for another name. Let driver_info/{VERIFY_CA} name a file with the authority's certificate."
        )
    if "[X509" in text:
        return f"the file that driver_info/{VERIFY_CA} names contains no certificate of an authority."
    if any(isinstance(each, ssl.SSLError) for each in causes):
        return (
            f"it does not speak TLS as it should ({shortened(str(causes[-1]), target)}). Look at driver_info/{ADDRESS}."
        )
    for kinds, said in _SILENCES:
        if any(isinstance(each, kinds) for each in causes):
            return said
    if isinstance(causes[-1], _IN_WORDS):
        return f"{shortened(str(causes[-1]), target)}."
    return "it does not speak HTTP as it should."


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and its causes, down to the first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
