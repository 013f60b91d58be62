"""One Keystone for all tests of a process."""

from collections.abc import Iterator

import pytest

from tests.clients.keystone.cloud import Keystone, keystone_in
from tests.processes import serve


@pytest.fixture(scope="session")
def keystone(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keystone]:
    """A Keystone that runs. Tests may add to it, and must not take away what was there."""
    with keystone_in(pytestconfig, tmp_path_factory.mktemp("identity") / "keystone") as running:
        yield running


@pytest.fixture(scope="session")
def url(keystone: Keystone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The service, in Keystone's catalogue with all its APIs."""
    with serve(tmp_path_factory.mktemp("served"), settings=keystone.settings()) as (_, url):
        keystone.offer(
            {
                "baremetal": f"{url}/baremetal",
                "placement": f"{url}/placement",
                "compute": f"{url}/compute/v2.1",
                "image": f"{url}/image",
            }
        )
        yield url
