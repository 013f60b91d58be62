"""A GET with a deadline for all of it, of hosts that may be called only."""

import gzip
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from baremetal_sched import bounded_http
from baremetal_sched.allowed_hosts import AddressRefused, AllowedHosts
from baremetal_sched.bounded_http import CallFailed
from tests.clocks import ClockWithTimers
from tests.waiting import PATIENCE

LOCAL = AllowedHosts([], loopback=True)

#: Serves a connection: what was asked for is read already.
Serve = Callable[[socket.socket, bytes], None]


@pytest.fixture
def listen() -> Iterator[Callable[[Serve], int]]:
    """Starts servers on 127.0.0.1; returns their ports."""
    with ExitStack() as stack:
        stop = threading.Event()

        def start(serve: Serve) -> int:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            server.settimeout(0.05)

            def run() -> None:
                while not stop.is_set():
                    try:
                        connection, _ = server.accept()
                    except TimeoutError:
                        continue
                    except OSError:
                        return
                    with connection:
                        connection.settimeout(PATIENCE)
                        with suppress(OSError):
                            serve(connection, connection.recv(65536))

            thread = threading.Thread(target=run)
            thread.start()
            stack.callback(thread.join)
            stack.callback(stop.set)
            return int(server.getsockname()[1])

        yield start


def answer(text: str) -> Serve:
    return lambda connection, request: connection.sendall(text.encode())


def get(url: str, *, hosts: AllowedHosts = LOCAL, seconds: float = PATIENCE, **options: Any) -> tuple[int, str]:
    given: dict[str, Any] = {"headers": {}, "proxies": {}, **options}
    return bounded_http.get(url, hosts=hosts, deadline=time.monotonic() + seconds, **given)


def test_status_and_reason_of_the_answer(listen: Callable[[Serve], int]) -> None:
    requests: list[bytes] = []

    def serve(connection: socket.socket, request: bytes) -> None:
        requests.append(request)
        connection.sendall(b"HTTP/1.1 503 Not now\r\n\r\n")

    port = listen(serve)
    assert get(f"http://127.0.0.1:{port}/a/b?c=d#e", headers={"X-Token": "t"}) == (503, "Not now")
    assert requests[0].startswith(b"GET /a/b?c=d HTTP/1.1\r\n")
    assert b"\r\nX-Token: t\r\n" in requests[0]
    assert f"\r\nHost: 127.0.0.1:{port}\r\n".encode() in requests[0]


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 ", b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\n"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_drips_is_not_waited_for(
    listen: Callable[[Serve], int], head: bytes, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says nothing any more once the connection is shut down, which is when the time is over."""
    clock, pause, to_the_end = ClockWithTimers(), threading.Event(), list[bool]()
    clock.replace(monkeypatch, bounded_http)

    def drip(connection: socket.socket, request: bytes) -> None:
        connection.sendall(head)
        clock.go_on(50)
        for _ in range(1000):
            pause.wait(0.01)
            connection.sendall(b"x")
        to_the_end.append(True)

    port = listen(drip)
    with pytest.raises(CallFailed):
        get(f"{scheme}://127.0.0.1:{port}/", seconds=40)
    assert not to_the_end


def test_a_name_that_is_not_resolved_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    released, resolved = threading.Event(), threading.Event()

    def resolve(*arguments: Any, **options: Any) -> list[Any]:
        released.wait(PATIENCE)
        resolved.set()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(CallFailed, match="timed out"):
        get("http://slow.example.com/", seconds=0.1)
    assert not resolved.is_set()
    released.set()


def test_a_host_that_may_not_be_called_is_not_connected_to(listen: Callable[[Serve], int]) -> None:
    requests: list[bytes] = []
    port = listen(lambda connection, request: requests.append(request))
    strict = AllowedHosts([], loopback=False)
    for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0", "2130706433", "0x7f.1", "127.1"):
        with pytest.raises((AddressRefused, CallFailed)):
            get(f"http://{host}:{port}/", hosts=strict)
    with pytest.raises(AddressRefused, match="link-local"):
        get("http://169.254.169.254/latest/meta-data")
    assert not requests


def test_redirects_are_followed_to_hosts_that_may_be_called(listen: Callable[[Serve], int]) -> None:
    requests: list[bytes] = []

    def note(connection: socket.socket, request: bytes) -> None:
        requests.append(request)
        connection.sendall(b"HTTP/1.1 204 Done\r\n\r\n")

    last = listen(note)
    first = listen(answer(f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{last}/x\r\n\r\n"))
    assert get(f"http://127.0.0.1:{first}/", headers={"X-Auth-Token": "secret"}) == (204, "Done")
    assert requests[0].startswith(b"GET /x ")
    assert b"secret" not in requests[0]


def test_redirects_that_are_not_followed(subtests: pytest.Subtests, listen: Callable[[Serve], int]) -> None:
    for location, error in [
        ("http://169.254.169.254/", AddressRefused),
        ("//[fe80::1]/", AddressRefused),
        ("file:///etc/passwd", CallFailed),
        ("gopher://127.0.0.1/", CallFailed),
        ("/again", CallFailed),
    ]:
        with subtests.test(location=location):
            port = listen(answer(f"HTTP/1.1 301 Moved\r\nLocation: {location}\r\n\r\n"))
            with pytest.raises(error):
                get(f"http://127.0.0.1:{port}/")


def test_a_name_is_resolved_once(listen: Callable[[Serve], int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection goes to the checked address, even if the name leads somewhere else a moment later."""
    port = listen(answer("HTTP/1.1 200 OK\r\n\r\n"))
    answers = [["127.0.0.1"], ["169.254.169.254"]]

    def resolve(host: str, port: int, **options: Any) -> list[Any]:
        addresses = answers.pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert get(f"http://rebound.example.com:{port}/") == (200, "OK")
    with pytest.raises(AddressRefused, match="link-local"):
        get(f"http://rebound.example.com:{port}/")


def test_of_several_addresses_those_are_taken_that_may_be(
    listen: Callable[[Serve], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = listen(answer("HTTP/1.1 200 OK\r\n\r\n"))

    def resolve(host: str, port: int, **options: Any) -> list[Any]:
        addresses = ["169.254.169.254", "127.0.0.1"]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert get(f"http://h.example.com:{port}/") == (200, "OK")


def test_a_proxy_is_asked_for_the_whole_address(listen: Callable[[Serve], int]) -> None:
    requests: list[bytes] = []

    def serve(connection: socket.socket, request: bytes) -> None:
        requests.append(request)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

    proxy = f"http://127.0.0.1:{listen(serve)}"
    assert get("http://192.0.2.7/x?y", proxies={"http": proxy}) == (200, "OK")
    assert requests[0].startswith(b"GET http://192.0.2.7/x?y HTTP/1.1\r\n")
    with pytest.raises(CallFailed):
        get("https://192.0.2.7/", proxies={"https": proxy})
    assert requests[1].startswith(b"CONNECT 192.0.2.7:443 ")
    with pytest.raises(AddressRefused):
        get("http://169.254.169.254/", proxies={"http": proxy})
    with pytest.raises(AddressRefused):
        get("http://192.0.2.7/", proxies={"http": "http://169.254.169.254:3128"})


def test_what_is_no_address(subtests: pytest.Subtests) -> None:
    for url in ["http://", "http://[x/", "http://h:0/", "http://h:99999/", "ftp://h/", "http://h h/", ""]:
        with subtests.test(url=url), pytest.raises(CallFailed):
            get(url)


def test_what_is_no_answer(subtests: pytest.Subtests, listen: Callable[[Serve], int]) -> None:
    for text in ["", "nonsense\r\n\r\n", "HTTP/1.1 x\r\n\r\n", "HTTP/1.1 200 OK\r\n" + "A: b\r\n" * 200]:
        with subtests.test(text=text):
            port = listen(answer(text))
            with pytest.raises(CallFailed):
                get(f"http://127.0.0.1:{port}/")


def test_interim_answers_are_not_the_last_one(subtests: pytest.Subtests, listen: Callable[[Serve], int]) -> None:
    """RFC 9110 15.2; the answer of a proxy that makes a tunnel has them, too. 101 is the last one."""
    final = "HTTP/1.1 204 No Content\r\n\r\n"
    rows = ["100 Continue\r\n", "102 Processing\r\n", "103 Early Hints\r\nLink: </x>\r\n", "199 \r\n"]
    for texts in (*([each] for each in rows), rows):
        with subtests.test(texts=texts):
            port = listen(answer("".join(f"HTTP/1.1 {each}\r\n" for each in texts) + final))
            answered = exchange(f"http://127.0.0.1:{port}/")
            assert (answered.status, answered.reason, dict(answered.headers)) == (204, "No Content", {})
    with subtests.test("switching protocols"):
        port = listen(answer("HTTP/1.1 101 Switching Protocols\r\n\r\n" + final))
        assert exchange(f"http://127.0.0.1:{port}/").status == 101
    with subtests.test("a proxy"):
        asked: list[bytes] = []

        def tunnel(connection: socket.socket, request: bytes) -> None:
            connection.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
            asked.append(connection.recv(65536))

        with pytest.raises(CallFailed):
            exchange("https://192.0.2.7/", proxy=f"http://127.0.0.1:{listen(tunnel)}")
        assert asked[0].startswith(b"\x16\x03")  # the beginning of TLS


def test_interim_answers_have_a_limit(listen: Callable[[Serve], int]) -> None:
    def serve(connection: socket.socket, request: bytes) -> None:
        while True:
            connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 1000)

    with pytest.raises(CallFailed, match="larger than"):
        exchange(f"http://127.0.0.1:{listen(serve)}/")


def test_a_url_is_not_logged(listen: Callable[[Serve], int], caplog: pytest.LogCaptureFixture) -> None:
    """It may have a token in it; urllib3 would repeat it if headers are malformed."""
    port = listen(answer("HTTP/1.1 200 OK\r\nmalformed\r\nX: y\r\n\r\n"))
    assert get(f"http://127.0.0.1:{port}/?token=secret") == (200, "OK")
    assert "secret" not in caplog.text


# -- any request -------------------------------------------------------------------------------------------------------


def exchange(url: str, *, seconds: float = PATIENCE, **options: Any) -> bounded_http.Answer:
    return bounded_http.exchange("POST", url, hosts=LOCAL, deadline=time.monotonic() + seconds, **options)


def test_a_body_is_sent_and_read(listen: Callable[[Serve], int]) -> None:
    asked: list[bytes] = []

    def serve(connection: socket.socket, request: bytes) -> None:
        asked.append(request)
        connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\nabc")

    answered = exchange(f"http://127.0.0.1:{listen(serve)}/a?b=c", body=b"{}", headers={"X-Y": "z"}, most=3)
    assert (answered.status, answered.body) == (201, b"abc")
    assert asked[0].startswith(b"POST /a?b=c HTTP/1.1\r\n")
    assert b"X-Y: z\r\n" in asked[0]


def test_a_body_has_a_limit(listen: Callable[[Serve], int]) -> None:
    port = listen(answer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"))
    with pytest.raises(CallFailed, match="larger than 3 bytes"):
        exchange(f"http://127.0.0.1:{port}/", most=3)


def test_a_compressed_body_is_expanded_up_to_the_limit(listen: Callable[[Serve], int]) -> None:
    body = gzip.compress(b" " * 200_000_000)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    port = listen(lambda connection, request: connection.sendall(head + body))
    tracemalloc.start()
    try:
        with pytest.raises(CallFailed, match="larger than 2000000 bytes"):
            exchange(f"http://127.0.0.1:{port}/", most=2_000_000)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_it_is_known_whether_a_request_was_sent(listen: Callable[[Serve], int]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    with pytest.raises(CallFailed) as caught:
        exchange(f"http://127.0.0.1:{closed}/")
    assert not caught.value.sent
    with pytest.raises(CallFailed) as caught:
        exchange(f"http://127.0.0.1:{listen(answer(''))}/")
    assert caught.value.sent
