"""Requests that wait keep no others from being served, in ``serve``, in gunicorn as the README starts it, and with
gunicorn's own threads."""

import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from tests.clients.test_slow_clients import gunicorn, is_live
from tests.clients.test_start import DEFAULT_FILE
from tests.processes import Client, Values, conductor, serve
from tests.waiting import wait_until

#: As many as may wait by default.
MOST = 48

#: Whoever waits does so until the end of the test.
PATIENT: Values = {"conductor": {"node_locked_retry_attempts": 10_000}}


@pytest.fixture(params=["serve", "gunicorn", "gthread"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a service with a conductor."""
    with serve(tmp_path, settings=PATIENT) as (running, url):
        if request.param == "serve":
            yield url
            return
        running.end()
    options = ("--worker-class", "gthread") if request.param == "gthread" else ()
    database: Values = {"database": {"connection": f"sqlite:///{tmp_path / DEFAULT_FILE}"}}
    with gunicorn(tmp_path, *options, settings=PATIENT) as (_, url), conductor(tmp_path, "c1", settings=database):
        yield url


def set_reservation(folder: Path, holder: str | None) -> None:
    """Lock the node, or unlock it."""
    with sqlite3.connect(folder / DEFAULT_FILE) as database:
        database.execute("UPDATE nodes SET reservation = ?", (holder,))


def extend(url: str, number: int) -> requests.Response:
    """The answer to a change of the node."""
    with Client(url) as client:
        change = {"op": "add", "path": f"/extra/k{number}", "value": 1}
        return client.baremetal("PATCH", "/nodes/n1", [change])


def test_requests_that_wait(url: str, tmp_path: Path) -> None:
    with Client(url) as client:
        assert client.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"}).status_code == 201
    set_reservation(tmp_path, "c9")
    with ThreadPoolExecutor(MOST + 1) as pool:
        sent = [pool.submit(extend, url, number) for number in range(MOST + 1)]
        try:
            wait_until(lambda: any(map(Future.done, sent)), "one too many")
            (refused,) = [each.result() for each in sent if each.done()]
            assert refused.status_code == 503
            assert f"{MOST} requests wait" in refused.text
            began = time.monotonic()
            with Client(url) as client:
                for _ in range(5):
                    assert client.baremetal("GET", "/nodes/n1").json()["extra"] == {}
                    assert client.baremetal("POST", "/nodes", {"driver": "fake-hardware"}).status_code == 201
            assert is_live(url)
            assert time.monotonic() - began < 10
            assert sum(map(Future.done, sent)) == 1
        finally:
            set_reservation(tmp_path, None)
        statuses = sorted(each.result().status_code for each in sent)
    assert statuses == [200] * MOST + [503]
    with Client(url) as client:
        assert len(client.baremetal("GET", "/nodes/n1").json()["extra"]) == MOST
