"""Without authentication only listeners on loopback are served."""

import json

import pytest

from baremetal_sched.web.listener import is_loopback
from tests.service import Service

PATHS = ["/", "/healthcheck", "/baremetal/v1/nodes", "/placement/resource_providers", "/compute/v2.1/flavors"]


def status(service: Service, path: str, name: str, port: str = "6385", **headers: str) -> int:
    """What a request is answered that arrives at this listener."""
    listener = {"SERVER_NAME": name, "SERVER_PORT": port}
    return service.http.get(path, headers=headers, extra_environ=listener, expect_errors=True).status_int


@pytest.mark.parametrize("name", ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "localhost"])
def test_loopback_is_served(service: Service, name: str) -> None:
    assert [status(service, path, name) for path in PATHS] == [200] * len(PATHS)


@pytest.mark.parametrize(
    "name",
    ["0.0.0.0", "192.0.2.1", "10.0.0.1", "::", "2001:db8::1", "::ffff:192.0.2.1", "fe80::1%eth0", "api", "localhost.x"],
)
def test_other_listeners_are_not(service: Service, name: str) -> None:
    assert [status(service, path, name) for path in PATHS] == [403] * len(PATHS)


def test_a_unix_socket_is_served(service: Service) -> None:
    """As our server says it: without a port."""
    assert status(service, "/baremetal/v1/nodes", "localhost", "") == 200


def test_what_the_client_says_does_not_count(database_url: str) -> None:
    trusted = {"enable_proxy_headers_parsing": True}
    with Service(database_url, oslo_middleware=trusted) as service:
        said = {"Host": "localhost", "X-Forwarded-Host": "localhost", "X-Forwarded-For": "127.0.0.1"}
        assert status(service, "/baremetal/v1/nodes", "192.0.2.1", **said) == 403
        said = {"Host": "api.example.org", "X-Forwarded-Host": "api.example.org", "X-Forwarded-For": "192.0.2.1"}
        assert status(service, "/baremetal/v1/nodes", "127.0.0.1", **said) == 200


def test_the_answer_says_what_to_do(service: Service) -> None:
    answer = service.http.get("/baremetal/v1/nodes", extra_environ={"SERVER_NAME": "192.0.2.1"}, status=403)
    fault = json.loads(answer.json["error_message"])
    assert "[api] auth_strategy" in fault["faultstring"]
    assert "[api] insecure = true" in fault["faultstring"]


@pytest.mark.parametrize("api", [{"insecure": True}, {"auth_strategy": "noauth", "insecure": True}])
def test_it_may_be_meant(database_url: str, api: dict[str, object]) -> None:
    with Service(database_url, api=api) as service:
        assert [status(service, path, "192.0.2.1") for path in PATHS] == [200] * len(PATHS)


def test_a_strategy_is_enough(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        token = {"X-Auth-Token": "admin"}
        assert status(service, "/placement/resource_providers", "192.0.2.1", **token) == 200


@pytest.mark.parametrize("host", ["", "999.0.0.1", "localhost.example.org", "1"])
def test_what_is_no_loopback(host: str) -> None:
    assert not is_loopback(host)
