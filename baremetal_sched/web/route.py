"""Route tables: the properties of a request that are known before its view runs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from flask import Response

from baremetal_sched.errors import SchedulerError
from baremetal_sched.web.http_errors import MethodNotAllowed, PathNotFound, Statuses
from baremetal_sched.web.operation import Operation

#: Called as ``view(call, session, **path parameters)``.
View = Callable[..., Response]

#: Creates the error for a method and a microversion (its minor part) without the route.
Absence = Callable[[str, int], Exception]


def path_not_found(method: str, version: int) -> Exception:
    """Return the error for a path that this microversion does not have."""
    return PathNotFound()


def method_not_allowed(method: str, version: int) -> Exception:
    """Return the error for a method that the path does not support in this microversion."""
    return MethodNotAllowed(method=method, allowed=[])


@dataclass(frozen=True)
class Route:
    """One line of a route table.

    ``since`` and ``until`` are the minor parts of the first and the last microversion that has the route; a path may
    have several routes of one method: a request gets the one of its microversion. ``absent`` makes the error
    for other microversions; with ``hides_path`` also that for other methods, if they have no route of the path at all.

    ``transaction``: "read" and "write" are sessions. "select" and "change" are connections, for views that select
    columns only, or that write rows which no entity follows. With None the view needs no database, and its session is
    None. ``check`` is called with the request before any transaction: for input that is expensive to read and needs no
    database. ``prepare`` is called before a view whose transaction is "write", with the view and its arguments, in a
    transaction of its own that writes nothing: for work that takes long and needs no lock.

    ``policy``: the rule that the caller must meet; None: none. ``checks_policy``: its view checks it, because it
    depends on the requested resource. ``public``: callers are not authenticated. ``takes``: the media types that the
    body may have; none named: all are accepted. ``may_be_empty``: it may also have no body. ``gives_json``: the client
    must accept JSON. ``largest_body``: in bytes, if that is more than ``[api] max_json_body_size``. ``statuses``: those
    of errors that this route answers with another status than its API does. ``is_routine``: machines ask it again and
    again, so answers that are not errors are logged as debug. ``refuses_query``: a request with a query string is
    refused; otherwise its view says which parameters there are. ``operation``: its description, if its API describes
    its routes. ``errors``: those of its own, beside the errors of every route of such an API.
    """

    method: str
    path: str
    view: View
    since: int = 0
    transaction: Literal["read", "select", "write", "change"] | None = "read"
    until: int | None = field(default=None, kw_only=True)
    absent: Absence = field(default=path_not_found, kw_only=True)
    hides_path: bool = field(default=False, kw_only=True)
    policy: str | None = field(default=None, kw_only=True)
    checks_policy: bool = field(default=False, kw_only=True)
    public: bool = field(default=False, kw_only=True)
    takes: tuple[str, ...] = field(default=(), kw_only=True)
    may_be_empty: bool = False
    gives_json: bool = field(default=False, kw_only=True)
    largest_body: int = field(default=0, kw_only=True)
    statuses: Statuses = field(default_factory=dict, kw_only=True)
    is_routine: bool = field(default=False, kw_only=True)
    refuses_query: bool = field(default=False, kw_only=True)
    check: Callable[[Any], None] | None = field(default=None, kw_only=True)
    prepare: Callable[..., None] | None = field(default=None, kw_only=True)
    operation: Operation | None = field(default=None, kw_only=True)
    errors: tuple[type[SchedulerError], ...] = field(default=(), kw_only=True)

    @property
    def writes(self) -> bool:
        """Return whether the view may change something in the database."""
        return self.transaction in ("write", "change")

    def serves(self, version: int) -> bool:
        """Return whether the microversion has the route."""
        return self.since <= version and (self.until is None or version <= self.until)


#: The routes of one path: by method, the newest first.
Methods = Mapping[str, tuple[Route, ...]]


def by_path(routes: Iterable[Route]) -> dict[str, Methods]:
    """Return the routes by path and method; methods in the order of the table."""
    table: dict[str, dict[str, tuple[Route, ...]]] = {}
    for route in routes:
        methods = table.setdefault(route.path, {})
        same = (*methods.get(route.method, ()), route)
        methods[route.method] = tuple(sorted(same, key=lambda each: each.since, reverse=True))
    return dict(table)


def choose(routes: tuple[Route, ...], version: int) -> Route:
    """Return the route, of one path and method, for the microversion. Raises what ``absent`` creates."""
    for route in routes:
        if route.serves(version):
            return route
    nearest = routes[-1] if version < routes[-1].since else routes[0]
    raise nearest.absent(nearest.method, version)


def is_public(methods: Methods, method: str) -> bool:
    """Return whether a request needs no authentication: its routes are public or, if the path does not have the method,
    all routes of the path are. ``methods``: those of the path; an unknown path has none, and is not public."""
    found = methods.get(method)
    routes = found or [route for each in methods.values() for route in each]
    return bool(routes) and all(route.public for route in routes)


def largest_body(routes: Iterable[Route]) -> int:
    """Return the size in bytes of the largest body that a route accepts; 0 if the settings determine it for all."""
    return max((route.largest_body for route in routes), default=0)
