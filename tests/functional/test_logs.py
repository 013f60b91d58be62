# tier: first
"""Log lines: structured, with the request id of the answer, and without secrets."""

import io
import json
import logging
from pathlib import Path

import pytest
import structlog
from sqlalchemy import insert, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from baremetal_sched import logs
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, table_of
from baremetal_sched.settings import load
from tests.service import Service


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

    monkeypatch.setattr("baremetal_sched.baremetal.api.nodes.nodes.select_nodes", explode)
    response = service.baremetal("GET", "/nodes", status=500)
    assert "the cause" not in response.text
    (line,) = [line for line in map(json.loads, lines.getvalue().splitlines()) if line["event"] == "request failed"]
    assert line["request_id"] == response.headers["x-openstack-request-id"]
    assert "RuntimeError: the cause" in line["exception"]


def test_tracebacks_have_no_parameters_of_statements(
    lines: io.StringIO, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = {"driver_info": "hunter2", "other": "hunter2"}  # not on the line that a traceback has

    def explode(connection: Session, *args: object) -> None:
        connection.execute(text("SELECT nosuch(:driver_info, :other)"), parameters)

    monkeypatch.setattr("baremetal_sched.baremetal.api.nodes.nodes.select_nodes", explode)
    service.baremetal("GET", "/nodes", status="*")
    assert "nosuch" in lines.getvalue()
    assert "hunter2" not in lines.getvalue()


def test_a_row_that_violates_a_constraint_is_not_repeated(lines: io.StringIO, database_url: str) -> None:
    with Service(database_url) as service:
        node = {"uuid": "u", "revision": 1, "driver": "d", "driver_info": {"a": "hunter2"}, "created_at": utcnow()}
        try:
            service.database.write(lambda session: session.execute(insert(table_of(Node)).values(node)))
        except DBAPIError as error:
            structlog.get_logger("t").error("request failed", exc_info=error)
    assert "INSERT INTO nodes" in lines.getvalue()
    assert "hunter2" not in lines.getvalue()


def test_lines_have_no_secrets(lines: io.StringIO, subtests: pytest.Subtests) -> None:
    for log_format in ["json", "console"]:
        with subtests.test(log_format=log_format):
            logs.configure(load(overrides={"DEFAULT": {"log_format": log_format}}))
            logging.getLogger().handlers[0].setStream(lines)  # type: ignore[attr-defined]
            error = ValueError("cannot open https://u:hunter2@h/")
            structlog.get_logger("ours").warning(
                "tried", password="hunter2", nested=[{"auth_token": ("hunter2",)}], reason=error
            )
            logging.getLogger("theirs").warning("a url: %s", "https://u:hunter2@h/")
            structlog.get_logger("ours").error("failed", path="/v1/lookup?agent_token=hunter2", exc_info=error)
            assert "hunter2" not in lines.getvalue()
            assert "cannot open https://u:******@h/" in lines.getvalue()


def test_secrets_in_query_strings_are_not_logged(
    lines: io.StringIO, service: Service, subtests: pytest.Subtests
) -> None:
    for query in [
        "target=rescue&rescue_password=hunter2",
        "agent_token=hunter2&callback_url=http://192.0.2.1",
        "rescue%5Fpassword=hunter2",
        "callback_url=https%3A%2F%2Fuser%3Ahunter2%40192.0.2.1",
        "admin_pass=a%20hunter2&x=1",
        "configdrive=hunter2",
    ]:
        with subtests.test(query=query):
            lines.seek(lines.truncate(0))
            service.baremetal("PUT", f"/nodes/n1/states/provision?{query}", status="4*")
            (line,) = [line for line in map(json.loads, lines.getvalue().splitlines()) if line["event"] == "request"]
            assert line["path"].startswith("/v1/nodes/n1/states/provision?")
            assert "=******" in line["path"]
            assert "hunter2" not in lines.getvalue()


def test_long_paths_are_cut(lines: io.StringIO, service: Service) -> None:
    service.placement("GET", f"/resource_providers?name={'x' * 5000}", status="*")
    (line,) = [line for line in map(json.loads, lines.getvalue().splitlines()) if line["event"] == "request"]
    assert len(line["path"]) < 1100


def test_what_machines_ask_all_the_time_is_logged_if_it_fails(lines: io.StringIO, service: Service) -> None:
    for path in ("/metrics", "/healthcheck", "/healthcheck/live"):
        service.http.get(path)
        service.http.post(path, status=405)
    logged = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [(line["path"], line["status"]) for line in logged if line["event"] == "request"] == [
        (path, 405) for path in ("/metrics", "/healthcheck", "/healthcheck/live")
    ]


def test_the_service_says_what_it_uses(lines: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_API__MAX_LIMIT", "5")
    file = tmp_path / "a.conf"
    file.write_text("[database]\nconnection = mariadb://u:hunter2@h/d\n[pxe]\na = 1\n[keystone_authtoken]\na = 1\n")
    logs.log_settings(load([str(file)]))
    used, others = (json.loads(line) for line in lines.getvalue().splitlines())
    assert (used["database"], used["files"], used["environment"]) == (
        "mariadb://u:******@h/d",
        [str(file)],
        ["OS_API__MAX_LIMIT"],
    )
    assert others["groups"] == ["keystone_authtoken", "pxe"]


def test_a_file_of_sqlite_is_said_with_its_whole_path(
    lines: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    logs.log_settings(load())
    (used,) = (json.loads(line) for line in lines.getvalue().splitlines())
    assert used["database"] == f"sqlite:///{tmp_path}/baremetal-sched.sqlite"
