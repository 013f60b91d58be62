"""HTTP with a controller that may be slow, broken or hostile: each answer is limited, and no other host is
contacted."""

import http.client
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Protocol
from urllib.parse import urlsplit

import requests
from requests.adapters import BaseAdapter
from requests.auth import AuthBase
from requests.utils import DEFAULT_CA_BUNDLE_PATH, get_encoding_from_headers

from baremetal_sched import bounded_http
from baremetal_sched.bounded_http import CallFailed, TooLarge, origin
from baremetal_sched.drivers import progress

#: The largest answer, in bytes. Registries of messages and settings have a few million.
LARGEST = 8 * 2**20
#: The limits of one call (for example an inspection): the number of answers, and their bytes in total.
MOST_REQUESTS = 2048
MOST_BYTES = 32 * 2**20
_MOST_REDIRECTS = 3
#: How often a read is repeated while the controller is busy, and after how many seconds: as long as it wants, up to the
#: longest pause.
_MOST_REPEATS = 10
_PAUSE, _LONGEST_PAUSE = 3.0, 10.0
#: Seconds after its start until which a call for which a request waits, waits for a busy controller.
_AWAITED_SECONDS = 15.0


class Nonsense(Exception):
    """The answer of a controller makes no sense; the text continues "The controller"."""


@dataclass
class _Limits:
    """The remaining limits of requests: when the last may begin (monotonic), their number, and their bytes. ``begun``:
    when the first might."""

    begun: float
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
    now = time.monotonic()
    until = now + seconds
    outer = _limits.get()
    if outer is None:
        limits = _Limits(now, until, MOST_REQUESTS, MOST_BYTES)
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
    in again once if the controller no longer accepts that. Reads are repeated while the controller is busy
    (503), and once after another failure of it; nothing else is ever sent twice.
    """

    def __init__(self, address: str, login: "Credentials") -> None:
        super().__init__()
        self.trust_env = False  # neither proxies nor passwords from files
        self.max_redirects = _MOST_REDIRECTS
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter())
        self._origin = origin(address)
        self._login = login
        self.auth = _unsigned  # sushy must not log in by itself

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **named: Any) -> requests.Response:
        """See requests. Raises Nonsense for another host, CallGivenUp, and what requests raises."""
        self._require_ours(str(url))
        response = self._ask(method, url, *args, **named)
        repeats = 0
        while method == "GET" and response.status_code >= http.client.INTERNAL_SERVER_ERROR:
            pause = _pause(response, repeats, sum(named["timeout"]))
            if pause is None:
                break
            time.sleep(pause)
            progress.note()
            repeats += 1
            response = self._ask(method, url, *args, **named)
        return response

    def _ask(self, method: str | bytes, url: str | bytes, *args: Any, **named: Any) -> requests.Response:
        limits = _limits.get()
        if limits is not None:
            limits.begin()
        if method != "GET":
            progress.note()
        sent = self._login.current
        named |= {"allow_redirects": method == "GET"}
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
            is_ours = origin(url) == self._origin
        except CallFailed:
            is_ours = False
        if not is_ours:
            raise Nonsense("refers to another address, which is not followed. Look at driver_info/redfish_address.")


def _pause(response: requests.Response, repeats: int, seconds: float) -> float | None:
    """Return for how long to wait before a read that failed is repeated, after so many repeats; None: it is not.
    ``seconds``: what a request may take."""
    if response.status_code != http.client.SERVICE_UNAVAILABLE:
        return None if repeats else 0.0
    if repeats >= (1 if progress.is_in_passing() else _MOST_REPEATS):
        return None
    wanted = bounded_http.Answer(response.status_code, response.reason, None, b"", response.headers).retry_after
    pause = _PAUSE if wanted is None else min(wanted, _LONGEST_PAUSE)
    limits = _limits.get()
    if limits is None:
        return pause
    ends = time.monotonic() + pause
    is_late = ends + seconds > limits.until or (not progress.is_noted() and ends > limits.begun + _AWAITED_SECONDS)
    return None if is_late else pause


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


class _Adapter(BaseAdapter):
    """Sends each request over a connection of its own: many controllers cannot stand others."""

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> requests.Response:
        """See requests. The whole answer has been read then. Raises Nonsense for one that is too large."""
        connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
        context = _context(verify) if isinstance(verify, bool) else bounded_http.trusting(verify)
        try:
            answer = bounded_http.exchange(
                str(request.method),
                str(request.url),
                deadline=time.monotonic() + connect,
                read_timeout=read,
                headers=request.headers,
                body=request.body,
                context=context,
                most=LARGEST,
            )
        except CallFailed as error:
            if isinstance(error.__cause__, TooLarge):
                raise Nonsense(f"answered more than {LARGEST} bytes.") from None
            is_deaf = error.late and not error.sent
            raise (requests.ConnectTimeout if is_deaf else requests.ConnectionError)(error) from error
        limits = _limits.get()
        if limits is not None:
            limits.take(len(answer.body))
        return _response(request, answer)

    def close(self) -> None:
        """Do nothing: nothing is kept."""


@cache
def _context(verify: bool) -> ssl.SSLContext:
    """Return the certificates that requests trusts, or any."""
    return bounded_http.trusting(DEFAULT_CA_BUNDLE_PATH if verify else False)


def _response(request: requests.PreparedRequest, answer: bounded_http.Answer) -> requests.Response:
    response = requests.Response()
    response.request, response.url = request, str(request.url)
    response.status_code, response.reason = answer.status, answer.reason
    response.headers.update(answer.headers)
    response.encoding = get_encoding_from_headers(response.headers)
    response._content = answer.body
    return response
