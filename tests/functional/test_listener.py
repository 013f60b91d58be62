"""Without authentication only listeners on loopback are served."""

import json

import pytest

from baremetal_sched.web.listener import is_loopback
from tests.service import Service

PATHS = ["/", "/healthcheck", "/baremetal/v1/nodes", "/placement/resource_providers", "/compute/v2.1/flavors"]


def status(service: Service, path: str, name: str, port: str = "6385", **headers: str) -> int:
    """The answer to a request that arrives at this listener."""
    listener = {"SERVER_NAME": name, "SERVER_PORT": port}
    return service.http.get(path, headers=headers, extra_environ=listener, expect_errors=True).status_int


def test_loopback_is_served(service: Service, subtests: pytest.Subtests) -> None:
    for name in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "localhost"]:
        with subtests.test(name=name):
            assert [status(service, path, name) for path in PATHS] == [200] * len(PATHS)


def test_other_listeners_are_not(service: Service, subtests: pytest.Subtests) -> None:
    for name in [
        "0.0.0.0",
        "192.0.2.1",
        "10.0.0.1",
        "::",
        "2001:db8::1",
        "::ffff:192.0.2.1",
        "fe80::1%eth0",
        "api",
        "localhost.x",
    ]:
        with subtests.test(name=name):
            assert [status(service, path, name) for path in PATHS] == [403] * len(PATHS)


def test_a_unix_socket_is_served(service: Service) -> None:
    """As our server says it: without a port."""
    assert status(service, "/baremetal/v1/nodes", "localhost", "") == 200


def test_what_the_client_says_does_not_count(database_url: str) -> None:
    trusted = {"enable_proxy_headers_parsing": True}
    with Service(database_url, oslo_middleware=trusted) as service:
        said = {"Host": "localhost", "X-Forwarded-Host": "localhost", "X-Forwarded-For": "127.0.0.1"}
        assert status(service, "/baremetal/v1/nodes", "192.0.2.1", **said) == 403
        said = {"Host": "localhost", "X-Forwarded-Host": "api.example.org", "X-Forwarded-For": "192.0.2.1"}
        assert status(service, "/baremetal/v1/nodes", "127.0.0.1", **said) == 200


def test_the_answer_says_what_to_do(service: Service) -> None:
    answer = service.http.get("/baremetal/v1/nodes", extra_environ={"SERVER_NAME": "192.0.2.1"}, status=403)
    fault = json.loads(answer.json["error_message"])
    assert "[api] auth_strategy" in fault["faultstring"]
    assert "[api] insecure = true" in fault["faultstring"]


def test_it_may_be_meant(database_url: str, subtests: pytest.Subtests) -> None:
    for api in [{"insecure": True}, {"auth_strategy": "noauth", "insecure": True}]:
        with subtests.test(api=api), Service(database_url, api=api) as service:
            assert [status(service, path, "192.0.2.1") for path in PATHS] == [200] * len(PATHS)


def test_a_strategy_is_enough(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        token = {"X-Auth-Token": "admin"}
        assert status(service, "/placement/resource_providers", "192.0.2.1", **token) == 200


def test_what_is_no_loopback(subtests: pytest.Subtests) -> None:
    for host in ["", "999.0.0.1", "localhost.example.org", "1"]:
        with subtests.test(host=host):
            assert not is_loopback(host)


HERE = ["127.0.0.1:6385", "127.0.0.1", "[::1]:6385", "192.0.2.1", "localhost", "LocalHost:80", "localhost.", ""]
FOREIGN = ["evil.example:6385", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "api", "0x7f000001"]


@pytest.mark.sqlite_only
def test_names_that_others_let_lead_here_are_refused(database_url: str, subtests: pytest.Subtests) -> None:
    """A page of that name is, for its browser, a page of this service, whose answers it may read."""
    for strategy in ["none", "noauth"]:
        with subtests.test(strategy=strategy), Service(database_url, api={"auth_strategy": strategy}) as service:
            everything = [*PATHS, "/healthcheck/live", "/metrics", "/ui/", "/image/v2/images", "/no/such/path"]
            for host in FOREIGN:
                assert [status(service, path, "127.0.0.1", Host=host) for path in everything] == [403] * len(everything)
            for host in HERE:
                assert [status(service, path, "::1", Host=host) for path in PATHS] == [200] * len(PATHS)
            answer = service.http.get("/placement/", headers={"Host": "evil.example"}, status=403)
            assert "[api] allowed_hosts" in answer.json["errors"][0]["detail"]


@pytest.mark.sqlite_only
def test_names_that_the_settings_allow_are_served(database_url: str) -> None:
    names = ["Cloud.example.org", "bm_upstream"]
    with Service(database_url, api={"allowed_hosts": names}) as service:
        for host in ("cloud.example.org", "CLOUD.example.org.:8443", "bm_upstream:80", *HERE):
            assert status(service, PATHS[2], "127.0.0.1", Host=host) == 200
        for host in (*FOREIGN, "x.cloud.example.org"):
            assert status(service, PATHS[2], "127.0.0.1", Host=host) == 403


@pytest.mark.sqlite_only
def test_a_page_cannot_pose_as_a_proxy(database_url: str) -> None:
    """It may send these headers to its own site, as the browser sees it."""
    with Service(database_url, oslo_middleware={"enable_proxy_headers_parsing": True}) as service:
        posing = {"Host": "evil.example", "X-Forwarded-Host": "localhost"}
        assert status(service, PATHS[2], "127.0.0.1", **posing) == 403


@pytest.mark.sqlite_only
def test_other_listeners_and_strategies_serve_every_name(database_url: str) -> None:
    with Service(database_url, api={"insecure": True}) as service:
        assert status(service, PATHS[2], "127.0.0.1", Host="evil.example") == 403
        assert status(service, PATHS[2], "192.0.2.1", Host="api.example.org") == 200
        assert status(service, PATHS[2], "localhost", "", Host="bm_upstream") == 200  # a Unix socket
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        assert status(service, PATHS[1], "127.0.0.1", Host="api.example.org") == 200
