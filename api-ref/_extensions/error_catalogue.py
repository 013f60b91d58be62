"""What the service says when it refuses, by area, from the classes of its errors (needs no Sphinx)."""

import importlib
import pkgutil
import re
from typing import Any, NamedTuple

from baremetal_sched import errors
from baremetal_sched.errors import SchedulerError
from baremetal_sched.web.http_errors import HttpError, status_of

#: Areas by their module, in the order of the page.
AREAS = {
    "baremetal": "Nodes and what belongs to them",
    "holds": "Holds",
    "domains": "Domains",
    "placement": "Placement",
    "webhooks": "Webhooks",
    "scheduling": "Scheduling",
    "events": "Events",
    "compute": "Servers and flavors",
    "image": "Images",
    "": "The database, and everything else",
}
#: Where a message has a value.
VALUE = re.compile(r"\{(\w+)[^{}]*\}")


class ErrorMessage(NamedTuple):
    """A message with ``{name}`` for each value, the usual status, and the name of its error."""

    text: str
    status: int
    name: str


def catalogue() -> dict[str, list[ErrorMessage]]:
    """Return the messages of each area, in the order of the alphabet."""
    found: dict[str, list[ErrorMessage]] = {area: [] for area in AREAS}
    for area in ("", *(each.name for each in pkgutil.iter_modules(errors.__path__))):
        module = importlib.import_module(f"{errors.__name__}.{area}".rstrip("."))
        found[area] += sorted({_message(error) for error in vars(module).values() if _is_own(error, module)})
    return found


def _is_own(error: Any, module: Any) -> bool:
    """Return whether it is an error of the module whose message says more than what it is given."""
    is_error = isinstance(error, type) and issubclass(error, SchedulerError) and error.__module__ == module.__name__
    return is_error and "template" in vars(error) and bool(VALUE.sub("", error.template).strip())


def _message(error: type[SchedulerError]) -> ErrorMessage:
    status = error.status if issubclass(error, HttpError) else status_of(error.__new__(error))
    return ErrorMessage(error.template, status, error.__name__)
