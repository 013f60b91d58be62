"""/login, /logout, /session: where people log in and out, and choose the project for which they act."""

from datetime import UTC, datetime
from functools import partial

from flask import Response

from baremetal_sched.errors import NotAuthenticated
from baremetal_sched.ui import access, guard, sessions
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.guard import SESSION, page_below, redirect
from baremetal_sched.ui.known_browsers import COOKIE
from baremetal_sched.ui.log_ins import KeystoneLogIns, LogIns, NotLoggedIn, Person
from baremetal_sched.ui.rendering import page
from baremetal_sched.ui.sessions import SessionRow
from baremetal_sched.web.caller import Caller
from baremetal_sched.web.http_errors import PathNotFound, RefusedRequest

_NO_CHANGE = "Keystone gives you no token for this project. Choose another one, or log in again."


def show_login(call: UiCall, session: None) -> Response:
    """GET /login: the form; people who are logged in go back to the page ``next``. Raises PathNotFound if there is
    no log-in."""
    call.refuse_unknown(("next",))
    log_ins, after = _log_ins(call), page_below(call, dict(call.query).get("next", ""))
    if guard.admit(call) is not None:
        return redirect(after)
    return _login_page(call, log_ins, after)


def log_in(call: UiCall, session: None) -> Response:
    """POST /login: begin a session, and go back to the page ``next``.

    Raises RefusedRequest where log-in is refused, PathNotFound, TooManyFailedLogins, AuthenticationUnavailable.
    """
    log_ins, after = _log_ins(call), page_below(call, call.form.get("next", ""))
    refusal = log_ins.refusal or access.why_no_passwords(call.http.environ)
    if refusal is not None:
        raise RefusedRequest(403, refusal)
    try:
        new = log_ins.log_in(call.form, call.http)
    except NotLoggedIn as error:
        return _login_page(call, log_ins, after, 401, str(error))
    call.caller = new.person.caller
    cookie, old = sessions.new_value(), call.http.cookies.get(SESSION)
    ended = call.page_access.database.change(
        partial(
            sessions.begin,
            cookie=cookie,
            person=new.person.caller.user_id or "",
            expires_at=new.expires_at,
            replaced=old,
            values=new.values,
        ),
        deadline=call.deadline,
    )
    log_ins.revoke(ended)
    call.new_cookies |= {SESSION: cookie, COOKIE: log_ins.browser_cookie(call.form)}
    return redirect(after)


def show_session(call: UiCall, session: None) -> Response:
    """GET /session: who is logged in, until when; the projects to choose from. Raises NotAuthenticated, PathNotFound if
    there is no log-in, AuthenticationUnavailable."""
    call.refuse_unknown(("next",))
    return _session_page(call, *_session(call), page_below(call, dict(call.query).get("next", "")))


def choose_scope(call: UiCall, session: None) -> Response:
    """POST /session: act for another project, or for the system, and go back to the page ``next``.

    Raises NotAuthenticated, PathNotFound if the session has one scope or there is no log-in,
    AuthenticationUnavailable.
    """
    (log_ins, person, row), after = _session(call), page_below(call, call.form.get("next", ""))
    if not isinstance(log_ins, KeystoneLogIns) or row.is_fixed:
        raise PathNotFound
    try:
        tokens, expires_at = log_ins.change_scope(person, call.form.get("project") or None)
    except NotAuthenticated:
        return _session_page(call, log_ins, person, row, after, 403, _NO_CHANGE)
    cookie = sessions.new_value()
    renew = partial(sessions.renew, row=row, cookie=cookie, tokens=tokens, expires_at=expires_at)
    is_renewed = call.page_access.database.change(renew, deadline=call.deadline)
    # The token of the log-in is still in use.
    log_ins.revoke([row.tokens if is_renewed else tokens], kept=1)
    if not is_renewed:
        raise NotAuthenticated
    call.new_cookies[SESSION] = cookie
    return redirect(after)


def log_out(call: UiCall, session: None) -> Response:
    """POST /logout: end the session, or all sessions of the person, whether Keystone answers or not."""
    log_ins, row = _log_ins(call), call.row
    if row is None:
        raise NotAuthenticated
    call.caller = Caller(row.person)
    stored: list[str | None] = [row.tokens]
    if call.form.get("everywhere"):
        end_all = partial(sessions.end_all, person=row.person)
        stored = [*call.page_access.database.change(end_all, deadline=call.deadline)]
    else:
        guard.end(call, row)
    log_ins.revoke(stored)
    call.new_cookies[SESSION] = ""
    return redirect(f"{call.mount}/login")


def _log_ins(call: UiCall) -> LogIns:
    if call.page_access.log_ins is None:
        raise PathNotFound
    return call.page_access.log_ins


def _session(call: UiCall) -> tuple[LogIns, Person, SessionRow]:
    log_ins, person = _log_ins(call), guard.admit(call)
    if person is None or call.row is None:
        raise NotAuthenticated
    return log_ins, person, call.row


def _login_page(call: UiCall, log_ins: LogIns, after: str, status: int = 200, message: str | None = None) -> Response:
    guard.begin_form(call)
    refusal = log_ins.refusal or access.why_no_passwords(call.http.environ)
    given = call.form if status != 200 else {}
    return page(call, "login.html", status, after=after, message=message, refusal=refusal, log_ins=log_ins, given=given)


def _session_page(
    call: UiCall,
    log_ins: LogIns,
    person: Person,
    row: SessionRow,
    after: str,
    status: int = 200,
    message: str | None = None,
) -> Response:
    try:
        scopes = log_ins.scopes(person) if isinstance(log_ins, KeystoneLogIns) and not row.is_fixed else []
    except NotAuthenticated:
        guard.end(call, row)  # the token in use may be valid still, so that /login would lead back here
        raise
    ends = datetime.fromtimestamp(row.expires_at, UTC).replace(tzinfo=None)
    values = {"after": after, "message": message, "scopes": scopes, "holder": person.caller, "ends": ends}
    return page(call, "session.html", status, **values)
