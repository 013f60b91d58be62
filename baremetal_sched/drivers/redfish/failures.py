"""What goes wrong with a controller, as errors of ours: in words for people, short, and without secrets."""

from http import HTTPStatus
from typing import Any

import requests
from sushy import exceptions

from baremetal_sched import masking
from baremetal_sched.drivers.redfish.driver_info import PASSWORD, USERNAME, VERIFY_CA, Target
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.baremetal import ControllerError, MachineUnreachable

#: How much of what a controller says is repeated, in characters.
_LONGEST = 300
#: A password that is shorter would take away words that are none.
_SHORTEST_SECRET = 4


def translated(error: BaseException, target: Target) -> SchedulerError:
    """``error``, which a call of the controller raised, as MachineUnreachable or ControllerError."""
    if isinstance(error, exceptions.AccessError):
        said = "no user is given" if target.username is None else "user or password is wrong, or the user has no right"
        what_to_do = f"Look at driver_info/{USERNAME} and {PASSWORD}."
        return unreachable(target, f"it refused the credentials (HTTP {error.status_code}): {said}. {what_to_do}")
    if isinstance(error, exceptions.ServerSideError):
        return unreachable(target, f"it failed (HTTP {error.status_code}){_said(error, target)}")
    if isinstance(error, exceptions.HTTPError):
        return refused(target, f"refused the request (HTTP {error.status_code}){_said(error, target)}")
    if isinstance(error, exceptions.ConnectionError | requests.RequestException | OSError):
        return unreachable(target, _silence(error))
    if isinstance(error, exceptions.MissingAttributeError | exceptions.MissingActionError):
        return refused(target, f"lacks something that is needed: {shortened(str(error), target)}")
    if isinstance(error, exceptions.UnknownDefaultError):
        return refused(
            target, "has no machine, or more than one: driver_info/redfish_system_id has to name the path of this one."
        )
    return refused(target, f"answered nonsense: {shortened(f'{type(error).__name__}: {error}', target)}")


def unreachable(target: Target, reason: str) -> MachineUnreachable:
    """The error that nothing can be had of the controller, for this reason."""
    return MachineUnreachable(address=target.address, reason=reason)


def refused(target: Target, reason: str) -> ControllerError:
    """The error that the controller refused something or made no sense; ``reason`` goes on after "The controller"."""
    return ControllerError(address=target.address, reason=reason)


def shortened(text: str, target: Target) -> str:
    """What a controller said, in one line, masked and not too long."""
    text = " ".join(text[: 20 * _LONGEST].split())
    if target.password and len(target.password) >= _SHORTEST_SECRET:
        text = text.replace(target.password, masking.MASK)
    text = "".join(letter if letter.isprintable() else "?" for letter in masking.mask_text(text))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _said(error: exceptions.HTTPError, target: Target) -> str:
    """The messages in the answer, as the standard has them."""
    found = [error.detail, *(_message(each) for each in _list(error.extended_info))]
    said = "; ".join(dict.fromkeys(each for each in found if isinstance(each, str) and each))
    return f": {shortened(said, target)}" if said else f": {HTTPStatus(error.status_code).phrase}."


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _message(value: Any) -> Any:
    return (value.get("Message") or value.get("MessageId")) if isinstance(value, dict) else None


def _silence(error: BaseException) -> str:
    """Why there was no answer."""
    causes = list(_causes(error))
    text = " ".join(f"{type(each).__name__} {each}" for each in causes)
    if "CERTIFICATE_VERIFY_FAILED" in text or "CertificateError" in text:
        return (
            "its certificate cannot be verified: it is signed by an authority that is not trusted here, has expired, "
            f"or is for another name. Let driver_info/{VERIFY_CA} name a file with the authority's certificate."
        )
    return text[:_LONGEST]


def _causes(error: BaseException | None) -> Any:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
