"""The nginx of the guide: its samples are started, with a certificate of their own, in front of two gunicorns."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.clients.proxied import NGINX, PROVISIONING, Site, site
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed (on Debian: apt-get install nginx)"),
]

PREFIXES = ("", "/bm")


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The proxy, and the service behind it."""
    with site(tmp_path_factory.mktemp("nginx")) as running:
        yield running


@pytest.mark.parametrize("prefix", PREFIXES)
def test_links_are_those_of_the_proxy(proxied: Site, prefix: str) -> None:
    """In answers to reads and to writes; and they lead somewhere."""
    root = f"{proxied.url}{prefix}/baremetal/v1"
    with proxied.session() as session:
        links = session.get(root).json()["links"]
        assert links[0]["href"] == f"{root}/"
        node = session.post(f"{root}/nodes", json={"driver": "fake-hardware"}).json()
        assert node["links"][0]["href"] == f"{root}/nodes/{node['uuid']}"
        assert session.get(node["links"][0]["href"]).json()["uuid"] == node["uuid"]
        first = session.get(f"{root}/nodes?limit=1").json()
        assert first.get("next", root).startswith(root)
        assert session.delete(f"{root}/nodes/{node['uuid']}").status_code == 204


@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_clients_say_in_the_headers_of_proxies_is_not_believed(proxied: Site, prefix: str) -> None:
    forged = {
        "X-Forwarded-Host": "evil.example.com",
        "X-Forwarded-Proto": "http",
        "X-Forwarded-Prefix": "/evil",
        "X-Forwarded-For": PROVISIONING,
        "Forwarded": "for=127.0.0.9;host=evil.example.com;proto=http",
    }
    with proxied.session() as session:
        text = session.get(f"{proxied.url}{prefix}/baremetal/v1", headers=forged).text
        assert "evil" not in text
        assert f"{proxied.url}{prefix}/baremetal/v1/" in text
        assert session.get(f"{proxied.url}{prefix}/baremetal/v1/lookup", headers=forged).status_code == 403


def test_the_host_is_that_of_the_request(proxied: Site) -> None:
    received = proxied.ask("GET /baremetal/v1 HTTP/1.1\r\nHost: cloud.example.com\r\nConnection: close\r\n\r\n")
    assert "https://cloud.example.com/baremetal/v1/" in received.body.decode()


def test_errors_are_those_of_the_service(proxied: Site) -> None:
    with proxied.session() as session:
        for method in ("GET", "PATCH", "DELETE"):
            answer = session.request(method, f"{proxied.url}/baremetal/v1/nodes/nothing", json=[])
            assert answer.status_code in (400, 404)
            assert "faultstring" in answer.json()["error_message"]


def test_long_lists(proxied: Site) -> None:
    """Megabytes, in both directions."""
    names = {f"long-{number}" for number in range(12)}
    with proxied.session() as session:
        nodes = f"{proxied.url}/baremetal/v1/nodes"
        for name in names:
            extra = {"text": f"{name} " * 60_000}
            created = session.post(nodes, json={"driver": "fake-hardware", "name": name, "extra": extra})
            assert created.status_code == 201
        shown = session.get(f"{nodes}/detail").json()["nodes"]
        extras = {node["name"]: node["extra"]["text"] for node in shown if node["name"] in names}
        assert extras == {name: f"{name} " * 60_000 for name in names}
        for name in names:
            assert session.delete(f"{nodes}/{name}").status_code == 204


def test_connections_are_kept(proxied: Site) -> None:
    """Whether they are used for reads or for writes."""
    connection = http.client.HTTPSConnection("localhost", proxied.port, timeout=30, context=proxied.trust())
    with closing(connection):
        connection.connect()
        kept = connection.sock
        for number in range(30):
            method = ("GET", "PUT")[number % 2]
            connection.request(
                method, "/placement/traits/CUSTOM_KEPT", headers={"OpenStack-API-Version": "placement 1.6"}
            )
            answer = connection.getresponse()
            answer.read()
            assert answer.status == ((404, 201) if number < 2 else (204, 204))[number % 2]
            assert connection.sock is kept


AGENTS = [
    ("GET", "/baremetal/v1/lookup"),
    ("GET", "/baremetal/lookup"),
    ("GET", "/baremetal/lookup/"),
    ("GET", "/baremetal/v1/lookup.json"),
    ("GET", "//baremetal//v1//lookup"),
    ("GET", "/baremetal/v1/%6cookup"),
    ("GET", "/baremetal/v1/x/../lookup"),
    ("GET", "/baremetal/./v1/lookup?addresses=00:00:00:00:00:01"),
    ("POST", "/baremetal/v1/heartbeat/n1"),
    ("POST", "/baremetal/heartbeat/n1"),
    ("POST", "/baremetal/v1/continue_inspection"),
]


@pytest.mark.parametrize(("method", "path"), AGENTS)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_agents_call_from_their_network_only(proxied: Site, prefix: str, method: str, path: str) -> None:
    """In whichever way the path is written."""
    path = prefix + path
    request = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    refused = proxied.ask(request)
    assert refused.status == 403
    assert b"nginx" in refused.body


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/baremetal/v1/lookup?addresses=00:00:00:00:00:01", 404),
        ("POST", "/baremetal/v1/heartbeat/n1", 404),
        ("POST", "/baremetal/v1/continue_inspection", 404),
    ],
)
def test_agents_reach_the_service(proxied: Site, method: str, path: str, status: int) -> None:
    agent = http.client.HTTPSConnection(
        "127.0.0.1", proxied.port, timeout=30, context=proxied.trust(), source_address=(PROVISIONING, 0)
    )
    body = json.dumps({"callback_url": "http://127.0.0.9:9999"}) if "heartbeat" in path else "{}"
    headers = {"Content-Type": "application/json", "X-OpenStack-Ironic-API-Version": "1.22"}
    with closing(agent):
        agent.request(method, path, body=None if method == "GET" else body, headers=headers)
        answer = agent.getresponse()
        assert answer.status == status
        assert "error_message" in json.loads(answer.read())


class Caller:
    """Asks, or writes, all the time, on a connection that is kept; notes what was not as it should be."""

    def __init__(self, proxied: Site, stop: threading.Event) -> None:
        self._connection = http.client.HTTPSConnection("localhost", proxied.port, timeout=60, context=proxied.trust())
        self._stop = stop
        self.count = 0
        self.failures: list[object] = []
        self.nodes: set[str] = set()

    def read(self) -> None:
        """Until it is enough."""
        while not self._stop.is_set():
            self._expect(200, "GET", ("/placement/", "/baremetal/v1/nodes?limit=3")[self.count % 2])
        self._connection.close()

    def write(self, number: int) -> None:
        """Every request can succeed once only: done twice, the second answer would be another."""
        while not self._stop.is_set():
            name = f"w{number}-{self.count}"
            trait = f"/placement/traits/CUSTOM_W{number}_{self.count}"
            self.nodes.add(name)
            self._expect(201, "POST", "/baremetal/v1/nodes", {"driver": "fake-hardware", "name": name})
            self._expect(201, "PUT", trait)
            self._expect(204, "DELETE", trait)
        self._connection.close()

    def _expect(self, status: int, method: str, path: str, document: object = None) -> None:
        self.count += 1
        headers = {"X-OpenStack-Ironic-API-Version": "1.115", "OpenStack-API-Version": "placement 1.39"}
        body = None if document is None else json.dumps(document)
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            self._connection.request(method, path, body, headers)
            answer = self._connection.getresponse()
            text = answer.read()
            if answer.status != status:
                self.failures.append((method, path, answer.status, text))
        except (OSError, http.client.HTTPException) as error:
            self.failures.append((method, path, error))
            self._connection.close()


def under_load(proxied: Site, do: Callable[[], None]) -> tuple[list[Caller], list[Caller]]:
    """Call ``do`` while clients read and write, and go on a while; returns the readers and the writers."""
    stop = threading.Event()
    readers, writers = ([Caller(proxied, stop) for _ in range(2)] for _ in range(2))
    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(reader.read) for reader in readers]
        running += [pool.submit(writer.write, number) for number, writer in enumerate(writers)]
        try:
            do()
            counts = [caller.count for caller in (*readers, *writers)]
            wait_until(
                lambda: all(
                    caller.count >= before + 10 for caller, before in zip((*readers, *writers), counts, strict=True)
                ),
                "more requests",
            )
        finally:
            stop.set()
        for each in running:
            each.result()
    return readers, writers


def test_workers_are_replaced_without_a_failed_or_doubled_request(proxied: Site) -> None:
    def restart_twice() -> None:
        proxied.restart_workers()
        proxied.restart_workers()

    readers, writers = under_load(proxied, restart_twice)
    assert [failure for caller in (*readers, *writers) for failure in caller.failures] == []
    with proxied.session() as session:
        listed = [node["name"] for node in session.get(f"{proxied.url}/baremetal/v1/nodes").json()["nodes"]]
    assert sorted(listed) == sorted(name for writer in writers for name in writer.nodes)
