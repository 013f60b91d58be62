"""Clients that are slow, idle, gone or rude do not keep others from being served, in ``serve`` and in gunicorn as the
README starts it."""

import json
import resource
import socket
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import requests

from tests.clients.sockets import Wire, exchange, wire, wires
from tests.clients.test_start import DEFAULT_FILE
from tests.processes import GUNICORN, OPEN, Client, Program, Values, conductor, free_port, program, serve
from tests.waiting import PATIENCE, wait_until

NODE = json.dumps({"driver": "fake-hardware"})
HALF_A_HEADER = "POST /baremetal/v1/nodes HTTP/1.1\r\nHost: localhost\r\nContent-Ty"
POST = "POST /baremetal/v1/nodes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HALF_A_BODY = f"{POST}Content-Length: 500\r\n\r\n{NODE}"


@contextmanager
def gunicorn(folder: Path, *options: str, settings: Values | None = None) -> Iterator[tuple[Program, str]]:
    """gunicorn on a free port, with the database that ``serve`` would have."""
    port = free_port()
    values = {**OPEN, "database": {"connection": f"sqlite:///{folder / DEFAULT_FILE}"}, **(settings or {})}
    with program((*GUNICORN, "--bind", f"127.0.0.1:{port}", *options), folder, "gunicorn", values) as running:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: "Booting worker" in running.log and is_live(url), "gunicorn to answer")
        yield running, url


def is_live(url: str) -> bool:
    """Whether ``/healthcheck/live`` is answered."""
    try:
        with requests.get(f"{url}/healthcheck/live", timeout=PATIENCE) as response:
            return response.status_code == 200
    except requests.RequestException:
        return False


@pytest.fixture(scope="module", params=["serve", "gunicorn"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """URL of a service, and its database."""
    folder = tmp_path_factory.mktemp(request.param)
    with serve(folder) as (running, url):
        if request.param == "serve":
            yield url, folder / DEFAULT_FILE
            return
        running.end()
    file = folder / DEFAULT_FILE
    settings = {"database": {"connection": f"sqlite:///{file}"}}
    with gunicorn(folder) as (running, url), conductor(folder, "c1", settings=settings):
        yield url, file


@pytest.fixture
def url(service: tuple[str, Path]) -> str:
    """Where the service is."""
    return service[0]


def assert_serves(url: str) -> None:
    """Reads and writes are answered, and soon."""
    started = time.monotonic()
    with Client(url) as client:
        uuid = client.baremetal("POST", "/nodes", {"driver": "fake-hardware"}).json()["uuid"]
        assert client.baremetal("GET", f"/nodes/{uuid}").status_code == 200
        assert client.baremetal("DELETE", f"/nodes/{uuid}").status_code == 204
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("half", [HALF_A_HEADER, HALF_A_BODY], ids=["header", "body"])
def test_half_requests(url: str, half: str) -> None:
    with wires(url, 40, half):
        assert_serves(url)


def test_idle_connections(url: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    try:
        with wires(url, 1100):
            assert_serves(url)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_dripping(url: str) -> None:
    """A request is served when it is complete, however many pieces it comes in."""
    request = "GET /baremetal/v1 HTTP/1.1\r\nHost: localhost\r\nX-OpenStack-Ironic-API-Version: 1.1\r\n\r\n"
    with wire(url) as one:
        for character in request:
            one.send(character)
            time.sleep(0.002)
        assert one.response().status == 200


def test_live_while_all_slots_are_taken(service: tuple[str, Path]) -> None:
    """A lock that is held elsewhere keeps every request at work waiting, and more come than may be at work."""
    url, file = service
    with ThreadPoolExecutor(20) as pool, sqlite3.connect(file, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            writes = [pool.submit(create_node, url) for _ in range(20)]
            time.sleep(1)
            started = time.monotonic()
            for _ in range(5):
                assert is_live(url)
            assert time.monotonic() - started < 10
            assert not all(write.done() for write in writes)
        finally:
            other.execute("ROLLBACK")
        assert {write.result() for write in writes} <= {201, 503}
    assert_serves(url)


def create_node(url: str) -> int:
    """The status of a request for a new node."""
    with Client(url) as client:
        return client.baremetal("POST", "/nodes", {"driver": "fake-hardware"}).status_code


def count_nodes(url: str) -> int:
    """How many nodes there are."""
    with Client(url) as client:
        return len(client.baremetal("GET", "/nodes").json()["nodes"])


@pytest.mark.parametrize("framing", ["Content-Length: 500\r\n", "Transfer-Encoding: chunked\r\n"])
def test_a_body_that_is_cut_off_is_not_processed(url: str, framing: str) -> None:
    before = count_nodes(url)
    # With or without the rest, this would be a whole document.
    body = NODE if "Length" in framing else f"{len(NODE):x}\r\n{NODE}\r\n"
    with wire(url, 3) as one:
        one.send(f"{POST}{framing}\r\n{body}")
        one.socket.shutdown(socket.SHUT_WR)
        with suppress(EOFError, ConnectionResetError):
            assert one.response().status == 400
    assert count_nodes(url) == before


def test_pipelined_requests_are_answered_in_order(url: str) -> None:
    paths = ["/healthcheck/live", "/baremetal/v1/nodes", "/healthcheck/live", "/placement/", "/nosuch"] * 5
    with wire(url) as one:
        one.send("".join(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n" for path in paths))
        for path in paths:
            received = one.response()
            assert received.status == (404 if path == "/nosuch" else 200)
            key = {"/healthcheck/live": "live", "/baremetal/v1/nodes": "nodes", "/placement/": "versions"}
            assert key.get(path, "error") in received.json()


def test_connections_are_kept(url: str) -> None:
    """Whatever was answered: with and without a body, to HEAD, in HTTP/1.0 when asked for."""
    with wire(url) as one:
        for _ in range(2):
            one.send("HEAD /healthcheck/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert int(one.response(head=True).headers["content-length"]) > 0
            one.send("OPTIONS /baremetal/v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert one.response().status == 200
            version = "OpenStack-API-Version: placement 1.6"
            one.send(f"PUT /placement/traits/CUSTOM_KEPT HTTP/1.1\r\nHost: localhost\r\n{version}\r\n\r\n")
            assert one.response().status in (201, 204)
            one.send("GET /healthcheck/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            assert one.response().headers["connection"] == "keep-alive"
        one.send("GET /healthcheck/live HTTP/1.0\r\n\r\n")
        assert one.response().headers["connection"] == "close"
        assert one.ends()


def test_chunked_body(url: str) -> None:
    chunks = "".join(f"{len(part):x}\r\n{part}\r\n" for part in (NODE[:5], NODE[5:])) + "0\r\n\r\n"
    created = exchange(url, f"{POST}Transfer-Encoding: chunked\r\n\r\n{chunks}")
    assert created.status == 201
    assert created.json()["driver"] == "fake-hardware"


def test_large_bodies(url: str) -> None:
    """As an agent sends them, headers first."""
    document = json.dumps({"driver": "fake-hardware", "extra": {"x": "y" * 500_000}})
    with wire(url) as one:
        one.send(f"{POST}Content-Length: {len(document)}\r\n\r\n")
        time.sleep(0.1)
        one.send(document)
        assert one.response().json()["extra"] == {"x": "y" * 500_000}


def test_expect_continue(url: str) -> None:
    head = f"{POST}Expect: 100-continue\r\n"
    with wire(url) as one:
        one.send(f"{head}Content-Length: {len(NODE)}\r\n\r\n")
        assert one.response().status == 100
        one.send(NODE)
        assert one.response().status == 201
        one.send(f"{head}Content-Length: 0\r\n\r\n")
        assert one.response().status == 400
        one.send(f"{head}Content-Length: 999999999\r\n\r\n")
        assert one.response().status == 413


def message_of(document: dict[str, object]) -> str:
    """The text of an error in the shape of any of the APIs."""
    match document:
        case {"error_message": str(inner)}:
            return str(json.loads(inner)["faultstring"])
        case {"errors": [{"detail": str(detail)}]}:
            return detail
        case {"error": {"message": str(message)}}:
            return message
    raise AssertionError(document)


@pytest.mark.parametrize("mount", ["/baremetal/v1", "/placement", ""])
@pytest.mark.parametrize(
    ("status", "rest", "words"),
    [
        (400, " HTTP/1.1\r\nno header\r\n\r\n", "not valid HTTP"),
        (400, " HTTP/1.1\r\nContent-Length: five\r\n\r\n", "not valid HTTP"),
        (400, " HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "not valid HTTP"),
        (400, " HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "not valid HTTP"),
        (413, " HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n" + "x" * 2_000_000, "at most"),
        (414, f"?{'x' * 9000} HTTP/1.1\r\n\r\n", "too long"),
        (414, f"?{'x' * 900_000} HTTP/1.1\r\n\r\n", "too long"),
        (431, f" HTTP/1.1\r\nA: {'x' * 70_000}\r\n\r\n", "too long"),
        (501, " HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", "chunked"),
    ],
)
def test_refusals_have_the_shape_of_the_api(url: str, mount: str, status: int, rest: str, words: str) -> None:
    """And the client sees them, though it sends on."""
    received = exchange(url, f"GET {mount}/nodes{rest}")
    assert received.status == status
    assert received.headers["content-type"] == "application/json"
    assert received.headers["x-openstack-request-id"].startswith("req-")
    assert words in message_of(received.json())
    assert received.closed
    shape = {"/baremetal/v1": "error_message", "/placement": "errors", "": "error"}
    assert shape[mount] in received.json()


@pytest.mark.parametrize(
    "garbage", ["\r\n\r\n\r\nnonsense\r\n\r\n", "\x16\x03\x01\x02\x00\r\n\r\n", "get / http/1.1\r\n\r\n"]
)
def test_garbage(url: str, garbage: str) -> None:
    received = exchange(url, garbage)
    assert received.status == 400
    assert "error" in received.json()


def test_clients_that_go_away(url: str) -> None:
    """In the middle of anything."""
    for request in (HALF_A_HEADER, HALF_A_BODY, "GET /baremetal/v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n" * 30):
        with wires(url, 20, request):
            pass
    assert_serves(url)


def test_those_silent_for_longest_are_closed_when_there_are_too_many(tmp_path: Path) -> None:
    with gunicorn(tmp_path, "--worker-connections", "30") as (_, url), wires(url, 20) as idle:
        with wires(url, 40, HALF_A_HEADER):
            assert is_live(url)
        assert all(Wire.ends(one) for one in idle)
