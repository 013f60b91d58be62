"""HTTP with a total deadline, restricted to allowed hosts.

A socket's time-out applies to each packet, so a server that sends a byte now and then would never exceed it. Here the
connection is shut down at the deadline. A name is resolved once, and the connection is made to the checked address.
"""

import http.client
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from baremetal_sched.baremetal.inspection.addresses import AddressRefused, AllowedHosts

MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_PORTS = {"http": 80, "https": 443}


class CallFailed(Exception):
    """There was no answer, or no valid one. ``sent``: the request, or a part of it, may have reached the server."""

    sent = False


@dataclass(frozen=True)
class Answer:
    """Status and reason of an answer, where it redirects to, and its body if requested."""

    status: int
    reason: str
    location: str | None
    body: bytes


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
    origin = _origin(_split(url))
    for _ in range(MOST_REDIRECTS + 1):
        parts = _split(url)
        sent = headers if _origin(parts) == origin else {}
        proxy = proxies.get(parts.scheme)
        answer = exchange(method, url, headers=sent, proxy=proxy, hosts=hosts, deadline=deadline)
        if answer.status not in _REDIRECTS or not answer.location:
            return url, answer
        url = urljoin(url, answer.location)
    raise CallFailed(f"there were more than {MOST_REDIRECTS} redirects")


def exchange(
    method: str,
    url: str,
    *,
    hosts: AllowedHosts,
    deadline: float,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    proxy: str | None = None,
    context: ssl.SSLContext | None = None,
    most: int | None = None,
) -> Answer:
    """Return the answer to one request, without following a redirect.

    ``context`` says which certificates are trusted; the usual ones by default. ``most`` is the largest body that is
    read, in bytes; by default none is. Raises CallFailed, AddressRefused.
    """
    parts = _split(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    sent = False
    try:
        addresses = _resolve(parts, hosts, deadline)
        through = _split(proxy if "//" in proxy else f"http://{proxy}") if proxy else parts
        connection = _connection(through, parts, context)
        if proxy:
            addresses = _resolve(through, hosts, deadline)
            if parts.scheme == "http":
                target = f"http://{parts.netloc.rpartition('@')[2]}{target}"
        with _connected(connection, addresses, deadline):
            connection.connect()
            sent = True
            connection.request(method, target, body=body, headers={"Connection": "close", **(headers or {})})
            with connection.getresponse() as response:
                content = b"" if most is None else _read(response, most)
                if time.monotonic() >= deadline:
                    # A truncated answer may look complete.
                    raise TimeoutError("timed out")
                return Answer(response.status, response.reason, response.getheader("Location"), content)
    except (OSError, ValueError, http.client.HTTPException) as error:
        late = time.monotonic() >= deadline
        failure = CallFailed("timed out" if late else str(error) or repr(error))
        failure.sent = sent
        raise failure from None


def _read(response: http.client.HTTPResponse, most: int) -> bytes:
    content = response.read(most + 1)
    if len(content) > most:
        raise ValueError(f"the answer is larger than {most} bytes")
    if response.length:
        raise ValueError("the answer was cut off")
    return content


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in _PORTS and parts.hostname and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise CallFailed("that is not an address of HTTP")
    return parts


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, _port(parts)


def _port(parts: SplitResult) -> int:
    return parts.port or _PORTS[parts.scheme]


def _connection(through: SplitResult, parts: SplitResult, context: ssl.SSLContext | None) -> http.client.HTTPConnection:
    assert through.hostname and parts.hostname  # noqa: S101, PT018 - see _split
    if parts.scheme == "http":
        return http.client.HTTPConnection(through.hostname, _port(through))
    connection = http.client.HTTPSConnection(
        through.hostname, _port(through), context=context or ssl.create_default_context()
    )
    if through is not parts:
        connection.set_tunnel(parts.hostname, _port(parts))
    return connection


@contextmanager
def _connected(connection: http.client.HTTPConnection, addresses: list[Any], deadline: float) -> Iterator[None]:
    """Let the connection use one of the addresses, and shut it down at the deadline."""
    guards: list[socket.socket] = []

    def connect(address: object, timeout: object, source: object) -> socket.socket:
        made = _connect(addresses, deadline)
        # TLS takes the socket over; a duplicate still reaches the connection.
        guards.append(made.dup())
        if time.monotonic() >= deadline:
            raise TimeoutError("timed out")
        return made

    def stop() -> None:
        for guard in guards:
            with suppress(OSError):
                guard.shutdown(socket.SHUT_RDWR)

    # http.client uses this to connect, for TLS and tunnels, too.
    connection._create_connection = connect  # type: ignore[attr-defined]
    timer = threading.Timer(max(0.0, deadline - time.monotonic()), stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        connection.close()
        for guard in guards:
            guard.close()


def _connect(addresses: list[Any], deadline: float) -> socket.socket:
    failure: OSError = TimeoutError("timed out")
    for family, kind, protocol, _, address in addresses:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            break
        made = socket.socket(family, kind, protocol)
        made.settimeout(seconds)
        try:
            made.connect(address)
        except OSError as error:
            failure = error
            made.close()
        else:
            return made
    raise failure


def _resolve(parts: SplitResult, hosts: AllowedHosts, deadline: float) -> list[Any]:
    """Return the allowed addresses of a host, in getaddrinfo's form. Raises AddressRefused, OSError."""
    assert parts.hostname  # noqa: S101 - see _split
    found = _look_up(parts.hostname, _port(parts), deadline)
    allowed, refusal = [], None
    for entry in found:
        try:
            hosts.require(parts.hostname, str(entry[4][0]))
        except AddressRefused as error:
            refusal = error
        else:
            allowed.append(entry)
    if not allowed and refusal is not None:
        raise refusal
    return allowed


def _look_up(host: str, port: int, deadline: float) -> list[Any]:
    """Call getaddrinfo, which has no time-out of its own, with a deadline."""
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True, name="resolver").start()
    try:
        found = answers.get(timeout=max(0.0, deadline - time.monotonic()))
    except queue.Empty:
        raise TimeoutError(f"{host} could not be resolved in time") from None
    if isinstance(found, Exception):
        raise OSError(f"{host} could not be resolved: {found}")
    addresses: list[Any] = found
    return addresses
