"""gunicorn as the README starts it: how it logs, reloads, replaces workers, stops, and where it listens."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import baremetal_sched
from baremetal_sched import gunicorn_config
from tests.certificates import make_certificate
from tests.clients.sockets import exchange, wire
from tests.clients.test_slow_clients import create_node, gunicorn, is_live
from tests.clients.test_start import DEFAULT_FILE
from tests.processes import GUNICORN, OPEN, Client, Values, conductor, environment, free_port, program, run, serve
from tests.waiting import PATIENCE, wait_until

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def settings_of(folder: Path) -> Values:
    """Settings of the database of a folder, and no authentication."""
    return {**OPEN, "database": {"connection": f"sqlite:///{folder / DEFAULT_FILE}"}}


def events(log: str) -> list[dict[str, Any]]:
    """The lines of a log; fails if one is not JSON."""
    return [json.loads(line) for line in log.splitlines()]


def test_the_readme_starts_it_so() -> None:
    (line,) = re.findall(r"^BAREMETAL_SCHED_CONFIG=\S+ gunicorn .*$", README, re.MULTILINE)
    assert " ".join(GUNICORN[3:5]) in line
    assert line.endswith(f" {GUNICORN[5]}")


def test_every_line_is_json(tmp_path: Path) -> None:
    with gunicorn(tmp_path, "--workers", "2") as (running, url):
        with Client(url) as client:
            client.baremetal("GET", "/nodes")
        with wire(url) as one:
            one.send("nonsense\r\n\r\n")
            assert one.response().status == 400
        assert running.end() == 0
    logged = events(running.log)
    assert {"gunicorn.error", "baremetal_sched.web.application"} <= {line["logger"] for line in logged}
    assert all({"event", "level", "timestamp"} <= line.keys() for line in logged)
    assert any("Listening at" in line["event"] for line in logged)


def test_a_worker_that_dies_says_so_in_json(tmp_path: Path) -> None:
    with gunicorn(tmp_path) as (running, url):
        worker = int(re.findall(r"Booting worker with pid: (\d+)", running.log)[0])
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: running.log.count("Booting worker") == 2 and is_live(url), "another worker")
    assert any("SIGKILL" in line["event"] for line in events(running.log))


def test_wrong_settings_are_one_line(tmp_path: Path) -> None:
    with program((*GUNICORN, "--bind", "127.0.0.1:0"), tmp_path, "gunicorn", {"api": {"max_limit": "many"}}) as running:
        assert running.process.wait(PATIENCE) != 0
    last = events(running.log)[-1]
    assert last["level"] == "error"
    assert "max_limit" in last["event"]


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--keyfile", os.devnull, f"{os.devnull} has no private key in PEM"),
        ("--ciphers", "ALL", "This worker does not follow ciphers"),
        ("--ca-certs", os.devnull, "This worker does not follow ca_certs"),
    ],
)
def test_tls_that_cannot_be_is_one_line(tmp_path: Path, option: str, value: str, words: str) -> None:
    files = make_certificate(tmp_path)
    given = ("--certfile", str(files.certificate), "--keyfile", str(files.key), option, value)
    with program((*GUNICORN, "--bind", "127.0.0.1:0", *given), tmp_path, "gunicorn") as running:
        assert running.process.wait(PATIENCE) != 0
    last = events(running.log)[-1]
    assert last["level"] == "error"
    assert words in last["event"]


def test_tls(tmp_path: Path) -> None:
    """With gunicorn's own options; a reload reads the files again."""
    files = make_certificate(tmp_path)
    port = free_port()
    options = ("--certfile", str(files.certificate), "--keyfile", str(files.key), "--bind", f"127.0.0.1:{port}")
    url, live = f"https://127.0.0.1:{port}", "GET /healthcheck/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with program((*GUNICORN, *options), tmp_path, "gunicorn", settings_of(tmp_path)) as running:
        wait_until(lambda: "Booting worker" in running.log, "gunicorn to start")
        old = files.trusting()
        assert exchange(url, live, tls=old).status == 200
        new = make_certificate(tmp_path).trusting()  # over the old files
        running.process.send_signal(signal.SIGHUP)

        def is_new() -> bool:
            try:
                return exchange(url, live, tls=new).status == 200
            except ssl.SSLError:
                return False

        wait_until(is_new, "workers with the new certificate")


@pytest.mark.parametrize("start", ["serve", "gunicorn"])
def test_there_is_no_control_socket(tmp_path: Path, start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """gunicorn would put it below one of these directories."""
    for name in ("HOME", "XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    assert environment()["HOME"] == str(tmp_path)
    with serve(tmp_path) if start == "serve" else gunicorn(tmp_path) as (_, url):
        wait_until(lambda: is_live(url), "an answer")
        time.sleep(0.5)
        assert not [path for path in tmp_path.rglob("*") if path.is_socket()]
        assert str(tmp_path) not in Path("/proc/net/unix").read_text()


def test_idle_connections_are_kept_for_75_seconds() -> None:
    assert gunicorn_config.keepalive == 75


def test_requests_under_way_are_finished(tmp_path: Path) -> None:
    """SIGTERM: what waits for a lock when it comes is answered after it; new connections are not accepted."""
    with serve(tmp_path) as (running, _):
        running.end()
    settings = settings_of(tmp_path)
    settings = {**settings, "database": {**settings["database"], "lock_timeout": PATIENCE}}
    with (
        gunicorn(tmp_path, settings=settings) as (running, url),
        conductor(tmp_path, "c1", settings=settings),
        ThreadPoolExecutor(4) as pool,
        sqlite3.connect(tmp_path / DEFAULT_FILE, isolation_level=None) as other,
        wire(url) as half,
        wire(url) as idle,
    ):
        assert create_node(url) == 201
        half.send("GET /healthcheck/live HTTP/1.1\r\nHost: localhost\r\n")
        other.execute("BEGIN IMMEDIATE")
        writes = [pool.submit(create_node, url) for _ in range(3)]
        wait_until(lambda: connections_read(url) == 5, "all requests to be under way")
        running.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "Handling signal: term" in running.log, "gunicorn to notice")
        half.send("\r\n")
        assert half.response().status == 200
        assert half.ends()
        time.sleep(0.5)
        assert running.process.poll() is None
        other.execute("ROLLBACK")
        assert [write.result() for write in writes] == [201] * 3
        assert running.process.wait(PATIENCE) == 0
        assert idle.ends()
    nodes = sqlite3.connect(tmp_path / DEFAULT_FILE).execute("SELECT count(*) FROM nodes").fetchone()
    assert nodes == (4,)


def connections_read(url: str) -> int:
    """The number of connections of which gunicorn has read all that it was sent, as the kernel knows them."""
    end = f":{int(url.rpartition(':')[2]):04X}"
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(end) and row[3] == "01" and row[4].endswith(":00000000") for row in rows)


def test_a_stop_reaches_a_worker_that_has_just_been_forked(tmp_path: Path) -> None:
    config = tmp_path / "slow_start.py"
    config.write_text(
        "import time\n"
        "from baremetal_sched.gunicorn_config import *\n"
        "def post_fork(arbiter, worker):\n"
        "    time.sleep(2)\n"
    )
    command = (*GUNICORN, "--bind", "127.0.0.1:0", "-c", str(config))
    with program(command, tmp_path, "gunicorn", settings_of(tmp_path)) as running:
        wait_until(lambda: "Booting worker" in running.log, "a worker")
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE) == 0, "it waits for requests that nobody has made"
    assert not any("SIGKILL" in line["event"] for line in events(running.log))


def ask_all_the_time(url: str, stop: threading.Event) -> tuple[int, list[object]]:
    """Ask on a connection that is kept, as long as the server keeps it; how often, and what went wrong."""
    count, failures = 0, list[object]()
    host, port = url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
    while not stop.is_set():
        try:
            connection.request("GET", "/placement/")
            response = connection.getresponse()
            response.read()
            count += 1
            if response.status != 200:
                failures.append(response.status)
        except OSError as error:
            failures.append(error)
            connection.close()
    connection.close()
    return count, failures


def without_a_failure(url: str, do: Callable[[], None]) -> None:
    """Call ``do`` while requests are made; none of them fails."""
    stop = threading.Event()
    with ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(ask_all_the_time, url, stop) for _ in range(3)]
        try:
            do()
        finally:
            stop.set()
        for answer in asking:
            count, failures = answer.result()
            assert count
            assert not failures


def test_a_reload_breaks_no_request(tmp_path: Path) -> None:
    """SIGHUP: the settings are read again, and new workers take over."""
    with gunicorn(tmp_path, "--workers", "2") as (running, url):

        def reload() -> None:
            time.sleep(0.5)
            running.process.send_signal(signal.SIGHUP)
            wait_until(lambda: running.log.count("Worker exiting") == 2, "the old workers to end")
            time.sleep(0.5)

        without_a_failure(url, reload)
        assert running.log.count("Booting worker") == 4


def test_a_reload_reads_the_code_that_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers share the code that was imported before they were forked; a reload imports what is there then."""
    package = tmp_path / "code" / "baremetal_sched"
    shutil.copytree(Path(baremetal_sched.__file__).parent, package)
    shutil.copytree(ROOT / "migrations", package / "migrations")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    with gunicorn(tmp_path) as (running, url), Client(url) as client:
        before = client.placement("GET", "/").text
        edited = package / "placement" / "api" / "root.py"
        assert '"CURRENT"' in edited.read_text()
        edited.write_text(edited.read_text().replace('"CURRENT"', '"EDITED"'))
        running.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "EDITED" in client.placement("GET", "/").text, "workers with the new code")
    assert "CURRENT" in before


def test_workers_that_have_served_enough_are_replaced(tmp_path: Path) -> None:
    with gunicorn(tmp_path, "--workers", "2", "--max-requests", "150") as (running, url):

        def wait() -> None:
            wait_until(lambda: running.log.count("Booting worker") >= 4, "workers to be replaced")

        without_a_failure(url, wait)


def test_ipv6(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("there is no IPv6")
        port = probe.getsockname()[1]
    with program((*GUNICORN, "--bind", f"[::1]:{port}"), tmp_path, "gunicorn", settings_of(tmp_path)):
        url = f"http://[::1]:{port}"
        wait_until(lambda: is_live(url), "gunicorn to answer")
        with wire(url) as one:
            one.send("GET /baremetal HTTP/1.0\r\n\r\n")  # no Host: the address that it listens on
            assert f"{url}/baremetal/v1/" in one.response().body.decode()


def test_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with program((*GUNICORN, "--bind", f"unix:{path}"), tmp_path, "gunicorn", settings_of(tmp_path)) as running:
        wait_until(lambda: "Booting worker" in running.log, "gunicorn to start")
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(str(path))
            client.sendall(b"GET /baremetal HTTP/1.1\r\nHost: bm_upstream\r\nConnection: close\r\n\r\n")
            received = b"".join(iter(lambda: client.recv(65536), b""))
        assert received.startswith(b"HTTP/1.1 200 ")
        assert b"http://bm_upstream/baremetal/v1/" in received


def test_workers_share_their_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever worker answers counts for all of them, in production and in ``serve``."""
    (shared := tmp_path / "metrics").mkdir()
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(shared))
    with serve(tmp_path, "--workers", "2") as (_, url):
        for _ in range(30):
            with Client(url) as client:
                assert client.placement("GET", "/").status_code == 200
        with wire(url) as one:
            one.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            text = one.response().body.decode()
    name = "baremetal_sched_request_duration_seconds_count"
    assert re.findall(rf'^{name}{{api="placement",method="GET",status="200"}} (\S+)$', text, re.MULTILINE) == ["30.0"]
    assert run(tmp_path, "db", "check").returncode == 0
