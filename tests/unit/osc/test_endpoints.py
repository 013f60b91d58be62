"""Where the APIs are looked for."""

from typing import Any

import pytest
from keystoneauth1.exceptions import EndpointNotFound
from keystoneauth1.identity.v3 import Token
from keystoneauth1.noauth import NoAuth
from osc_lib.exceptions import CommandError

from baremetal_sched.osc.client import Endpoints, sibling, without_version

SIBLINGS = {
    "http://h:6385/placement": "http://h:6385/scheduling",
    "http://h:6385/placement/": "http://h:6385/scheduling",
    "https://h/cloud/compute/v2.1": "https://h/cloud/scheduling",
    "https://h/cloud/compute/v2.1/1f2a0d3c5b6e4f70": "https://h/cloud/scheduling",
    "https://h/baremetal/v1?x=1": "https://h/scheduling",
    "https://[::1]:8778": "https://[::1]:8778/scheduling",
    "https://placement.example.com/other": "https://placement.example.com/other/scheduling",
}


def test_siblings(subtests: pytest.Subtests) -> None:
    for url in SIBLINGS:
        with subtests.test(url=url):
            assert sibling(url.partition("?")[0], "scheduling") == SIBLINGS[url]


def test_versions_are_left_out(subtests: pytest.Subtests) -> None:
    for version in ["", "/", "/v1", "/v1/", "/v2.1", "/v2.1/0a1b-2c"]:
        with subtests.test(version=version):
            assert without_version(f"http://h/baremetal{version}") == "http://h/baremetal"


class Session:
    """A session with or without a service catalog."""

    def __init__(self, catalog: dict[str, str] | None = None, fixed: str | None = None) -> None:
        self._catalog = catalog
        self.auth: Any = NoAuth(fixed) if catalog is None else Token("http://keystone", "token")

    def get_endpoint(self, service_type: str | None = None, **filters: Any) -> str | None:
        """As keystoneauth's session does it."""
        if self._catalog is None:
            return self.auth.endpoint
        if service_type == "image":
            raise EndpointNotFound
        return self._catalog.get(service_type or "")


def url(service: str, configuration: dict[str, str], *session: Any) -> str:
    """Where the API is."""
    return Endpoints(configuration, Session(*session), None, None).url(service)


def test_overrides_come_first() -> None:
    configuration = {
        "scheduling_endpoint_override": "http://a/s/v1",
        "placement_endpoint_override": "http://b/placement",
    }
    assert url("scheduling", configuration, {"scheduling": "http://c/scheduling"}) == "http://a/s"
    del configuration["scheduling_endpoint_override"]
    assert url("scheduling", configuration, {"scheduling": "http://c/scheduling"}) == "http://c/scheduling"
    assert url("scheduling", configuration, {"baremetal": "http://d/baremetal"}) == "http://b/scheduling"
    assert url("scheduling", configuration, None, "http://e/placement") == "http://b/scheduling"
    assert url("baremetal", configuration) == "http://b/baremetal"


def test_the_catalog_comes_next() -> None:
    catalog = {"placement": "http://c/placement", "baremetal": "http://d/baremetal/v1"}
    assert url("scheduling", {}, catalog) == "http://c/scheduling"
    assert url("baremetal", {}, catalog) == "http://d/baremetal"
    assert url("image", {}, catalog) == "http://c/image"


def test_without_a_catalog_it_is_the_one_address() -> None:
    assert url("scheduling", {}, None, "http://e/placement") == "http://e/scheduling"
    assert url("placement", {}, None, "http://e") == "http://e/placement"
    for session in ((), ({},)):
        with pytest.raises(CommandError, match="OS_SCHEDULING_ENDPOINT_OVERRIDE or OS_PLACEMENT_ENDPOINT_OVERRIDE"):
            url("scheduling", {}, *session)
