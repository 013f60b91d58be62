# tier: first
"""Host and proxy headers of a request."""

import re
from pathlib import Path

import pytest

from tests.service import Service

NAMES = ("baremetal_sched", "api_1.example.org", "api.example.org", "a" * 63 + ".example.org")
PROXIED = {"oslo_middleware": {"enable_proxy_headers_parsing": True}}
SAMPLES = Path(__file__).parents[2] / "api-ref/guides/samples"


def link(service: Service, headers: dict[str, str], mount: str = "/baremetal", status: int = 200) -> str:
    """The first link in the document at the root of an API."""
    answer = service.http.get(mount, headers=headers, status=status).json
    return str(answer["versions"][0]["links"][0]["href"])


def test_links_begin_with_the_host_of_the_request(database_url: str, subtests: pytest.Subtests) -> None:
    """Names of upstreams, which some proxies send, may have underscores."""
    for host, origin in [
        ("baremetal_sched", "http://baremetal_sched"),
        ("api_1.example.org:6385", "http://api_1.example.org:6385"),
        ("api.example.org:80", "http://api.example.org"),
        ("192.0.2.1:8080", "http://192.0.2.1:8080"),
        ("[2001:db8::1]:6385", "http://[2001:db8::1]:6385"),
        ("api.example.org.", "http://api.example.org."),
        ("a" * 63 + ".example.org", "http://" + "a" * 63 + ".example.org"),
    ]:
        with subtests.test(host=host):
            with Service(database_url, api={"allowed_hosts": list(NAMES)}) as service:
                assert link(service, {"Host": host}) == f"{origin}/baremetal/v1/"
                location = service.http.post_json(
                    "/placement/resource_providers",
                    {"name": f"at {host}"},
                    headers={"Host": host, "OpenStack-API-Version": "placement 1.0"},
                ).headers["Location"]
            assert location.startswith(f"{origin}/placement/resource_providers/")


BAD_HOSTS = [
    "evil.example.org/path",
    "a b",
    "<script>",
    "user@example.org",
    "example.org:0",
    "example.org:99999",
    "x:y",
    "a" * 64,
    "a" * 64 + ".example.org:80",
    "a." * 130 + "org",
    "a..b",
    "..",
    ".example.org",
]


def test_what_is_not_a_host_is_refused(service: Service, subtests: pytest.Subtests) -> None:
    for host in BAD_HOSTS:
        with subtests.test(host=host):
            response = service.http.get("/placement/", headers={"Host": host}, status=400)
            assert "The header Host must be a host" in response.json["errors"][0]["detail"]
            assert host not in response.text


def test_a_trusted_proxy_is_followed(database_url: str, subtests: pytest.Subtests) -> None:
    for headers, expected in [
        ({"Proto": "https"}, "https://localhost:80/baremetal/v1/"),
        ({"Host": "cloud.example.org"}, "http://cloud.example.org/baremetal/v1/"),
        ({"Host": "bm_cloud:8443", "Proto": "https"}, "https://bm_cloud:8443/baremetal/v1/"),
        ({"Host": "spoofed/x, cloud.example.org"}, "http://cloud.example.org/baremetal/v1/"),
        ({"Prefix": "/a/b~c"}, "http://localhost/a/b~c/baremetal/v1/"),
        ({"Prefix": "/a/"}, "http://localhost/a/baremetal/v1/"),
        ({"Prefix": "/"}, "http://localhost/baremetal/v1/"),
        ({"Prefix": "", "Host": "", "Proto": ""}, "http://localhost/baremetal/v1/"),
    ]:
        with subtests.test(headers=headers), Service(database_url, **PROXIED) as service:
            assert link(service, {f"X-Forwarded-{name}": value for name, value in headers.items()}) == expected


def test_what_a_proxy_cannot_mean_is_refused(database_url: str, subtests: pytest.Subtests) -> None:
    for name, value in [
        *(("Host", value) for value in BAD_HOSTS),
        *(("Proto", value) for value in ("ftp", "javascript", "HTTPS://", "https:")),
        *(
            ("Prefix", value)
            for value in ("no-slash", "//evil.example.org", "/a//b", "/a?b", "/a#b", "/<x>", "http://x/")
        ),
    ]:
        with subtests.test(name=name, value=value):
            headers = {f"X-Forwarded-{name}": value}
            with Service(database_url, **PROXIED) as service:
                response = service.http.get("/baremetal", headers=headers, status=400)
                assert f"The header X-Forwarded-{name} must be" in response.text
                assert value not in response.text
            with Service(database_url) as service:
                assert link(service, headers) == "http://localhost/baremetal/v1/"


def test_the_sample_proxy_sets_what_is_trusted(subtests: pytest.Subtests) -> None:
    """A header that it left alone would be the client's."""
    for name in ["nginx.conf", "nginx-prefix.conf"]:
        with subtests.test(name=name):
            sample = (SAMPLES / name).read_text()
            assert set(re.findall(r"proxy_set_header (\S+) ", sample)) == {
                "Connection",
                "Forwarded",
                "Host",
                "X-Forwarded-For",
                "X-Forwarded-Host",
                "X-Forwarded-Prefix",
                "X-Forwarded-Proto",
            }
