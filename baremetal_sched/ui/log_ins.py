"""How people log in to the pages: with the file of users, or with Keystone."""

import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from flask import Request
from sqlalchemy import ColumnElement
from werkzeug.datastructures import MultiDict

from baremetal_sched import auth_settings, commands
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.keyring import CannotDecrypt, keyring_of
from baremetal_sched.db.sealing import opened, sealed_text
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import AuthenticationUnavailable, NotAuthenticated
from baremetal_sched.settings import Settings
from baremetal_sched.ui import known_browsers
from baremetal_sched.ui.sessions import SessionRow
from baremetal_sched.web import slots
from baremetal_sched.web.authentication import Strategy
from baremetal_sched.web.caller import CALLER, Caller

if TYPE_CHECKING:  # what not every strategy needs
    from baremetal_sched.web.authentication.http_basic import HttpBasic
    from baremetal_sched.web.authentication.keystone import Keystone
    from baremetal_sched.web.authentication.keystone_client import TokenScope

#: Seconds that a session with the file of users may last.
_DAY_SECONDS = 86_400.0

_NO_PLACE = "Log-in is refused: the settings do not say where Keystone is ([keystone_authtoken] auth_url)."
_NO_ROLE = "You have no role in any project, nor in the system. Ask an administrator of Keystone for one."
_NO_PAGES = "The access rules of this application credential do not allow these pages."


class NotLoggedIn(NotAuthenticated):
    """These credentials are refused; the message is for the person."""

    template = "{message}"


@dataclass(frozen=True)
class Person:
    """A person who is logged in: the caller, and the entries of a WSGI environment that say so to an API. ``tokens``:
    those of Keystone, the one of the log-in first, and the one in use last; none with the file of users."""

    caller: Caller
    credentials: Mapping[str, Any]
    tokens: tuple[str, ...] = ()

    @property
    def has_no_scope(self) -> bool:
        """Return whether the person must choose a project or the system first."""
        return self.caller.project_id is None and not self.caller.system_scope and bool(self.tokens)


@dataclass(frozen=True)
class NewSession:
    """A person who has just logged in, and the columns of the session."""

    person: Person
    expires_at: float | ColumnElement[float]
    values: dict[str, Any] = field(default_factory=dict)


class LogIns(ABC):
    """One way to log in. ``refusal``: why every log-in is refused, and ``remedy``: a command that helps; None: it is
    not."""

    refusal: str | None = None
    remedy: str | None = None
    #: Whether this is Keystone, whose users have domains and projects.
    has_projects: bool = False
    #: The credentials that programs send with a request.
    sent_by_programs = "a name and a password"

    def __init__(self) -> None:
        from baremetal_sched.web.authentication.password_checks import LoginLimits  # imports bcrypt

        self._names = LoginLimits("with this name")

    def log_in(self, form: MultiDict[str, str], http: Request) -> NewSession:
        """Return the person whose credentials are in the form. Few log-ins with a name may fail in each process, except
        from browsers from which the person has logged in before.

        Raises NotLoggedIn, TooManyFailedLogins, AuthenticationUnavailable.
        """
        # Databases take a name with blanks behind it for the same.
        name = self.name_in(form).casefold().strip()[:255]
        is_known = known_browsers.is_known(
            http.cookies.get(known_browsers.COOKIE, ""), self.keys(form), self._person_in(form)
        )
        if is_known:
            return self.check(form, http)
        self._names.count(name)
        is_guessed = False
        try:
            return self.check(form, http)
        except NotLoggedIn:
            is_guessed = True
            raise
        finally:
            if not is_guessed:
                self._names.give_back(name)

    def browser_cookie(self, form: MultiDict[str, str]) -> str:
        """Return the cookie by which the browser that has sent the form is known from now on; empty without a key."""
        return next((known_browsers.new_value(key, self._person_in(form)) for key in self.keys(form)), "")

    def _person_in(self, form: MultiDict[str, str]) -> str:
        """Whom the form names: names are unique in their domains."""
        return f"{form.get('domain', '')}\0{self.name_in(form)}"

    def name_in(self, form: MultiDict[str, str]) -> str:
        """Return the name in the form."""
        return form.get("user", "")

    @abstractmethod
    def keys(self, form: MultiDict[str, str]) -> Sequence[bytes]:
        """Return the keys for cookies of this person's browsers, the one that makes them first; empty: there are none.

        Raises AuthenticationUnavailable.
        """

    @abstractmethod
    def check(self, form: MultiDict[str, str], http: Request) -> NewSession:
        """Return the person whose credentials are in the form. Raises like ``log_in``."""

    @abstractmethod
    def person(self, row: SessionRow, http: Request) -> Person:
        """Return the person of a session for this request. Raises NotAuthenticated if the session is not valid any
        more, AuthenticationUnavailable."""

    def revoke(self, stored: Iterable[str | None], *, kept: int = 0) -> None:  # noqa: B027 - not every way has tokens
        """Revoke the tokens that sessions had, except the first ``kept`` of each, as far as that is possible now."""


class FileLogIns(LogIns):
    """The users of ``[api] auth_strategy = http_basic``."""

    def __init__(self, strategy: Strategy) -> None:
        super().__init__()
        self._users = cast("HttpBasic", strategy)

    def keys(self, form: MultiDict[str, str]) -> Sequence[bytes]:
        # What the files say about the person is known to every process, and to nobody else.
        with suppress(NotAuthenticated):
            return [self._users.known(self.name_in(form))[1].encode()]
        return []

    def check(self, form: MultiDict[str, str], http: Request) -> NewSession:
        name = self.name_in(form)
        try:
            self._users.check(name, form.get("password", "").encode(), http.remote_addr or "")
            caller, entry = self._users.known(name)
        except NotAuthenticated:
            raise NotLoggedIn(message="The name or the password is wrong.") from None
        return NewSession(self._person(caller), epoch() + _DAY_SECONDS, {"entry": entry, "is_fixed": True})

    def person(self, row: SessionRow, http: Request) -> Person:
        caller, entry = self._users.known(row.person)
        if entry != row.entry:
            raise NotAuthenticated
        return self._person(caller)

    @staticmethod
    def _person(caller: Caller) -> Person:
        return Person(caller, {CALLER: caller})


class KeystoneLogIns(LogIns):
    """The users of a Keystone, with a password or an application credential. Failed log-ins of one address are limited
    like those with the file of users."""

    has_projects = True
    sent_by_programs = "a token of Keystone in the header X-Auth-Token"
    #: Replaced by tests.
    pause: Callable[[float], None] = staticmethod(time.sleep)

    def __init__(self, strategy: Strategy, settings: Settings) -> None:
        from baremetal_sched.web.authentication.password_checks import LoginLimits  # imports bcrypt

        super().__init__()
        self._strategy = strategy
        self._client = cast("Keystone", strategy).as_client()
        self._keyring = keyring_of(settings.database.secrets_key_file)
        self._addresses = LoginLimits()
        if not self._keyring.path:
            self.refusal = (
                "Log-in is refused: the service stores tokens encrypted only, and has no key for that. Make one, "
                "name its file in [database] secrets_key_file, and start the service again."
            )
            self.remedy = f"(umask 077; {commands.GENERATE_KEY} > /etc/baremetal-sched/secrets.keys)"
        elif not self._client.url:
            self.refusal = _NO_PLACE

    def name_in(self, form: MultiDict[str, str]) -> str:
        # Application credentials have ids, which are not those of users.
        return form.get("application_credential_id") or form.get("user", "")

    def keys(self, form: MultiDict[str, str]) -> Sequence[bytes]:
        return self._keyring.derived("known browsers")

    def check(self, form: MultiDict[str, str], http: Request) -> NewSession:
        address = http.remote_addr or ""
        self._addresses.count(address)
        began = time.monotonic()
        with slots.waiting():
            try:
                new = self._new_session(form, http)
            except AuthenticationUnavailable:  # nothing was guessed
                self._addresses.give_back(address)
                raise
            except NotAuthenticated as error:
                # Keystone is slower for users that exist: it hashes their passwords. Whole seconds do not tell.
                taken = time.monotonic() - began
                self.pause(math.ceil(taken) - taken)
                raise NotLoggedIn(message=str(error)) from None
        self._addresses.give_back(address)
        return new

    def _new_session(self, form: MultiDict[str, str], http: Request) -> NewSession:
        ident = form.get("application_credential_id", "")
        if ident:
            secret = form.get("application_credential_secret", "")
            issued = [self._client.by_application_credential(ident, secret)]
        else:
            user, domain = form.get("user", ""), form.get("domain") or "Default"
            issued = [self._client.by_password(user, domain, form.get("password", ""))]
            scopes = self._client.scopes(issued[0].value)
            if not scopes:
                raise NotLoggedIn(message=_NO_ROLE)
            if len(scopes) == 1:
                issued.append(self._client.in_scope(issued[0].value, scopes[0].id or None))
        tokens = [each.value for each in issued]
        try:
            # As for a page: the rules of an application credential may allow none.
            person = self._person(tokens, http, PATH_INFO="/", REQUEST_METHOD="GET")
        except NotAuthenticated:
            raise NotLoggedIn(message=_NO_PAGES) from None
        return NewSession(person, issued[-1].expires_at, {"tokens": self._sealed(tokens), "is_fixed": bool(ident)})

    def person(self, row: SessionRow, http: Request) -> Person:
        return self._person(self._opened(row.tokens), http)

    def _person(self, tokens: Sequence[str], http: Request, **more: str) -> Person:
        """Validate the token in use as the APIs do. Raises NotAuthenticated, AuthenticationUnavailable."""
        credentials = {"HTTP_X_AUTH_TOKEN": tokens[-1]}
        environ = {**http.environ, **more, **credentials}
        environ.pop("HTTP_X_SERVICE_TOKEN", None)
        return Person(self._strategy.authenticate(Request(environ)), credentials, tuple(tokens))

    def revoke(self, stored: Iterable[str | None], *, kept: int = 0) -> None:
        found: list[str] = []
        for each in stored:
            with suppress(NotAuthenticated):
                found += self._opened(each)[kept:]
        if not found:
            return
        with slots.waiting():
            self._client.revoke(found)

    def scopes(self, person: Person) -> "list[TokenScope]":
        """Return the scopes that the person can choose. Raises NotAuthenticated, AuthenticationUnavailable."""
        with slots.waiting():
            return self._client.scopes(person.tokens[0])

    def change_scope(self, person: Person, project_id: str | None) -> tuple[str, float]:
        """Return the tokens, sealed, of the person in another project, or in the system (None), and when they expire.

        Raises NotAuthenticated if Keystone refuses, AuthenticationUnavailable.
        """
        with slots.waiting():
            issued = self._client.in_scope(person.tokens[0], project_id)
        return self._sealed([person.tokens[0], issued.value]), issued.expires_at

    def _sealed(self, tokens: Sequence[str]) -> str:
        return sealed_text(json.dumps(tokens), self._keyring)

    def _opened(self, stored: str | None) -> list[str]:
        """Return the tokens of a session. Raises NotAuthenticated if it has none, or their key is missing."""
        if stored is None:
            raise NotAuthenticated
        try:
            tokens: list[str] = json.loads(opened(stored, self._keyring))
        except CannotDecrypt:
            raise NotAuthenticated from None
        return tokens


@dataclass(frozen=True)
class PageAccess:
    """How pages know who asks for them. ``log_ins``: how people log in; None: they do not. ``database``: where their
    sessions are. ``is_open``: everybody may do everything."""

    log_ins: LogIns | None
    database: Database
    is_open: bool


def make(settings: Settings, strategy: Strategy, database: Database) -> PageAccess:
    """Return how people log in with these settings."""
    return PageAccess(_log_ins(settings, strategy), database, auth_settings.is_open(settings))


def _log_ins(settings: Settings, strategy: Strategy) -> LogIns | None:
    match settings.api.auth_strategy:
        case "http_basic":
            return FileLogIns(strategy)
        case "keystone":
            return KeystoneLogIns(strategy, settings)
        case _:
            return None
