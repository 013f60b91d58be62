# tier: first
"""The audit log: one line for each request that changes something, or tries to."""

import io
import json
from typing import Any

import pytest

from baremetal_sched.web import audit
from tests.service import Service

ADMIN = {"X-Auth-Token": "root:ops", "X-Roles": "admin,member"}
MEMBER = {"X-Auth-Token": "eve:tenant", "X-Roles": "member"}
PLACEMENT = {"OpenStack-API-Version": "placement 1.39"}
TRAIT = "/placement/traits/CUSTOM_A"


@pytest.fixture
def secured(database_url: str) -> Any:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        yield service


def audited(lines: io.StringIO) -> list[dict[str, Any]]:
    """The lines of the audit log, in order; they are taken."""
    found = [json.loads(line) for line in lines.getvalue().splitlines()]
    lines.seek(0)
    lines.truncate()
    return [line for line in found if line["logger"] == audit.LOGGER]


def test_a_change_is_a_line_with_who_and_what(lines: io.StringIO, secured: Service) -> None:
    environ = {"REMOTE_ADDR": "192.0.2.7"}
    answer = secured.http.put(TRAIT, headers=ADMIN | PLACEMENT, extra_environ=environ, status=201)
    (line,) = audited(lines)
    assert line.pop("timestamp")
    assert line.pop("milliseconds") > 0
    assert line == {
        "event": "audit",
        "level": "info",
        "logger": "baremetal_sched.audit",
        "request_id": answer.headers["X-OpenStack-Request-Id"],
        "api": "placement",
        "method": "PUT",
        "route": "/traits/<name>",
        "target": {"name": "CUSTOM_A"},
        "location": "http://localhost/placement/traits/CUSTOM_A",
        "version": "1.39",
        "status": 201,
        "remote_address": "192.0.2.7",
        "user_id": "root",
        "user_name": None,
        "project_id": "ops",
        "project_name": None,
        "domain_id": None,
        "roles": ["admin", "member"],
        "system_scope": None,
        "service_user_id": None,
    }


def test_a_system_scope_is_in_the_line(lines: io.StringIO, secured: Service) -> None:
    headers = {"X-Auth-Token": "root", "X-Roles": "admin", "OpenStack-System-Scope": "all"}
    secured.http.put(TRAIT, headers=headers | PLACEMENT, status=403)
    (line,) = audited(lines)
    assert (line["system_scope"], line["project_id"], line["status"]) == ("all", None, 403)


def test_what_is_refused_is_a_line_too(lines: io.StringIO, secured: Service) -> None:
    """For want of a token, of a right, of the method, of the path, for its body; the route is named if there is one."""
    secured.http.put(TRAIT, headers=PLACEMENT, status=401)
    secured.http.put(TRAIT, headers=MEMBER | PLACEMENT, status=403)
    secured.http.patch(TRAIT, headers=ADMIN | PLACEMENT, status=405)
    secured.http.post("/placement/nosuch", headers=ADMIN | PLACEMENT, status=404)
    secured.http.post_json("/placement/resource_providers", {"nosuch": 1}, headers=ADMIN | PLACEMENT, status=400)
    found = [(line["status"], line["user_id"], line["route"], line["target"]) for line in audited(lines)]
    assert found == [
        (401, None, "/traits/<name>", {"name": "CUSTOM_A"}),
        (403, "eve", "/traits/<name>", {"name": "CUSTOM_A"}),
        (405, "root", "/traits/<name>", {"name": "CUSTOM_A"}),
        (404, "root", None, {}),
        (400, "root", "/resource_providers", {}),
    ]


def test_reading_is_no_line(lines: io.StringIO, secured: Service) -> None:
    secured.http.get("/placement/traits", headers=ADMIN | PLACEMENT, status=200)
    secured.http.get("/placement/traits", headers=MEMBER | PLACEMENT, status=403)
    secured.http.head("/healthcheck/live", headers=ADMIN, status="*")
    secured.http.options("/placement/traits", status="*")
    assert audited(lines) == []


def test_a_dry_run_changes_nothing(lines: io.StringIO, service: Service) -> None:
    service.add_flavor("f")
    audited(lines)
    service.http.post_json("/scheduling/v1/requests", {"flavor": "f"}, status="*")
    service.http.post_json("/scheduling/v1/requests", {}, status=400)
    assert audited(lines) == []


def test_an_agent_that_is_given_its_token_changes_something(lines: io.StringIO, service: Service) -> None:
    service.baremetal("GET", "/lookup?addresses=52:54:00:00:00:01", status=404)
    (line,) = audited(lines)
    assert (line["route"], line["method"], line["version"]) == ("/v1/lookup", "GET", "1.115")
    assert (line["user_id"], line["roles"]) == (None, [])


def test_what_was_made_is_named(lines: io.StringIO, service: Service) -> None:
    node = service.baremetal("POST", "/nodes", {"driver": "fake-hardware"}).json["uuid"]
    (line,) = audited(lines)
    assert line["location"].endswith(f"/baremetal/v1/nodes/{node}")


def test_what_is_named_beside_the_path_is_the_target_too(lines: io.StringIO, service: Service) -> None:
    node = service.add_node(power=False)
    audited(lines)
    service.baremetal("PUT", f"/nodes/maintenance?node_ident={node}", status=202)
    (line,) = audited(lines)
    assert line["target"] == {"node_ident": node}
    assert "node_ident=" not in json.dumps(line)


def test_every_line_of_a_request_has_the_caller(lines: io.StringIO, secured: Service) -> None:
    secured.http.get("/placement/traits", headers=ADMIN | PLACEMENT)
    (line,) = (line for line in map(json.loads, lines.getvalue().splitlines()) if line["event"] == "request")
    assert (line["user_id"], line["project_id"]) == ("root", "ops")


def test_long_parameters_are_cut(lines: io.StringIO, service: Service) -> None:
    service.placement("PUT", f"/traits/CUSTOM_{'A' * 5000}", status=400)
    (line,) = audited(lines)
    assert len(line["target"]["name"]) == 255
