"""Strategy ``http_basic``: users and passwords of a file, like Ironic's strategy of this name."""

import base64
import binascii
from hashlib import sha256
from typing import TypeVar

import structlog
from flask import Request

from baremetal_sched.errors import AuthenticationUnavailable, NotAuthenticated
from baremetal_sched.settings import Settings
from baremetal_sched.watched_file import WatchedFile
from baremetal_sched.web.authentication import password_file
from baremetal_sched.web.authentication.password_checks import PasswordChecks
from baremetal_sched.web.authentication.password_file import Assignment, roles_path, users_path
from baremetal_sched.web.authentication.strategy import Strategy
from baremetal_sched.web.caller import Caller
from baremetal_sched.web.http_errors import BadRequest

log = structlog.get_logger(__name__)

T = TypeVar("T")

_NO_ROLES = Assignment()


class WrongPassword(NotAuthenticated):
    """The user does not exist, or the password is wrong."""

    template = "Incorrect username or password"


class HttpBasic(Strategy):
    """Without a file of roles, every user can do everything. With one, users have the roles assigned there."""

    challenge = 'Basic realm="baremetal-sched", charset="UTF-8"'
    scope_is_fixed = True

    def __init__(self, settings: Settings) -> None:
        """Read the files. Raises oslo.config's ``cfg.Error`` if one is missing or not valid."""
        super().__init__(settings)
        self._users = WatchedFile(users_path(settings), password_file.parse_users, "The file of users")
        path = roles_path(settings)
        self._roles = None if path is None else WatchedFile(path, password_file.parse_roles, "The file of roles")
        self._checks = PasswordChecks()

    @property
    def roles(self) -> frozenset[str]:
        """Return all roles that users have; empty if users may do everything."""
        users = {} if self._roles is None else self._roles.contents()
        return frozenset(role for given in users.values() for role in given.roles)

    def authenticate(self, http: Request) -> Caller:
        header = http.headers.get("Authorization")
        if header is None:
            raise NotAuthenticated
        name, password = credentials(header)
        self.check(name, password, http.remote_addr or "")
        return self.known(name)[0]

    def check(self, name: str, password: bytes, address: str) -> None:
        """Check a password, for a client at ``address``.

        Raises WrongPassword, TooManyFailedLogins, AuthenticationUnavailable.
        """
        users = _contents(self._users)
        if not self._checks.is_right(users, name, password, address):
            # Unknown names are not logged: a user may have entered a password there.
            log.warning("a log-in failed", address=address, user=name if name in users.hashes else None)
            raise WrongPassword

    def today(self, caller: Caller) -> Caller | None:
        try:
            return self.known(caller.user_id or "")[0]
        except WrongPassword:
            return None

    def known(self, name: str) -> tuple[Caller, str]:
        """Return the user as a caller, and a digest of all that the files say about the user.

        Raises WrongPassword for an unknown user, and AuthenticationUnavailable.
        """
        hashed = _contents(self._users).hashes.get(name)
        if hashed is None:
            raise WrongPassword
        given = None if self._roles is None else _contents(self._roles).get(name, _NO_ROLES)
        digest = sha256(hashed + repr(given).encode()).hexdigest()
        if given is None:
            return Caller(user_id=name, user_name=name, unrestricted=True), digest
        return Caller(name, given.project_id, given.roles, given.system_scope, user_name=name), digest


def _contents(file: WatchedFile[T]) -> T:
    """Return the contents of a file. Raises AuthenticationUnavailable if it can no longer be read."""
    contents = file.contents()
    if file.is_lost:
        raise AuthenticationUnavailable(reason=f"{file.what} cannot be read")
    return contents


def credentials(header: str) -> tuple[str, bytes]:
    """Return user and password of an ``Authorization`` header. Raises BadRequest if it has none."""
    scheme, _, encoded = header.strip().partition(" ")
    if scheme.lower() != "basic":
        raise BadRequest(message="Unsupported authorization type: only Basic is understood.")
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        if colon:
            return name.decode(), password
    except (binascii.Error, ValueError):
        pass
    raise BadRequest(message="The Authorization header must be Basic, a blank, and NAME:PASSWORD in base64.")
