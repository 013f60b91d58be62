"""Pages of other sites cannot have a browser send requests that change something."""

import json

import pytest

from tests.service import Service

#: A write of each API that does not need more than its path; none of them may be executed.
WRITES = [
    ("POST", "/baremetal/v1/nodes"),
    ("DELETE", "/baremetal/v1/nodes/n1"),
    ("PATCH", "/baremetal/v1/nodes/n1"),
    ("PUT", "/placement/traits/CUSTOM_A"),
    ("POST", "/compute/v2.1/flavors"),
    ("DELETE", "/image/v2/images/i1"),
    ("POST", "/scheduling/v1/requests"),
    ("POST", "/ui/"),
    ("POST", "/"),
    ("POST", "/no/such/path"),
]
NODE = json.dumps({"driver": "fake-hardware"})
EVIL = "http://evil.example"


def enrol(service: Service, host: str = "localhost:80", method: str = "POST", **headers: str) -> int:
    """The status of a node's creation, as a form or a script of a page sends it: without a preflight."""
    headers = {"Content-Type": "text/plain", "Host": host} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    answer = service.http.request(
        "/baremetal/v1/nodes", method=method, body=NODE.encode(), headers=headers, expect_errors=True
    )
    return answer.status_int


@pytest.mark.sqlite_only
def test_every_api_refuses_writes_of_other_sites(service: Service, subtests: pytest.Subtests) -> None:
    for method, path in WRITES:
        with subtests.test(method=method, path=path):
            answer = service.http.request(path, method=method, headers={"Origin": EVIL}, expect_errors=True)
            assert answer.status_int == 403
            assert "[cors] allowed_origin" in answer.text


@pytest.mark.sqlite_only
def test_foreign_writes_change_nothing(service: Service, subtests: pytest.Subtests) -> None:
    for headers in [
        {"Origin": EVIL},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://localhost:81"},
        {"Origin": "https://localhost"},
        {"Origin": "localhost:80"},
        {"Origin": "http://localhost:80@evil.example"},
        {"Origin": "http://localhost:80.evil.example"},
        {"Origin": "http://localhost:80, http://evil.example"},
        {"Origin": "http://localhost:x"},
        {"Origin": "http://[localhost"},
        {"Origin": "http://localhost:80/"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "unheard-of"},
        {"Sec_Fetch_Site": "cross-site", "Origin": "http://localhost:80"},
    ]:
        with subtests.test(headers=headers):
            assert enrol(service, **headers) == 403
            assert service.baremetal("GET", "/nodes").json["nodes"] == []


@pytest.mark.sqlite_only
def test_clients_and_own_pages_may_write(service: Service, subtests: pytest.Subtests) -> None:
    for host, headers in [
        ("localhost:80", {}),
        ("localhost:80", {"Sec_Fetch_Site": "same-origin", "Origin": "http://localhost"}),
        ("localhost:80", {"Sec_Fetch_Site": "none"}),
        ("localhost:80", {"Origin": "http://localhost"}),
        ("localhost", {"Origin": "http://localhost:80"}),
        ("localhost", {"Origin": "https://localhost"}),
        ("LOCALHOST:6385", {"Origin": "http://localhost:6385"}),
        ("127.0.0.1:6385", {"Origin": "http://127.0.0.1:6385"}),
        ("[::1]:6385", {"Origin": "http://[::1]:6385"}),
    ]:
        with subtests.test(host=host, headers=headers):
            assert enrol(service, host, **headers) == 201


@pytest.mark.sqlite_only
def test_reads_are_left_to_the_browser(service: Service, subtests: pytest.Subtests) -> None:
    """It does not show the answer to the page."""
    for method in ["GET", "HEAD", "OPTIONS"]:
        with subtests.test(method=method):
            answer = service.http.request("/placement/", method=method, headers={"Origin": EVIL}, expect_errors=True)
            assert answer.status_int != 403
            assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.sqlite_only
def test_pages_that_the_settings_name_may_write(database_url: str) -> None:
    with Service(database_url, cors={"allowed_origin": ["https://panel.example.org"]}) as service:
        service.add_conductor("c1")
        assert enrol(service, Origin="https://panel.example.org", Sec_Fetch_Site="cross-site") == 201
        assert enrol(service, Origin="https://panel.example.org:444", Sec_Fetch_Site="cross-site") == 403
        assert enrol(service, Origin="http://panel.example.org") == 403
        assert enrol(service, Origin="null") == 403


@pytest.mark.sqlite_only
def test_an_asterisk_is_every_site(database_url: str) -> None:
    with Service(database_url, cors={"allowed_origin": ["*"]}) as service:
        service.add_conductor("c1")
        assert enrol(service, Origin=EVIL) == 201
        assert enrol(service, Origin="null") == 403


@pytest.mark.sqlite_only
def test_behind_a_proxy_its_host_counts(database_url: str) -> None:
    forwarded = {"X_Forwarded_Host": "cloud.example.org", "X_Forwarded_Proto": "https"}
    with Service(database_url, oslo_middleware={"enable_proxy_headers_parsing": True}) as service:
        service.add_conductor("c1")
        assert enrol(service, Origin="https://cloud.example.org", **forwarded) == 201
        assert enrol(service, Origin="http://localhost", **forwarded) == 403
    with Service(database_url) as service:
        assert enrol(service, Origin="https://cloud.example.org", **forwarded) == 403


@pytest.mark.sqlite_only
def test_a_browser_that_is_logged_in_is_no_way_in(database_url: str) -> None:
    """It adds the password to what it sends; the request is refused before the password is checked."""
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        assert enrol(service, Origin=EVIL) == 403
        assert enrol(service) == 401
