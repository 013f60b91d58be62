"""Log lines: structured, with the request id of the answer, and without secrets."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from baremetal_sched import logs
from baremetal_sched.settings import load
from tests.service import Service


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What is logged meanwhile, as JSON lines."""
    root = logging.getLogger()
    before, level, config = root.handlers[:], root.level, structlog.get_config()
    logs.configure(load())
    written = io.StringIO()
    root.handlers[0].setStream(written)  # type: ignore[attr-defined]
    yield written
    root.handlers[:] = before
    root.setLevel(level)
    structlog.configure(**config)


def test_every_line_of_a_request_has_the_id_of_its_answer(lines: io.StringIO, database_url: str) -> None:
    with Service(database_url) as service:
        service.add_conductor("c1")
        response = service.baremetal(
            "POST", "/nodes", {"driver": "fake-hardware", "driver_info": {"password": "hunter2"}}
        )
        missing = service.placement("GET", "/nosuch", status=404)
    logged = [json.loads(line) for line in lines.getvalue().splitlines()]
    requests = {line["request_id"]: line for line in logged if line["event"] == "request"}
    posted = requests[response.headers["x-openstack-request-id"]]
    assert (posted["api"], posted["method"], posted["path"], posted["status"]) == (
        "baremetal",
        "POST",
        "/v1/nodes",
        201,
    )
    assert posted["milliseconds"] > 0
    assert requests[missing.headers["x-openstack-request-id"]]["status"] == 404
    assert "hunter2" not in lines.getvalue()


def test_an_unexpected_error_is_a_500_whose_cause_is_in_the_log_only(
    lines: io.StringIO, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*args: object) -> None:
        raise RuntimeError("the cause")

    monkeypatch.setattr("baremetal_sched.baremetal.api.nodes.select_nodes", explode)
    response = service.baremetal("GET", "/nodes", status=500)
    assert "the cause" not in response.text
    (line,) = [line for line in map(json.loads, lines.getvalue().splitlines()) if line["event"] == "request failed"]
    assert line["request_id"] == response.headers["x-openstack-request-id"]
    assert "RuntimeError: the cause" in line["exception"]
