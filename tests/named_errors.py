"""Watches every test: each error that a request to the scheduling API is answered with is one that its route names.

OpenAPI and the reference say what a route names. An error of a subclass counts as its base, unless that is only a kind
of errors, such as all that is not found.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from flask import Response

from baremetal_sched import errors
from baremetal_sched.scheduling.api.edge import SchedulingApi
from baremetal_sched.scheduling.api.openapi import COMMON_ERRORS
from baremetal_sched.web.call import Call
from baremetal_sched.web.route import Route

#: Not specific enough to be named.
KINDS = {
    *(errors.SchedulerError, errors.NotFoundError, errors.ConflictError, errors.InvalidError),
    *(errors.ForbiddenError, errors.GoneError, errors.UnavailableError),
}

#: The requests of the present test that were answered with other errors: the route and the error.
FOUND: list[str] = []


def is_named(route: Route, error: Exception) -> bool:
    """Return whether the route or the whole API names the error or, unless it is a kind, a base of it."""
    return not {*route.errors, *COMMON_ERRORS}.isdisjoint({*type(error).__mro__} - KINDS)


@contextmanager
def watched() -> Iterator[None]:
    """Watch all errors of the scheduling API in this process."""
    answer = SchedulingApi.failure

    def failure(api: SchedulingApi, call: Call, error: Exception) -> Response:
        route = call.route
        if route is not None and not is_named(route, error):
            FOUND.append(f"{route.method} {route.path} does not name {type(error).__name__}: {error}")
        return answer(api, call, error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SchedulingApi, "failure", failure)
        yield
