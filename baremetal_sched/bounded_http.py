"""HTTP with limits: a total deadline, a largest answer, and only hosts that may be called.

A socket's time-out applies to each packet, so a server that sends a byte now and then would never exceed it. Here each
packet is waited for until the deadline at most. A name is resolved once, and the connection is made to the checked
address. Nothing else is asked: no proxy that is not named, and no redirect unless its caller follows it.
"""

import http.client
import io
import logging
import queue
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from baremetal_sched.allowed_hosts import AddressRefused, AllowedHosts

# Its lines repeat URLs, which may have tokens in them.
logging.getLogger("urllib3.connection").setLevel(logging.CRITICAL + 1)

MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_PORTS = {"http": 80, "https": 443}

#: Bytes that an answer may have besides its body, such as headers and interim answers.
_HEADERS = 256 * 2**10

#: Where a host can be reached, in getaddrinfo's form.
_Addresses = Sequence[tuple[int, int, int, str, tuple[Any, ...]]]


class CallFailed(Exception):
    """There was no answer, or no valid one. ``sent``: the request, or a part of it, may have reached the server.
    ``late``: the deadline has passed. ``addresses``: those of the host that may be called, if they were found."""

    sent = late = False
    addresses: Sequence[str] = ()


class TooLarge(ValueError):
    """The answer has more bytes than its caller wants."""


@dataclass(frozen=True)
class Answer:
    """Status and reason of an answer, where it redirects to, and its body if requested."""

    status: int
    reason: str
    location: str | None
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def retry_after(self) -> float | None:
        """Return for how many seconds the server wants no further request; None if it does not say, or makes no sense.

        A date is compared with that of the answer, so that only the server's clock counts, or with this machine's.
        """
        text = self.headers.get("Retry-After", "")
        if text.isascii() and text.isdigit():
            return float(text)
        try:
            date = self.headers.get("Date")
            now = datetime.now(UTC) if date is None else parsedate_to_datetime(date)
            return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
        except (ValueError, TypeError):
            return None


def get(
    url: str, *, headers: Mapping[str, str], proxies: Mapping[str, str], hosts: AllowedHosts, deadline: float
) -> tuple[int, str]:
    """Return status and reason of the answer to a GET. Redirects to allowed hosts are followed.

    ``proxies`` has proxy addresses by the scheme that they are used for. ``deadline`` is by ``time.monotonic()``.
    Headers are sent only to the host of ``url``. Raises CallFailed, AddressRefused.
    """
    _, answer = follow("GET", url, headers=headers, proxies=proxies, hosts=hosts, deadline=deadline)
    return answer.status, answer.reason


def follow(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    proxies: Mapping[str, str],
    hosts: AllowedHosts,
    deadline: float,
) -> tuple[str, Answer]:
    """Follow redirects as ``get`` does; return the last URL, and its answer without a body."""
    first = origin(url)
    for _ in range(MOST_REDIRECTS + 1):
        sent = headers if origin(url) == first else {}
        proxy = proxies.get(urlsplit(url).scheme)
        answer = exchange(method, url, headers=sent, proxy=proxy, hosts=hosts, deadline=deadline)
        if answer.status not in _REDIRECTS or not answer.location:
            return url, answer
        url = urljoin(url, answer.location)
    raise CallFailed(f"there were more than {MOST_REDIRECTS} redirects")


def exchange(
    method: str,
    url: str,
    *,
    deadline: float,
    hosts: AllowedHosts | None = None,
    headers: Mapping[str, str] | None = None,
    body: bytes | str | None = None,
    proxy: str | None = None,
    context: ssl.SSLContext | None = None,
    most: int | None = None,
    truncates: bool = False,
    read_timeout: float | None = None,
) -> Answer:
    """Return the answer to one request, without following a redirect.

    Without ``hosts`` any may be called. ``context`` says which certificates are trusted; the usual ones by default.
    ``most`` is the largest body that is read, in bytes; by default none is. A larger body is an error unless
    ``truncates`` is set; then its beginning is returned. With ``read_timeout``, a number of seconds,
    the deadline is that of the connection, and the answer must be complete so long after it. Raises CallFailed,
    AddressRefused.
    """
    parts = _split(url)
    through = _split(proxy if "//" in proxy else f"http://{proxy}") if proxy else parts
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    sent = False
    addresses: _Addresses = ()
    try:
        addresses = _resolve(parts, hosts, deadline)
        if proxy:
            addresses = _resolve(through, hosts, deadline)
            if parts.scheme == "http":
                target = f"http://{parts.netloc.rpartition('@')[2]}{target}"
        with closing(_connection(through, parts, context)) as connection:
            connection.prepare(addresses, deadline, most or 0)
            connection.connect()
            sent = True
            if read_timeout is not None:
                deadline = time.monotonic() + read_timeout
                connection.prepare(addresses, deadline, most or 0)
            named = {**(headers or {}), "Connection": "close"}
            connection.request(method, target, body, named, preload_content=False)
            with closing(connection.getresponse()) as response:
                # Some management controllers compress unasked. urllib3 2.6 and later expand no more than is read here.
                content = b"" if most is None else response.read(most + (not truncates))
                if most is not None and len(content) > most:
                    raise TooLarge(f"the answer is larger than {most} bytes")
                location = response.headers.get("Location")
                return Answer(response.status, response.reason or "", location, content, response.headers)
    except (OSError, ValueError, http.client.HTTPException, HTTPError) as error:
        late = isinstance(error, TimeoutError) or time.monotonic() >= deadline
        failure = CallFailed("timed out" if late else str(error) or repr(error))
        failure.sent, failure.late, failure.addresses = sent, late, [str(each[4][0]) for each in addresses]
        raise failure from error


def require_allowed(url: str, hosts: AllowedHosts, deadline: float) -> None:
    """Raise AddressRefused unless the host of the URL may be called; CallFailed if it has no address in time."""
    try:
        _resolve(_split(url), hosts, deadline)
    except OSError as error:
        raise CallFailed(str(error)) from error


def trusting(verify: bool | str) -> ssl.SSLContext:
    """Return the certificates that are trusted: those in a file or folder, the usual ones, or any.

    Raises OSError and ssl.SSLError for a file that is not there, or has none.
    """
    if isinstance(verify, str):
        is_folder = Path(verify).is_dir()
        return ssl.create_default_context(capath=verify if is_folder else None, cafile=None if is_folder else verify)
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def origin(url: str) -> tuple[str, str | None, int]:
    """Return scheme, host and port. Raises CallFailed for a URL that is not one of HTTP."""
    parts = _split(url)
    return parts.scheme, parts.hostname, _port(parts)


def _split(url: str) -> SplitResult:
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in _PORTS and parts.hostname and parts.port != 0:
            return parts
    raise CallFailed("that is not an address of HTTP")


def _port(parts: SplitResult) -> int:
    return parts.port or _PORTS[parts.scheme]


class _Reader(io.RawIOBase):
    """The data that a socket receives until a deadline, up to ``most`` bytes."""

    def __init__(self, source: io.RawIOBase, sock: socket.socket, deadline: float, most: int) -> None:
        self._source = source
        self._socket = sock
        self._deadline = deadline
        self._most = self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._socket.settimeout(_left(self._deadline))
        count: int | None = self._source.readinto(buffer)
        self._left -= count or 0
        if self._left < 0:
            raise TooLarge(f"the answer is larger than {self._most} bytes")
        return count

    def close(self) -> None:
        self._source.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def _read_status(self) -> tuple[str, int, str]:
        """Called by http.client, for tunnels, too. It skips interim answers with the status 100 only, and none of these
        before a tunnel: 102 and 103 would be taken for the last answer."""
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc] # unknown to typeshed
            if not 100 <= status < 200 or status == http.client.SWITCHING_PROTOCOLS:
                return version, status, reason
            http.client.parse_headers(self.fp)


class _Connection(HTTPConnection):
    def prepare(self, addresses: _Addresses, deadline: float, most: int) -> None:
        """Set where to connect to, and the limits of what comes next. Raises TimeoutError if it is too late."""
        self._addresses, self._deadline, self._most, self.timeout = addresses, deadline, most, _left(deadline)

    def response_class(self, sock: socket.socket, *args: Any, **named: Any) -> http.client.HTTPResponse:  # type: ignore[override]
        """Called by http.client for each answer, that of a proxy, too."""
        response = _Response(sock, *args, **named)
        reader = _Reader(response.fp.detach(), sock, self._deadline, self._most + _HEADERS)
        response.fp = io.BufferedReader(reader)
        return response

    def _new_conn(self) -> socket.socket:
        """Called by urllib3 to connect, for TLS and tunnels, too."""
        return _connect(self._addresses, self._deadline)


class _SecureConnection(_Connection, HTTPSConnection):
    pass


def _connection(through: SplitResult, parts: SplitResult, context: ssl.SSLContext | None) -> _Connection:
    host, port = str(through.hostname), _port(through)
    if parts.scheme == "http":
        return _Connection(host, port)
    connection = _SecureConnection(host, port, ssl_context=context or trusting(True))
    if through is not parts:
        connection.set_tunnel(str(parts.hostname), _port(parts))
    return connection


def _left(deadline: float) -> float:
    """Return the seconds until a deadline. Raises TimeoutError if there are none."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("timed out")
    return seconds


def _connect(addresses: _Addresses, deadline: float) -> socket.socket:
    failure: OSError = TimeoutError("timed out")
    for family, kind, protocol, _, address in addresses:
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(_left(deadline))
            made.connect(address)
            made.settimeout(_left(deadline))
            return made
        except OSError as error:
            failure = error
            made.close()
    raise failure


def _resolve(parts: SplitResult, hosts: AllowedHosts | None, deadline: float) -> _Addresses:
    """Return the allowed addresses of a host. Raises AddressRefused, OSError."""
    host = str(parts.hostname)
    found = _look_up(host, _port(parts), deadline)
    if hosts is None:
        return found
    allowed, refusal = [], None
    for entry in found:
        try:
            hosts.require(host, str(entry[4][0]))
            allowed.append(entry)
        except AddressRefused as error:
            refusal = error
    if not allowed and refusal is not None:
        raise refusal
    return allowed


def _look_up(host: str, port: int, deadline: float) -> _Addresses:
    """Call getaddrinfo, which has no time-out of its own, with a deadline."""
    with suppress(ValueError):
        ip_address(host)
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    answers: queue.SimpleQueue[_Addresses | Exception] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=look_up, daemon=True, name="resolver").start()
    try:
        found = answers.get(timeout=_left(deadline))
    except queue.Empty:
        raise TimeoutError(f"{host} could not be resolved in time") from None
    if isinstance(found, Exception):
        raise OSError(f"{host} could not be resolved: {found}") from found
    return found
