"""Keystone as keystonemiddleware uses it to validate tokens, with a time limit."""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, TypeVar

import structlog
from keystoneauth1.exceptions import ClientException, ConnectionError, DiscoveryFailure
from keystonemiddleware.auth_token import InvalidToken

from baremetal_sched.errors import AuthenticationUnavailable

log = structlog.get_logger(__name__)

Said = Mapping[str, Any]
T = TypeVar("T")


class BoundedIdentity:
    """A replacement of keystonemiddleware's object for Keystone, which it wraps as ``server``.

    Keystone may hang, and connection time-outs do not end a trickling answer. So it is called in a separate thread,
    which is abandoned after the time limit. After that, one request at a time tries Keystone again, and all others that
    need it are refused at once: they would only take threads from requests that can be served without it.
    """

    def __init__(self, server: Any, seconds: float) -> None:
        self._server = server
        self._seconds = seconds
        self._is_suspect = False
        self._trial = threading.Lock()

    def verify_token(self, token: str, **options: Any) -> Said:
        """Return Keystone's description of the token. Raises InvalidToken, AuthenticationUnavailable."""
        if not self._is_suspect:
            return self._ask(token, options)
        if not self._trial.acquire(blocking=False):
            raise AuthenticationUnavailable(reason="Keystone does not answer")
        try:
            return self._ask(token, options)
        finally:
            self._trial.release()

    def invalidate(self) -> None:
        """Forget Keystone's endpoint, and log in again."""
        self._server.invalidate()

    def _ask(self, token: str, options: dict[str, Any]) -> Said:
        try:
            return within(self._seconds, lambda: self._answer(token, options))
        except TimeoutError:
            self._is_suspect = True
            log.error("Keystone did not answer in time", seconds=self._seconds)
            raise AuthenticationUnavailable(reason="Keystone does not answer") from None

    def _answer(self, token: str, options: dict[str, Any]) -> Said:
        try:
            said = _worth_remembering(self._server.verify_token(token, **options))
        except InvalidToken:
            self._is_suspect = False
            raise
        except Exception as error:
            is_silent = isinstance(error, ConnectionError | DiscoveryFailure)
            self._is_suspect = is_silent
            if isinstance(error, ClientException) and not is_silent:
                self.invalidate()
            log.error("Keystone cannot be asked about a token", reason=f"{type(error).__name__}: {error}")
            reason = "Keystone cannot be reached" if is_silent else "Keystone has an error"
            raise AuthenticationUnavailable(reason=reason) from None
        self._is_suspect = False
        return said


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of ``work``, which is done in a thread of its own, or raise its error.

    Raises TimeoutError after so many seconds; the thread is abandoned then.
    """
    answer: Future[T] = Future()

    def do() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=copy_context().run, args=(do,), name="keystone", daemon=True).start()
    return answer.result(seconds)


def _worth_remembering(said: Said) -> Said:
    """Remove the token itself, and the catalogue, which is by far the largest part, unless rules of an application
    credential need it."""
    token = said["token"]
    dropped = {"auth_token"}
    if (token.get("application_credential") or {}).get("access_rules") is None:
        dropped.add("catalog")
    return {"token": {name: value for name, value in token.items() if name not in dropped}}
