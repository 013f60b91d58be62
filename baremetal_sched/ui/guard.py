"""Permission to see pages and to change something there: sessions, cookies, and the tokens of forms."""

import hmac
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from urllib.parse import quote, unquote, urlsplit

from flask import Response

from baremetal_sched.errors import NotAuthenticated
from baremetal_sched.ui import known_browsers, sessions
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.log_ins import Person
from baremetal_sched.ui.sessions import SessionRow
from baremetal_sched.web import forwarding
from baremetal_sched.web.http_errors import HttpError, RefusedRequest
from baremetal_sched.web.responses import prefers_html

#: The cookie of a session, and the one of forms without a session.
SESSION, FORM = "baremetal_sched_session", "baremetal_sched_form"
#: Seconds for which browsers keep cookies longer than until they are closed.
_LIFETIMES = {known_browsers.COOKIE: known_browsers.SECONDS}
#: The header of a request that no person has made: an open page asks for itself again.
REFRESH = "X-Refresh"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
#: Characters of a path that need no escape.
_PATH_CHARACTERS = "/~!$&'()*+,;=:@"
#: Where forms lead, and nothing else.
_OF_FORMS = frozenset({"login", "logout", "act"})

_OTHER_SITE = "The headers Origin and Sec-Fetch-Site of this request do not say that a page of this service sent it."
_OLD_FORM = (
    "This form is not of your session: it is too old, or the browser sends no cookies. Nothing was done. Load the page "
    "with the form again."
)


class NoScope(HttpError):
    """The person has not chosen a project yet."""

    status = 403
    template = "Choose a project first, at /ui/session."


def find(call: UiCall) -> SessionRow | None:
    """Return the session of the request's cookie, and give its token to forms; None if there is none."""
    cookie = call.http.cookies.get(SESSION)
    if call.page_access.log_ins is not None and cookie and call.row is None:
        call.row = call.page_access.database.select(partial(sessions.find, cookie=cookie), deadline=call.deadline)
        call.csrf_token = call.row.form_token if call.row else ""
    return call.row


def admit(call: UiCall) -> Person | None:
    """Return the person whose session this is, who is the caller from now on; None if there is none.

    Raises AuthenticationUnavailable.
    """
    row = find(call)
    if row is None or call.page_access.log_ins is None:
        return None
    try:
        person = call.page_access.log_ins.person(row, call.http)
    except NotAuthenticated:
        if row.entry is not None:
            end(call, row)  # it does not begin again when the file is as it was
        call.row = None
        return None
    if row.idle >= sessions.WRITTEN_EVERY and REFRESH not in call.http.headers:
        _change(call, partial(sessions.note_request, session_id=row.id))
    call.caller, call.credentials = person.caller, person.credentials
    return person


def end(call: UiCall, row: SessionRow) -> None:
    """End the session of the request."""
    _change(call, partial(sessions.end, session_id=row.id))


def _change(call: UiCall, work: Callable[..., None]) -> None:
    call.page_access.database.change(work, deadline=call.deadline)


def needs_session(call: UiCall) -> bool:
    """Return whether only a session will do: nothing is changed with a password or a token in a header."""
    return not call.page_access.is_open and call.http.method not in _SAFE_METHODS


def begin_form(call: UiCall) -> None:
    """Bind the forms of a page to a cookie, for callers without a session."""
    value = call.http.cookies.get(FORM)
    if not value:
        value = call.new_cookies[FORM] = sessions.new_value()
    call.csrf_token = _token_of(value)


def check_form(call: UiCall, *, logs_in: bool) -> None:
    """Raise RefusedRequest if a request that changes something was not sent by a form of this caller; ``logs_in``:
    the form needs no session. Raises NotAuthenticated if it needs one, and there is none."""
    if not forwarding.is_from_here(call.http.environ):
        raise RefusedRequest(403, _OTHER_SITE)
    if logs_in or call.page_access.is_open:
        cookie = call.http.cookies.get(FORM)
        expected = _token_of(cookie) if cookie else ""
    else:
        row = find(call)
        if row is None:
            raise NotAuthenticated
        expected = row.form_token
    given = call.form.get("csrf_token", "")
    if not expected or not hmac.compare_digest(given.encode(), expected.encode()):
        raise RefusedRequest(403, _OLD_FORM)


def way_back(call: UiCall, error: Exception) -> Response | None:
    """Return the redirection of a browser to the page where its person logs in, or chooses a project; None if this
    is another client, or another error."""
    is_for_people = REFRESH not in call.http.headers and prefers_html(call.http.headers.get("Accept", ""))
    if call.page_access.log_ins is None or not is_for_people or not isinstance(error, NotAuthenticated | NoScope):
        return None
    page = "login" if isinstance(error, NotAuthenticated) else "session"
    query = call.http.query_string.decode("latin-1")
    here = quote(call.mount + call.http.path, safe=_PATH_CHARACTERS) + (f"?{query}" if query else "")
    if call.http.method not in _SAFE_METHODS:  # back to the page with the form: what is behind https://host
        here = "/".join(["", *(call.http.referrer or "").split("/", 3)[3:]])
    return redirect(f"{call.mount}/{page}?next={quote(here, safe='')}")


def set_cookies(call: UiCall, response: Response) -> None:
    """Set the new cookies of a request that is for a page, and delete those that are empty."""
    for name, value in call.new_cookies.items() if call.route else ():
        response.set_cookie(
            name,
            value,
            max_age=_LIFETIMES.get(name) if value else 0,
            path=call.mount,
            secure=call.http.scheme == "https",
            httponly=True,
            samesite="Lax",
        )


def redirect(address: str) -> Response:
    """Return the redirection to an address of this site, after a form as well."""
    return Response(status=303, headers={"Location": address})


def page_below(call: UiCall, address: str) -> str:
    """Return ``address`` if it is that of a page below the mount, on this site; otherwise the first page."""
    first = f"{call.mount}/"
    path = unquote(urlsplit(address).path) if address.startswith(first) and _is_plain(address) else ""
    is_page = path and "\\" not in path and not set(path.split("/")) & {".", ".."}
    is_of_form = address == f"{first}confirm" or path.removeprefix(first) in _OF_FORMS
    return address if is_page and not is_of_form else first


def _is_plain(text: str) -> bool:
    """Return whether the text has nothing that browsers remove or change."""
    return text.isascii() and text.isprintable() and not {" ", "\\"} & set(text)


def _token_of(cookie: str) -> str:
    return sha256(b"a form of these pages\0" + cookie.encode()).hexdigest()
