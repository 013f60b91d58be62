"""Templates into responses."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote, urlencode

from flask import Response
from jinja2 import Environment
from markupsafe import Markup

from baremetal_sched import __version__, commands
from baremetal_sched.db.clock import utcnow
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.pictures.drawing import make_environment, percent
from baremetal_sched.ui.tabs import tabs_of
from baremetal_sched.web.call import Call

#: Where a page says when it was made. What others have written is escaped, and cannot have it.
_AS_OF = Markup("<!-- as of -->")

#: The cookie with what an action has done, which the next page says once.
SAID = "baremetal_sched_said"
MOST_SAID = 500


@cache
def _environment() -> Environment:
    environment = make_environment()
    environment.filters.update(
        number=number,
        percent=percent,
        moment=moment,
        machine_time=machine_time,
        shortened=shortened,
        ago=ago,
        day_or_time=day_or_time,
        cause=cause,
    )
    environment.filters["query"] = query_of
    environment.globals["commands"] = commands
    return environment


def page(call: Call, template: str, status: int = 200, **values: Any) -> Response:
    """Return the page that ``template`` makes of ``values``.

    Templates know ``url(…)`` (see ``url_of``), ``tabs_of()``: the pages of the navigation, ``path``: that of this one,
    ``here``: the same with its query, ``user`` and ``scope``: the names of the user and of the project, or None,
    ``has_session``, ``logs_in``: whether people log in here, ``sends``: the credentials that programs send,
    ``can_act``: whether anything can be done from pages, ``csrf_token`` for forms, and ``said``: what an action has
    just done. A page that has not changed since the one that the client has is answered with 304.
    """
    url = url_of(call.mount)
    said = unquote(call.http.cookies.get(SAID, ""))
    own = call if isinstance(call, UiCall) else None
    access = own.page_access if own else None
    log_ins = access.log_ins if access else None
    compiled = _environment().get_template(template)
    text: str = compiled.render(
        values,
        url=url,
        tabs_of=lambda: list(tabs_of(own, call.mount)),
        path=call.mount + call.http.path,
        here=call.mount + call.http.full_path.rstrip("?"),
        said=said[:MOST_SAID],
        user=own and own.known_caller,
        scope=own and own.known_scope,
        has_session=own is not None and own.row is not None,
        logs_in=log_ins is not None,
        sends=log_ins.sent_by_programs if log_ins else "",
        can_act=access is not None and (access.is_open or log_ins is not None),
        asked=values.get("asked", ""),
        csrf_token=own.csrf_token if own else "",
        release=__version__,
        as_of=_AS_OF,
        is_answer=status == 200,
    )
    # The same page at another time has the same tag: an open page that asks again learns that nothing has changed.
    tag = sha256(text.encode()).hexdigest()[:32]
    made_at = Markup('<time datetime="{}" data-tag="W/&quot;{}&quot;">{}</time>')
    text = text.replace(_AS_OF, made_at.format(machine_time(utcnow()), tag, moment(utcnow())[11:]), 1)
    response = Response(text, status, content_type="text/html; charset=utf-8")
    if said:
        response.delete_cookie(SAID, path=call.mount)
    if status == 200:
        response.set_etag(tag, weak=True)
        response.make_conditional(call.http)
        response.headers.pop("Date", None)  # the server adds it, and two of them are no date
    return response


def url_of(mount: str) -> Callable[..., str]:
    """Return what makes addresses of pages: ``url("nodes", name)`` is that of a node, ``url("nodes", query={…})`` that
    of a list. Values of the query that are None or empty are left out; several are given as a list."""

    def url(*segments: str, query: Mapping[str, Any] | None = None) -> str:
        path = mount + "/" + "/".join(quote(segment, safe="") for segment in segments)
        text = query_of(query or {})
        return f"{path}?{text}" if text else path

    return url


def query_of(parameters: Mapping[str, Any]) -> str:
    """Return the query string of the parameters, without those that are None or empty; several values are a list."""
    return urlencode({name: value for name, value in parameters.items() if value not in (None, "", [])}, doseq=True)


def number(value: int) -> str:
    """Return an integer as people read it: 50,000."""
    return f"{value:,}"


def moment(value: datetime | None) -> str:
    """Return a time stamp, which is in UTC, to the second; "never" for None."""
    return "never" if value is None else f"{value:%Y-%m-%d %H:%M:%S} UTC"


#: A node in a message about it, as a regular expression; {} stands for its names.
_OWN = r"""(^|\s*\b(for |of |on )?(the )?node )['"]?({})['"]?(?![\w-]|\.\w)"""

#: Units of time with their seconds, the longest first.
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))


def ago(value: datetime, now: datetime) -> str:
    """Return how long before ``now`` a time stamp is, in the largest unit: 3 d, 5 h, 7 min; below a minute "now"."""
    seconds = (now - value).total_seconds()
    return next((f"{int(seconds // each)} {unit}" for unit, each in _UNITS if seconds >= each), "now")


def day_or_time(value: datetime, now: datetime) -> str:
    """Return the time of day of a time stamp (UTC) that is of today; else with its day."""
    return f"{value:%H:%M} UTC" if value.date() == now.date() else f"{value:%Y-%m-%d %H:%M} UTC"


def cause(error: str, *names: str | None) -> str:
    """Return the message of a node's error without the node's own name or UUID, which the page shows beside it:
    "Failed to clean node X: no disk" is "Failed to clean: no disk"."""
    own = "|".join(re.escape(name) for name in names if name)
    text = re.sub(_OWN.format(own), "", error, count=1, flags=re.IGNORECASE).lstrip(" :.,")
    return text[0].upper() + text[1:] if own and text else error


def shortened(text: str, longest: int = 2000) -> str:
    """Return ``text``, or as much of its beginning as has ``longest`` characters."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def machine_time(value: datetime) -> str:
    """Return a time stamp, which is in UTC, for the attribute ``datetime``."""
    return f"{value:%Y-%m-%dT%H:%M:%SZ}"
