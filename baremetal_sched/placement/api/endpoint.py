"""A line of the Placement API's route table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from baremetal_sched.web.application import Route


def always(version: int) -> bool:
    """At every microversion."""
    return True


def never(version: int) -> bool:
    """At no microversion."""
    return False


@dataclass(frozen=True)
class Endpoint(Route):
    """A route with what this API checks before its view.

    ``policy``: what the caller has to be allowed (None: nothing). ``takes_json``: at which microversions the body has
    to be JSON. ``gives_json``: is the Accept header looked at. ``missing_status``: what a client gets whose
    microversion does not have the route.
    """

    policy: str | None = None
    takes_json: Callable[[int], bool] = never
    gives_json: bool = False
    missing_status: int = 404


def get(
    path: str,
    view: Callable[..., object],
    policy: str | None,
    *,
    since: int = 0,
    gives_json: bool = True,
    transaction: Literal["read", "select"] = "read",
) -> Endpoint:
    """A GET that answers with a document."""
    return Endpoint("GET", path, view, since, transaction, policy, gives_json=gives_json)  # type: ignore[arg-type]


def write(
    method: str,
    path: str,
    view: Callable[..., object],
    policy: str,
    *,
    since: int = 0,
    takes_json: Callable[[int], bool] = always,
    missing_status: int = 404,
) -> Endpoint:
    """A POST or PUT, with a JSON body unless told otherwise."""
    return Endpoint(method, path, view, since, "write", policy, takes_json, missing_status=missing_status)  # type: ignore[arg-type]


def remove(
    path: str, view: Callable[..., object], policy: str, *, since: int = 0, missing_status: int = 404
) -> Endpoint:
    """A DELETE."""
    return write("DELETE", path, view, policy, since=since, takes_json=never, missing_status=missing_status)
