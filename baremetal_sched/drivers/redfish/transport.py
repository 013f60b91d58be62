"""HTTP with a controller that may be slow, broken or hostile: each answer is limited, and no other host is
contacted."""

import http.client
import io
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Protocol
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from baremetal_sched.drivers import progress

#: The largest answer, in bytes. Registries of messages and settings have a few million.
LARGEST = 8 * 2**20
#: The limits of one call (for example an inspection): the number of answers, and their bytes in total.
MOST_REQUESTS = 2048
MOST_BYTES = 32 * 2**20
_CHUNK = 16 * 2**10
_MOST_REDIRECTS = 3


class Nonsense(Exception):
    """The answer of a controller makes no sense; the text continues "The controller"."""


@dataclass
class _Limits:
    """The remaining limits of requests: when the last may begin (monotonic), their number, and their bytes."""

    until: float
    requests: int
    size: int

    def begin(self) -> None:
        """Count a request. Raises Timeout, Nonsense."""
        if time.monotonic() > self.until:
            raise requests.Timeout("all answers together took too long")
        if self.requests <= 0:
            raise Nonsense(f"has more than {MOST_REQUESTS} resources to read; no machine has so many.")
        self.requests -= 1

    def take(self, size: int) -> None:
        """Count bytes. Raises Nonsense."""
        self.size -= size
        if self.size < 0:
            raise Nonsense(f"answered more than {MOST_BYTES} bytes in all; no machine has so much to say.")


#: The limits of this thread's requests; None: there are none.
_limits: ContextVar[_Limits | None] = ContextVar("redfish_limits", default=None)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Limit the total time of this thread's requests to ``seconds``, and their number and bytes to those of a machine.

    A controller may have a million links to follow. Within another limit only the time can be shortened.
    """
    until = time.monotonic() + seconds
    outer = _limits.get()
    if outer is None:
        limits = _Limits(until, MOST_REQUESTS, MOST_BYTES)
    else:
        limits, before, outer.until = outer, outer.until, min(until, outer.until)
    token = _limits.set(limits)
    try:
        yield
    finally:
        _limits.reset(token)
        if outer is not None:
            outer.until = before


class Transport(requests.Session):
    """Requests to one controller, at ``address``; never to another host, whatever the controller says.

    An answer, from its first byte to the last, has the read time-out, and an end to its size. Before a machine is
    changed it is made sure that this is still wanted (``drivers.progress``). ``login`` says what to send along; it logs
    in again once if the controller does not accept that any more.
    """

    def __init__(self, address: str, login: "Credentials") -> None:
        super().__init__()
        self.trust_env = False  # neither proxies nor passwords from files
        self.max_redirects = _MOST_REDIRECTS
        self.headers["Connection"] = "close"  # many controllers cannot stand others
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter())
        self._origin = _origin(address)
        self._login = login
        self.auth = _unsigned  # sushy must not log in by itself

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **named: Any) -> requests.Response:
        """See requests. Raises Nonsense for another host, CallGivenUp, and what requests raises."""
        self._require_ours(str(url))
        limits = _limits.get()
        if limits is not None:
            limits.begin()
        if method != "GET":
            progress.note()
        sent = self._login.current
        named |= {"allow_redirects": method == "GET", "stream": True}
        response = super().request(method, url, *args, **{**named, "auth": sent or _unsigned})
        if response.status_code == http.client.UNAUTHORIZED and self._login.renew(sent, self):
            response = super().request(method, url, *args, **{**named, "auth": self._login.current or _unsigned})
        if not response.ok and not _is_sound(response):
            response._content = b""  # what the status says counts, and sushy would stumble over the rest
        return response

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """See requests. Raises Nonsense for another host."""
        target: str | None = super().get_redirect_target(resp)
        if target is not None and urlsplit(target).netloc:
            self._require_ours(target)
        return target

    def _require_ours(self, url: str) -> None:
        try:
            is_ours = _origin(url) == self._origin
        except ValueError:
            is_ours = False
        if not is_ours:
            raise Nonsense("refers to another address, which is not followed. Look at driver_info/redfish_address.")


class Credentials(Protocol):
    """The headers that are sent along with requests."""

    #: Adds it to a request; None if there is nothing.
    current: AuthBase | None

    def renew(self, refused: object, transport: Transport) -> bool:
        """Get something other than ``refused``, which was ``current``; False if there is nothing else."""


def _unsigned(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _is_sound(response: requests.Response) -> bool:
    """Return whether the error has the form that the standard defines."""
    try:
        error = response.json().get("error", {})
        said = error.get("@Message.ExtendedInfo") or []
        return isinstance(said, dict) or all(isinstance(each, dict) for each in said)
    except (ValueError, AttributeError, TypeError, RecursionError):
        return False


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


class _BoundedReader(io.RawIOBase):
    """The bytes from a socket until some time, up to LARGEST."""

    def __init__(self, source: io.RawIOBase, sock: socket.socket, until: float) -> None:
        self._source = source
        self._socket = sock
        self._until = until
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer took too long")
        self._socket.settimeout(left)
        count: int | None = self._source.readinto(buffer)
        self._read += count or 0
        if self._read > LARGEST:
            raise Nonsense(f"answered more than {LARGEST} bytes.")
        return count

    def close(self) -> None:
        self._source.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, until: float, **named: Any) -> None:
        super().__init__(sock, *args, **named)
        self.fp = io.BufferedReader(_BoundedReader(self.fp.detach(), sock, until))


class _Bounded(HTTPConnection):
    def getresponse(self) -> Any:
        self.response_class = partial(_Response, until=time.monotonic() + float(self.timeout or 0))  # type: ignore[assignment]
        return super().getresponse()


class _SecureBounded(_Bounded, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Bounded

    def _put_conn(self, conn: Any) -> None:
        """Called when an answer has been read: no connection is used twice, whatever the controller says about that."""
        if conn is not None:
            conn.close()
        super()._put_conn(conn)


class _SecurePool(_Pool, HTTPSConnectionPool):
    ConnectionCls = _SecureBounded


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **named: Any) -> None:
        super().init_poolmanager(*args, **named)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}

    def send(self, *args: Any, **named: Any) -> requests.Response:
        """See requests. The whole answer has been read then."""
        response: requests.Response = super().send(*args, **named)
        content, limits = bytearray(), _limits.get()
        with response:
            for chunk in response.iter_content(_CHUNK):
                content += chunk
                if limits is not None:
                    limits.take(len(chunk))
                if len(content) > LARGEST:
                    raise Nonsense(f"answered more than {LARGEST} bytes.")
        response._content = bytes(content)
        return response
