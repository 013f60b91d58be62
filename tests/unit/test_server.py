"""The HTTP server by itself, with limits that are soon reached and an application that does as it is told."""

import errno
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from waitress import channel

from baremetal_sched import gunicorn_config
from baremetal_sched.server import connection, loop, parser
from baremetal_sched.server.loop import Server
from baremetal_sched.server.threads import RequestThreads, ServerLimits
from baremetal_sched.settings import load
from baremetal_sched.web.slots import ACCEPTED_AT, REFUSAL
from tests.clients.sockets import Wire, exchange, wire, wires
from tests.clocks import Clock
from tests.waiting import PATIENCE, wait_until

GET = "GET /{} HTTP/1.1\r\nHost: x\r\n\r\n"


class Application:
    """Responds at once, or with many bytes, or after ``go``; remembers what it has seen."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.environs: list[dict[str, Any]] = []
        self.ended: list[str] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self.environs.append(environ)
        if REFUSAL in environ:
            start_response(f"{environ[REFUSAL].status} Refused", [("Content-Type", "text/plain")])
            return [b"refused"]
        body = environ["wsgi.input"].read()
        path = environ["PATH_INFO"]
        try:
            if path == "/fails":
                raise OSError("the application failed")
            if path == "/waits":
                self.go.wait(PATIENCE)
            if path == "/large":
                start_response("200 OK", [("Content-Type", "text/plain")])
                return self.many()
            if path == "/empty":
                start_response("204 No Content", [("Content-Length", "0")])
                return []
            start_response("200 OK", [("Content-Type", "text/plain")])
            return [body or b"done"]
        finally:
            self.ended.append(path)

    def many(self) -> Iterator[bytes]:
        """20 MB in pieces."""
        try:
            for _ in range(200):
                yield b"x" * 100_000
        finally:
            self.ended.append("large response")


class ServersClock(Clock):
    """The clock of a server."""

    def until_looked(self, seconds: float, server: Server) -> None:
        """Let that time go by, and the server look for connections that are overdue then."""
        self.go_on(seconds)
        now = self.monotonic()
        wait_until(lambda: server._expiry > now, "the server to look at its connections")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ServersClock:
    clock = ServersClock()
    for module in (channel, connection, loop, parser, connection):
        monkeypatch.setattr(module, "time", clock)
    return clock


@contextmanager
def serving(
    threads: int = 2, tls: ssl.SSLContext | None = None, **limits: Any
) -> Iterator[tuple[str, Application, Server]]:
    """A server that runs; its URL and application."""
    application = Application()
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as listener:
        values: dict[str, Any] = {"connections": 100, "body_size": 10_000, "keep_alive": 30} | limits
        scheme = values["url_scheme"] = "https" if tls else "http"
        server = Server(application, [listener], RequestThreads(threads), ServerLimits(**values), tls=tls)
        server.accept_connections(True)

        def run() -> None:
            while not stop.is_set():
                server.poll(0.01)
            server.close()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}", application, server
        finally:
            application.go.set()
            stop.set()
            thread.join()


def ask(one: Wire, server: Server) -> None:
    """Have a request served, and its thread come to rest."""
    one.send(GET.format(""))
    assert one.response().status == 200
    wait_until(lambda: server.threads._free == server.threads._started, "the end of the request")


def test_idle_connections_are_closed_after_a_while(clock: ServersClock) -> None:
    with serving(keep_alive=30) as (url, _, server), wire(url) as one:
        for _ in range(2):
            ask(one, server)
            clock.until_looked(29, server)
        clock.until_looked(2, server)
        assert one.ends()


@pytest.mark.parametrize("part", ["GET / HTTP", "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n12345"])
def test_a_request_has_to_arrive_in_time(clock: ServersClock, part: str) -> None:
    """However regularly something of it comes."""
    with serving(receive_seconds=60) as (url, application, server), wire(url) as one:
        one.send(part)
        wait_until(lambda: any(each.request for each in server.connections.values()), "the first part")
        for _ in range(4):
            clock.until_looked(14, server)
            (connection,) = server.connections.values()
            before = connection.last_activity
            one.send("x")
            wait_until(lambda: connection.last_activity > before, "one more byte")  # noqa: B023
        clock.until_looked(5, server)
        assert one.ends()
        assert application.environs == []


def test_clients_that_do_not_read_do_not_keep_threads(clock: ServersClock) -> None:
    limits = {"outbuf_high_watermark": 100_000, "blocked_seconds": 15, "send_seconds": 10**6}
    with serving(threads=2, **limits) as (url, application, server):
        with wires(url, 4, GET.format("large")):

            def are_free() -> bool:
                clock.until_looked(16, server)
                return application.ended.count("large response") == 4

            wait_until(are_free, "the threads to be free")
        assert exchange(url, GET.format("")).status == 200


def test_a_response_that_is_not_read_is_not_kept_for_ever(clock: ServersClock) -> None:
    with serving(send_seconds=60) as (url, application, server), wire(url) as one:
        one.send(GET.format("large"))
        wait_until(lambda: application.ended.count("large response") == 1, "the response")
        clock.until_looked(58, server)
        assert server.connections
        clock.until_looked(61, server)
        assert not server.connections


def test_slow_readers_get_everything() -> None:
    with serving(outbuf_high_watermark=1_000_000, blocked_seconds=20) as (url, _, server), wire(url) as one:
        one.send(GET.format("large"))
        is_full = lambda: any(each.total_outbufs_len > 1_000_000 for each in server.connections.values())  # noqa: E731
        wait_until(is_full, "a full buffer")
        received = one.response()
        assert received.headers["transfer-encoding"] == "chunked"
        assert received.body == b"x" * 20_000_000
        one.send(GET.format(""))  # the connection is kept
        assert one.response().body == b"done"


def test_a_client_that_goes_away_is_noticed() -> None:
    with serving() as (url, application, _):
        with wire(url) as one:
            one.send(GET.format("waits"))
            wait_until(lambda: application.environs, "the request")
        is_gone: Callable[[], bool] = application.environs[0]["waitress.client_disconnected"]
        wait_until(is_gone, "the server to notice")
        application.go.set()
        assert exchange(url, GET.format("")).status == 200


def test_what_a_client_asked_before_it_went_away_is_not_begun() -> None:
    with serving(threads=1) as (url, application, server):
        with wire(url) as first, wire(url) as second:
            first.send(GET.format("waits"))
            wait_until(lambda: application.environs, "the request")
            second.send(GET.format("second"))
            wait_until(lambda: server.received == 2, "the second request")
        wait_until(lambda: not server.connections, "the server to notice")
        application.go.set()
        assert exchange(url, GET.format("")).status == 200
        assert "/second" not in application.ended


def test_threads_are_started_when_they_are_needed() -> None:
    """One after the other takes one thread; no more are started than there may be, and what is too much waits."""
    threads, released = RequestThreads(3), threading.Event()
    names: list[str] = []

    class Request:
        def __init__(self, waits: bool) -> None:
            self.waits = waits

        def service(self) -> None:
            names.append(threading.current_thread().name)
            if self.waits:
                released.wait(PATIENCE)

    for number in range(1, 6):
        threads.add(Request(waits=False).service)
        wait_until(lambda: len(names) == number and threads._free == 1, "the request")  # noqa: B023
    assert set(names) == {"request-1"}
    for _ in range(5):
        threads.add(Request(waits=True).service)
    wait_until(lambda: len(names) == 8, "three requests")
    time.sleep(0.1)
    assert len(names) == 8
    assert len(set(names)) == 3
    released.set()
    wait_until(lambda: len(names) == 10, "all requests")


def test_the_time_of_acceptance_is_when_the_request_was_complete() -> None:
    with serving(threads=1) as (url, application, server), wire(url) as first, wire(url) as second:
        first.send(GET.format("waits"))
        second.send("GET /second HTTP/1.1\r\n")
        wait_until(lambda: any(each.request for each in server.connections.values()), "a part of it")
        complete = time.monotonic()
        second.send("\r\n")
        wait_until(lambda: server.received == 2, "the second request")
        begun = time.monotonic()
        application.go.set()
        assert second.response().status == 200
        moments = [complete, application.environs[1][ACCEPTED_AT], begun]
        assert moments == sorted(moments)


def test_a_failure_of_the_application_is_500_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with serving() as (url, _, _):
        answer = exchange(url, GET.format("fails"))
    assert answer.status == 500
    assert answer.json() == {"error": {"status": 500, "message": "An internal error occurred; see the log."}}
    assert "the application failed" in caplog.text


def test_responses_without_a_body_keep_the_connection() -> None:
    with serving() as (url, _, _), wire(url) as one:
        for _ in range(3):
            one.send(GET.format("empty"))
            received = one.response()
            assert received.status == 204
            assert received.headers.keys() == {"server", "date"}
            one.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert "transfer-encoding" in one.response(head=True).headers | {"transfer-encoding": ""}


def test_bodies_of_any_size_that_is_allowed() -> None:
    """Also bodies that go through a temporary file, that have no lines, and that come long after the headers."""
    body = "0123456789" * 50_000
    with serving(body_size=len(body), inbuf_overflow=10_000) as (url, _, _), wire(url) as one:
        for pause in (0.0, 0.1):
            one.send(f"POST / HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n")
            time.sleep(pause)
            one.send(body)
            assert one.response().body == body.encode()
        chunks = "".join(f"{size:x}\r\n{body[:size]}\r\n" for size in (1, 70_000, 3)) + "0\r\n\r\n"
        answer = exchange(url, f"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}")
        assert len(answer.body) == 70_004


def test_the_framing_of_chunks_is_bounded(subtests: pytest.Subtests) -> None:
    for framing in ["f" * 10_000, "5;" + "a" * 10_000, "0\r\nA: " + "b" * 40_000]:
        with subtests.test(framing=framing), serving() as (url, _, _):
            assert exchange(url, f"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{framing}").status in (
                400,
                413,
            )


def test_a_length_that_is_none_is_refused(subtests: pytest.Subtests) -> None:
    for length in ["9" * 5000, "9" * 4300, str(2**64), "-1", "0x10", "1, 1"]:
        with subtests.test(length=length), serving() as (url, _, _):
            answer = exchange(url, f"POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\nx")
            assert answer.status in (400, 413)


def test_no_more_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle connections make way for new ones."""
    fails = threading.Event()
    accept = socket.socket.accept

    def limited(listener: socket.socket) -> Any:
        if fails.is_set():
            fails.clear()
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(listener)

    with serving() as (url, _, server), wires(url, 20) as idle:
        wait_until(lambda: len(server.connections) == 20, "the connections")
        monkeypatch.setattr(socket.socket, "accept", limited)
        fails.set()
        assert exchange(url, GET.format("")).status == 200
        assert sum(Wire.ends(one) for one in idle[:16]) == 16


def test_a_connection_whose_request_has_come_keeps_its_place(subtests: pytest.Subtests) -> None:
    """Also if it comes in the round in which another connection needs a place, or while that round goes on."""
    for comes_late in (False, True):
        with subtests.test(late=comes_late), polled(connections=2) as (url, server), wires(url, 2) as (first, second):
            while len(server.connections) < 2:
                server.poll(0.01)
            select = server._selector.select

            def found(seconds: float, select: Any = select, first: Wire = first, late: bool = comes_late) -> Any:
                ready = select(seconds)
                if late and ready:
                    first.send(GET.format("first"))
                return ready

            server._selector.select = found  # type: ignore[method-assign]
            if not comes_late:
                first.send(GET.format("first"))
            with wire(url) as new:
                server.poll(PATIENCE)
                server._selector.select = select  # type: ignore[method-assign]
                new.send(GET.format("new"))
                wait_until(lambda: server.poll(0.01) or server.received == 2, "the requests")
                assert [one.response().status for one in (first, new)] == [200, 200]
                assert second.ends()


@contextmanager
def polled(**limits: int) -> Iterator[tuple[str, Server]]:
    """A server whose rounds are those that the test makes; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        values: dict[str, Any] = {"body_size": 10_000, "keep_alive": 30, "url_scheme": "http"} | limits
        server = Server(Application(), [listener], RequestThreads(2), ServerLimits(**values))
        server.accept_connections(True)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", server
        server.close()


def test_a_stop_waits_longer_than_a_request_may_take() -> None:
    assert gunicorn_config.patience(load(overrides={"api": {"request_timeout": 120.5}})) == 126
    assert gunicorn_config.patience(load()) == gunicorn_config.graceful_timeout


def begin_body(one: Wire, size: int, sent: int) -> None:
    """Send a part of a body, or refuse to go on when the server has answered."""
    one.send(f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n" + "x" * sent)


def test_all_bodies_together_are_bounded() -> None:
    """Unfinished requests take bounded memory; small requests are still served."""
    limits = {"body_size": 1_000_000, "bodies_size": 1_000_000, "small_body_size": 20_000}
    with serving(**limits) as (url, application, server):
        with wires(url, 3) as ones:
            for one in ones[:2]:
                begin_body(one, 900_000, 450_000)
            wait_until(lambda: server.bodies.size == 900_000, "the bodies")
            begin_body(ones[2], 900_000, 200_000)
            refused = ones[2].response()
            assert (refused.status, refused.headers["connection"]) == (503, "close")
            assert application.environs[-1][REFUSAL].status == 503
            assert "more than this process takes at a time" in str(application.environs[-1][REFUSAL])
            assert server.bodies.size <= 1_000_000 + 2 * 20_000
            assert exchange(url, f"POST / HTTP/1.1\r\nContent-Length: 10000\r\n\r\n{'x' * 10_000}").status == 200
            ones[0].send("x" * 40_000)
            ones[0].send("x" * 410_000)
            assert ones[0].response().status == 503
        wait_until(lambda: server.bodies.size == 0, "the bodies to be forgotten")
        assert exchange(url, f"POST / HTTP/1.1\r\nContent-Length: 900000\r\n\r\n{'x' * 900_000}").status == 200
        wait_until(lambda: server.bodies.size == 0, "the body to be forgotten")


def test_bodies_in_chunks_are_counted_too() -> None:
    with serving(body_size=1_000_000, bodies_size=300_000, small_body_size=1000) as (url, _, server):
        chunk = f"{100_000:x}\r\n{'x' * 100_000}\r\n"
        with wire(url) as one:
            one.send(f"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{chunk * 4}")
            assert one.response().status == 503
        wait_until(lambda: server.bodies.size == 0, "the bodies to be forgotten")


def test_a_body_is_counted_until_its_request_is_served() -> None:
    with serving(body_size=1_000_000, bodies_size=300_000) as (url, application, server), wires(url, 2) as ones:
        ones[0].send(f"POST /waits HTTP/1.1\r\nContent-Length: 250000\r\n\r\n{'x' * 250_000}")
        wait_until(lambda: len(application.environs) == 1, "the request")
        begin_body(ones[1], 250_000, 250_000)
        assert ones[1].response().status == 503
        application.go.set()
        assert ones[0].response().status == 200
        wait_until(lambda: server.bodies.size == 0, "the body to be forgotten")
