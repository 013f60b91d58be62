"""Templates into responses."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Literal
from urllib.parse import quote, urlencode

from flask import Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from baremetal_sched import __version__
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.pictures.markup import percent
from baremetal_sched.web.call import Call
from baremetal_sched.web.route import Route, View

_HTML = "text/html; charset=utf-8"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("baremetal_sched.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=number, percent=percent, moment=moment, machine_time=machine_time, shortened=shortened
    )
    return environment


def page(call: Call, template: str, status: int = 200, **values: Any) -> Response:
    """Return the page that ``template`` makes of ``values``.

    Templates know ``url(…)`` (see ``url_of``), ``pages``: label and address of each page of the navigation, ``path``:
    that of this one, and ``user``: the name of the user, or None.
    """
    from baremetal_sched.ui.routes import PAGES  # the pages are made here

    url = url_of(call.mount)
    made = _environment().get_template(template)
    text = made.render(
        values,
        url=url,
        pages=[(each.label, url() if each.path == "/" else call.mount + each.path) for each in PAGES if each.label],
        path=call.mount + call.http.path,
        user=call.known_caller if isinstance(call, UiCall) else None,
        release=__version__,
    )
    return Response(text, status, content_type=_HTML)


def url_of(mount: str) -> Callable[..., str]:
    """Return what makes addresses of pages: ``url("nodes", name)`` is that of a node, ``url("nodes", query={…})`` that
    of a list. Values of the query that are None or empty are left out; several are given as a list."""

    def url(*segments: str, query: Mapping[str, Any] | None = None) -> str:
        path = mount + "/" + "/".join(quote(segment, safe="") for segment in segments)
        pairs = {name: value for name, value in (query or {}).items() if value not in (None, "", [])}
        return f"{path}?{urlencode(pairs, doseq=True)}" if pairs else path

    return url


def number(value: int) -> str:
    """Return an integer as people read it: 50,000."""
    return f"{value:,}"


def moment(value: datetime | None) -> str:
    """Return a time stamp, which is in UTC, to the second; "never" for None."""
    return "never" if value is None else f"{value:%Y-%m-%d %H:%M:%S} UTC"


def shortened(text: str, longest: int = 2000) -> str:
    """Return ``text``, or as much of its beginning as has ``longest`` characters."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def machine_time(value: datetime) -> str:
    """Return a time stamp, which is in UTC, for the attribute ``datetime``."""
    return f"{value:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True)
class Page:
    """A page at ``path`` below ``/ui``. ``policy``: the rule of the API whose data it shows, which must be met.

    ``label``: its name in the navigation; None: it is not there. ``checks_policy``: its view checks the rule, as that
    depends on what is shown. ``transaction``: as that of a route.
    """

    path: str
    view: View
    policy: str
    label: str | None = field(default=None, kw_only=True)
    checks_policy: bool = field(default=False, kw_only=True)
    transaction: Literal["read", "select"] = field(default="read", kw_only=True)


def routes_of(pages: Iterable[Page]) -> Iterator[Route]:
    """Return the routes of the pages: each is asked for by GET or HEAD."""
    for page in pages:
        for method in ("GET", "HEAD"):
            yield Route(
                method,
                page.path,
                page.view,
                transaction=page.transaction,
                policy=page.policy,
                checks_policy=page.checks_policy,
            )
