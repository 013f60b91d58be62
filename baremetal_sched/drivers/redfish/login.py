"""Logging in at controllers: basic authentication, or a session, which is opened again when it has expired."""

import re
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import requests
from requests.auth import AuthBase
from sushy import auth, exceptions

from baremetal_sched.drivers.redfish.driver_info import RedfishTarget
from baremetal_sched.drivers.redfish.transport import Nonsense, Transport

#: In seconds: the time that a call may lose to a controller that does not end the session.
_LOGOUT_SECONDS = 2.0

#: A token that fits into a header.
_TOKEN = re.compile(r"[!-~]{1,8192}")


@dataclass(frozen=True)
class Session(AuthBase):
    """A session at a controller; ``path`` is None if the controller did not report it."""

    token: str = field(repr=False)
    path: str | None

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["X-Auth-Token"] = self.token
        return request


class Login(auth.AuthBase):  # type: ignore[misc]
    """As ``target`` says: ``basic``, ``session``, or ``auto``, which is basic authentication if there are no sessions.

    Without a user nothing is sent. It is used by many threads: see transport.Credentials.
    """

    def __init__(self, target: RedfishTarget) -> None:
        super().__init__()
        self._target = target
        self._lock = threading.Lock()
        self._sessions_path = f"{target.root}SessionService/Sessions"
        self.current: AuthBase | None = None
        if target.auth_type == "basic" and target.username is not None:
            self.current = self._basic()

    def renew(self, refused: object, transport: Transport) -> bool:
        """See Credentials: one thread opens a new session for all. Raises the errors of opening a session."""
        if not isinstance(refused, Session):
            return False
        with self._lock:
            if self.current is refused:
                self.current = self._open(transport)
        return True

    def close(self) -> None:
        """Do nothing: sushy calls this whenever a connection is forgotten, which must not take time."""

    def log_out(self, transport: Transport) -> None:
        """Close the session, if there is one. Whatever goes wrong, it expires some day."""
        session, self.current = self.current, None
        if isinstance(session, Session) and session.path is not None:
            with suppress(Exception):
                self._ask(transport, "DELETE", session.path, auth=session, timeout=_LOGOUT_SECONDS)

    def can_refresh_session(self) -> bool:
        """See sushy, which is not to do that: it knows nothing of threads."""
        return False

    def _do_authenticate(self) -> None:
        """Called by sushy when it has read the root of the service, which says where sessions are."""
        with suppress(AttributeError, TypeError, KeyError):
            path = self._root_resource.json["Links"]["Sessions"]["@odata.id"]
            self._sessions_path = path if path.startswith("/") else self._sessions_path
        if self._target.auth_type != "basic" and self._target.username is not None:
            with self._lock:
                self.current = self._open(self._connector._session)

    def _basic(self) -> AuthBase:
        user, password = self._target.username or "", self._target.password or ""
        return requests.auth.HTTPBasicAuth(user.encode(), password.encode())

    def _open(self, transport: Transport) -> AuthBase:
        """A new session, or basic authentication if there are none and that will do as well."""
        body = {"UserName": self._target.username, "Password": self._target.password or ""}
        timeout = (self._connector._connect_timeout, self._connector._default_request_timeout)
        response = self._ask(transport, "POST", self._sessions_path, auth=transport.auth, json=body, timeout=timeout)
        token = response.headers.get("X-Auth-Token")
        if response.status_code < HTTPStatus.MULTIPLE_CHOICES and token:
            if not _TOKEN.fullmatch(token):
                raise Nonsense("opened a session with a token that cannot be sent.")
            return Session(token, response.headers.get("Location") or _path_in(response))
        if self._target.auth_type == "auto":
            # After 401, too: what answers that may be a guard that knows basic authentication only.
            return self._basic()
        exceptions.raise_for_response("POST", response.url, response)
        raise exceptions.MissingXAuthToken("POST", response.url, response)

    def _ask(self, transport: Transport, method: str, path: str, **named: Any) -> requests.Response:
        """A request that is not repeated with a new session."""
        address, headers = self._target.address, {"OData-Version": "4.0", "Accept-Encoding": "identity"}
        url = path if path.startswith(f"{address}/") else f"{address}/{path.lstrip('/')}"
        named |= {"headers": headers, "verify": self._target.verify_ca, "allow_redirects": False}
        return requests.Session.request(transport, method, url, **named)


def _path_in(response: requests.Response) -> str | None:
    with suppress(ValueError):
        document: Any = response.json()
        path = document.get("@odata.id") if isinstance(document, dict) else None
        return path if isinstance(path, str) else None
    return None
