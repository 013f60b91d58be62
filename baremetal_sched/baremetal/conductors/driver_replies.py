"""The reply of a driver, or its failure, as a conductor writes it down for the request that waits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from baremetal_sched.errors import DriverFailed, SchedulerError
from baremetal_sched.masking import mask_text


@dataclass(frozen=True)
class Reply:
    """``value`` (JSON), or ``error``. ``revision``: that of the node as the driver saw it."""

    value: Any = None
    error: SchedulerError | None = None
    revision: int | None = None

    def get(self) -> Any:
        """Return the value. Raises the error."""
        if self.error is not None:
            raise self.error
        return self.value


def said(value: Any, revision: int | None) -> dict[str, Any]:
    """Return a driver's reply as a document."""
    return {"value": value, "revision": revision}


def failed(error: Exception, revision: int | None) -> dict[str, Any]:
    """Return the document of how a driver failed: our own errors as they are, the others as DriverFailed."""
    if not isinstance(error, SchedulerError):
        error = DriverFailed(reason=mask_text(repr(error)))
    names = [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, SchedulerError)]
    return {"error": names, "message": str(error), "revision": revision}


def read(document: Mapping[str, Any]) -> Reply:
    """Return the reply of a document. An error of a kind that is not known here is the nearest one that is."""
    revision = document.get("revision")
    if "error" not in document:
        return Reply(document.get("value"), revision=revision)
    known = {kind.__name__: kind for kind in _kinds(SchedulerError)}
    kind = next((known[name] for name in document["error"] if name in known), SchedulerError)
    return Reply(error=_error_of(kind, document["message"]), revision=revision)


def _kinds(base: type[SchedulerError]) -> Iterator[type[SchedulerError]]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)


def _error_of(kind: type[SchedulerError], message: str) -> SchedulerError:
    """An error of this kind that says ``message``, whatever its template needs."""
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.details = {"message": message}
    return error
