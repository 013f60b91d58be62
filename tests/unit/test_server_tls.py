"""The HTTP server with TLS: handshakes, large answers, and ends of connections."""

import shutil
import socket
import ssl
import subprocess
import threading
from contextlib import suppress
from itertools import product
from urllib.parse import urlsplit

import pytest

from baremetal_sched.server.tls import make_context
from tests.certificates import Certificate, make_certificate
from tests.clients.sockets import exchange, wire, wires
from tests.unit.test_server import GET, ServersClock, ask, serving
from tests.unit.test_server import clock as clock
from tests.waiting import wait_until

CLOSE = "GET /{} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate and its key."""
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def context(files: Certificate) -> ssl.SSLContext:
    """The server's files."""
    return make_context(str(files.certificate), str(files.key))


@pytest.fixture
def trust(files: Certificate) -> ssl.SSLContext:
    """The client's settings."""
    return files.trusting()


def client_hello(trust: ssl.SSLContext) -> bytes:
    """The first message of a client."""
    outgoing = ssl.MemoryBIO()
    client = trust.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_requests_and_what_the_application_is_told(
    context: ssl.SSLContext, trust: ssl.SSLContext, version: ssl.TLSVersion
) -> None:
    trust.minimum_version = trust.maximum_version = version
    with serving(tls=context) as (url, application, _), wire(url, tls=trust) as one:
        for body in ("a", "b" * 9000):
            one.send(f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}")
            assert one.response().body == body.encode()
    assert {environ["wsgi.url_scheme"] for environ in application.environs} == {"https"}


def test_older_versions_are_refused(context: ssl.SSLContext, trust: ssl.SSLContext) -> None:
    trust.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        trust.minimum_version = ssl.TLSVersion.TLSv1_1
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        trust.maximum_version = ssl.TLSVersion.TLSv1_1
    with serving(tls=context) as (url, application, _):
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            exchange(url, GET.format(""), tls=trust)
        assert not application.environs


def test_http_1_is_what_is_spoken(context: ssl.SSLContext, trust: ssl.SSLContext) -> None:
    trust.set_alpn_protocols(["h2", "http/1.1"])
    with serving(tls=context) as (url, _, _), wire(url, tls=trust) as one:
        assert isinstance(one.socket, ssl.SSLSocket)
        assert one.socket.selected_alpn_protocol() == "http/1.1"


@pytest.mark.parametrize("sent", [0, 1, 50, None], ids=["nothing", "a byte", "half a hello", "a hello"])
def test_silent_and_half_handshakes_hold_nobody_up(
    context: ssl.SSLContext, trust: ssl.SSLContext, sent: int | None
) -> None:
    """Two hundred of them, and one thread."""
    with serving(threads=1, connections=400, tls=context) as (url, _, server):
        with wires(url, 200, client_hello(trust)[:sent]) as silent:
            wait_until(lambda: len(server.connections) == 200, "the connections")
            for _ in range(3):
                assert exchange(url, GET.format(""), tls=trust).status == 200
            assert len(silent) == 200
        wait_until(lambda: not server.connections, "the connections to be gone")


def test_a_handshake_byte_by_byte(context: ssl.SSLContext, trust: ssl.SSLContext) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trust.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with serving(tls=context) as (url, _, _), wire(url) as one:
        one.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                for byte in outgoing.read():
                    one.send(bytes([byte]))
                incoming.write(one.socket.recv(65536))
        client.write(GET.format("").encode())
        for byte in outgoing.read():
            one.send(bytes([byte]))
        received = b""
        while b"done" not in received:
            incoming.write(one.socket.recv(65536))
            try:
                received += client.read()
            except ssl.SSLWantReadError:
                continue


def test_a_handshake_has_to_end_in_time(clock: ServersClock, context: ssl.SSLContext, trust: ssl.SSLContext) -> None:
    with (
        serving(tls=context, handshake_seconds=20, keep_alive=60) as (url, _, server),
        wire(url) as silent,
        wire(url) as half,
        wire(url, tls=trust) as complete,
    ):
        half.send(client_hello(trust)[:40])
        ask(complete, server)
        clock.until_looked(18, server)
        assert len(server.connections) == 3
        clock.until_looked(3, server)
        assert silent.ends()
        assert half.ends()
        complete.send(GET.format(""))
        assert complete.response().status == 200


def test_a_client_without_tls_is_told_so(context: ssl.SSLContext) -> None:
    with serving(tls=context) as (url, application, _):
        received = exchange(url, GET.format(""))
        assert (received.status, received.body) == (400, b"This port speaks HTTPS only.\n")
        assert received.closed
        assert not application.environs


def test_garbage_ends_the_connection(subtests: pytest.Subtests, context: ssl.SSLContext, trust: ssl.SSLContext) -> None:
    for garbage in [b"\x16\x03\x01\x00\x05hello", b"nonsense\r\n\r\n", b"\x00" * 100, b"\x80\x2e\x01"]:
        with subtests.test(garbage=garbage), serving(tls=context) as (url, _, server):
            with wire(url) as one:
                one.send(garbage + b"\x00" * 6)
                one.socket.shutdown(socket.SHUT_WR)
                wait_until(lambda: not server.connections, "the connection to be closed")
            assert exchange(url, GET.format(""), tls=trust).status == 200


def test_garbage_after_the_handshake_ends_the_connection(context: ssl.SSLContext, trust: ssl.SSLContext) -> None:
    with serving(tls=context) as (url, _, server), wire(url, tls=trust) as one:
        one.send(GET.format(""))
        assert one.response().status == 200
        with socket.socket(fileno=socket.dup(one.socket.fileno())) as below:
            below.sendall(b"\x17\x03\x03\x00\x20" + b"x" * 32)
        wait_until(lambda: not server.connections, "the connection to be closed")


def test_slow_readers_get_everything(context: ssl.SSLContext, trust: ssl.SSLContext) -> None:
    """More than any buffer takes, in records that are sent in parts; then the connection goes on."""
    limits = {"outbuf_high_watermark": 1_000_000, "blocked_seconds": 60}
    with serving(tls=context, **limits) as (url, _, server), wire(url, tls=trust) as one:
        one.send(GET.format("large"))
        wait_until(lambda: any(each.total_outbufs_len for each in server.connections.values()), "a full buffer")
        assert one.response().body == b"x" * 20_000_000
        one.send(GET.format(""))
        assert one.response().body == b"done"


def test_a_large_answer_does_not_hold_others_up(context: ssl.SSLContext, trust: ssl.SSLContext) -> None:
    with serving(threads=1, tls=context) as (url, application, _), wire(url, tls=trust) as one:
        one.send(GET.format("large"))
        wait_until(lambda: "large response" in application.ended, "the answer to be ready")
        assert exchange(url, GET.format(""), tls=trust).status == 200


def test_the_end_is_announced(context: ssl.SSLContext, trust: ssl.SSLContext) -> None:
    """With close_notify, after the last byte: otherwise a client cannot tell a whole answer from a part of it."""
    with serving(tls=context) as (url, _, _):
        for path, length in (("", 4), ("large", 20_000_000)):
            with wire(url, tls=trust) as one:
                one.send(CLOSE.format(path))
                assert len(one.response().body) == length
                assert one.socket.recv(1) == b""  # without it: SSLEOFError


def test_a_refusal_reaches_the_client(context: ssl.SSLContext, trust: ssl.SSLContext) -> None:
    """Though it sends on."""
    with serving(tls=context, body_size=100) as (url, _, _), wire(url, tls=trust) as one:
        one.send(f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n{'x' * 2_000_000}")
        assert one.response().status == 413
        assert one.socket.recv(1) == b""


def test_idle_connections_are_told_that_they_end(
    clock: ServersClock, context: ssl.SSLContext, trust: ssl.SSLContext
) -> None:
    with serving(tls=context, keep_alive=30) as (url, _, server), wire(url, tls=trust) as one:
        ask(one, server)
        clock.until_looked(31, server)
        assert one.socket.recv(1) == b""


def test_clients_that_end_are_forgotten(
    subtests: pytest.Subtests, context: ssl.SSLContext, trust: ssl.SSLContext
) -> None:
    """With close_notify and without, in the middle of anything."""
    for request_, says_so in product([GET.format(""), "GET / HT", GET.format("large")], [True, False]):
        with subtests.test(request_=request_, says_so=says_so), serving(tls=context) as (url, _, server):
            with wire(url, tls=trust) as one:
                one.send(request_)
                assert isinstance(one.socket, ssl.SSLSocket)
                if says_so:
                    one.socket.setblocking(False)
                    with suppress(ssl.SSLError):  # of what is received meanwhile
                        one.socket.unwrap()
            wait_until(lambda: not server.connections, "the connection to be closed")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_clients_that_ask_for_another_handshake_get_none(context: ssl.SSLContext, files: Certificate) -> None:
    """``R`` asks for it. TLS 1.3 does not have it at all."""
    with serving(tls=context) as (url, application, server):
        command = [
            "openssl",
            "s_client",
            "-connect",
            urlsplit(url).netloc,
            "-tls1_2",
            "-CAfile",
            str(files.certificate),
        ]
        done = subprocess.run(command, input="R\n", capture_output=True, text=True, timeout=60)
        wait_until(lambda: not server.connections, "the connection to be closed")
    assert "RENEGOTIATING" in done.stdout + done.stderr
    assert "no renegotiation" in done.stderr
    assert not application.environs


def test_many_at_once(context: ssl.SSLContext, trust: ssl.SSLContext) -> None:
    """Threads send while the loop receives, on the same connections."""
    body = "x" * 9000
    request = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    failures: list[object] = []

    def talk(url: str) -> None:
        try:
            with wire(url, 60, tls=trust) as one:
                one.send(request * 3)
                for _ in range(40):
                    one.send(request)
                    assert one.response().body == body.encode()
        except BaseException as error:
            failures.append(error)

    with serving(threads=4, tls=context) as (url, _, _):
        clients = [threading.Thread(target=talk, args=(url,)) for _ in range(8)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    assert not failures
