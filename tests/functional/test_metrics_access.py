"""/metrics and /healthcheck with authentication: who may read them, from where."""

from typing import Any

import pytest

from tests.service import Service

METRICS = "/metrics"
READER = {"X-Auth-Token": "prometheus", "X-Roles": "reader"}
SYSTEM = {"OpenStack-System-Scope": "all"}


@pytest.fixture
def secured(database_url: str) -> Any:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        yield service


def scrape(service: Service, address: str | None = "192.0.2.1", **headers: str) -> int:
    environ = {} if address is None else {"REMOTE_ADDR": address}
    status: int = service.http.get(METRICS, headers=headers, extra_environ=environ, status="*").status_code
    return status


def test_this_machine_needs_no_credentials(secured: Service, subtests: pytest.Subtests) -> None:
    for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]:
        with subtests.test(address=address):
            answer = secured.http.get(METRICS, extra_environ={"REMOTE_ADDR": address}, status=200)
            assert "baremetal_sched_database_up 1.0" in answer.text


def test_others_do(secured: Service, subtests: pytest.Subtests) -> None:
    for address in ["192.0.2.1", "10.0.0.1", "::ffff:192.0.2.1", "", "unix:", None]:
        with subtests.test(address=address):
            assert scrape(secured, address) == 401


def test_a_proxy_on_this_machine_is_not_this_machine(secured: Service, subtests: pytest.Subtests) -> None:
    for header in ["Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "Via"]:
        with subtests.test(header=header):
            assert scrape(secured, "127.0.0.1", **{header: "x"}) == 401


def test_a_proxy_that_is_trusted_says_who_asks(database_url: str) -> None:
    """Whatever it says: what passed a proxy did not begin here."""
    options = {"enable_proxy_headers_parsing": True}
    with Service(database_url, api={"auth_strategy": "noauth2"}, oslo_middleware=options) as service:
        assert scrape(service, "192.0.2.1", **{"X-Forwarded-For": "127.0.0.1"}) == 401
        assert scrape(service, "127.0.0.1", **{"X-Forwarded-For": "127.0.0.1"}) == 401


def test_roles(secured: Service, subtests: pytest.Subtests) -> None:
    for roles, system, status in [
        ("admin", False, 200),
        ("admin", True, 200),
        ("service", False, 200),
        ("reader", True, 200),
        ("reader", False, 403),
        ("member,reader", False, 403),
        ("member", True, 403),
        ("", False, 403),
    ]:
        with subtests.test(roles=roles, system=system):
            headers = {"X-Auth-Token": "u:p", "X-Roles": roles, **(SYSTEM if system else {})}
            assert scrape(secured, **headers) == status


def test_a_refusal_says_which_rule(secured: Service) -> None:
    answer = secured.http.get(METRICS, headers=READER, status=403)
    assert answer.json["error"]["status"] == 403
    assert "metrics:get" in answer.json["error"]["message"]


def test_this_machine_may_do_nothing_else(secured: Service) -> None:
    """Nor with a method that /metrics does not have."""
    here = {"REMOTE_ADDR": "127.0.0.1"}
    secured.http.post(METRICS, extra_environ=here, status=405)
    secured.http.get("/nosuch", extra_environ=here, status=401)
    secured.http.get("/placement/metrics", extra_environ=here, status=401)
    secured.http.get("/baremetal/v1/nodes", extra_environ=here, status=401)


def test_an_operator_changes_the_rule(database_url: str, tmp_path: Any) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('"metrics:get": "role:reader"\n')
    oslo_policy = {"policy_file": str(file)}
    with Service(database_url, api={"auth_strategy": "noauth2"}, oslo_policy=oslo_policy) as service:
        assert scrape(service, **READER) == 200


def test_anyone_may_know_whether_the_service_is_well(secured: Service, subtests: pytest.Subtests) -> None:
    for path in ["/", "/healthcheck", "/healthcheck/live"]:
        with subtests.test(path=path):
            secured.http.get(path, extra_environ={"REMOTE_ADDR": "192.0.2.1"}, status=200)


def test_without_authentication_nobody_is_asked(service: Service) -> None:
    assert scrape(service) == 200
