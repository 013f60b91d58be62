"""Keystone, as keystonemiddleware asks it about tokens, but never for longer than it may take."""

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

import structlog
from keystoneauth1.exceptions import ClientException, ConnectionError, DiscoveryFailure
from keystonemiddleware.auth_token import InvalidToken

from baremetal_sched.errors import AuthenticationUnavailable

log = structlog.get_logger(__name__)

Said = Mapping[str, Any]


class BoundedIdentity:
    """``server`` is keystonemiddleware's own object for Keystone, whose place this takes.

    Keystone may hang, and no timeout of a connection ends what trickles. So it is asked in a thread of its own, which
    is left behind when the time is over. After Keystone did not answer, one request at a time tries whether it does
    again, and all others that would need it are refused at once: they would only keep threads from requests that can
    be served without.
    """

    def __init__(self, server: Any, seconds: float) -> None:
        self._server = server
        self._seconds = seconds
        self._is_suspect = False
        self._trial = threading.Lock()

    def verify_token(self, token: str, **options: Any) -> Said:
        """Return what Keystone says of the token. Raises InvalidToken, AuthenticationUnavailable."""
        if not self._is_suspect:
            return self._ask(token, options)
        if not self._trial.acquire(blocking=False):
            raise AuthenticationUnavailable(reason="Keystone does not answer")
        try:
            return self._ask(token, options)
        finally:
            self._trial.release()

    def invalidate(self) -> None:
        """Forget where Keystone is, and log in again."""
        self._server.invalidate()

    def _ask(self, token: str, options: dict[str, Any]) -> Said:
        answer: Future[Said] = Future()
        work = (copy_context().run, self._answer, answer, token, options)
        threading.Thread(target=work[0], args=work[1:], name="keystone", daemon=True).start()
        try:
            return answer.result(self._seconds)
        except TimeoutError:
            self._is_suspect = True
            log.error("Keystone did not answer in time", seconds=self._seconds)
            raise AuthenticationUnavailable(reason="Keystone does not answer") from None

    def _answer(self, answer: "Future[Said]", token: str, options: dict[str, Any]) -> None:
        try:
            said = _worth_remembering(self._server.verify_token(token, **options))
        except InvalidToken as error:
            self._is_suspect = False
            answer.set_exception(error)
        except Exception as error:
            is_silent = isinstance(error, ConnectionError | DiscoveryFailure)
            self._is_suspect = is_silent
            if isinstance(error, ClientException) and not is_silent:
                self.invalidate()
            log.error("Keystone cannot be asked about a token", reason=f"{type(error).__name__}: {error}")
            reason = "Keystone cannot be reached" if is_silent else "Keystone has an error"
            answer.set_exception(AuthenticationUnavailable(reason=reason))
        else:
            self._is_suspect = False
            answer.set_result(said)


def _worth_remembering(said: Said) -> Said:
    """Drop the token itself, and the catalogue, which is the largest part by far, unless rules of an application
    credential need it."""
    token = said["token"]
    dropped = {"auth_token"}
    if (token.get("application_credential") or {}).get("access_rules") is None:
        dropped.add("catalog")
    return {"token": {name: value for name, value in token.items() if name not in dropped}}
