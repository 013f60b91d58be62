"""The functional tests that openstacksdk ships for bare metal, with users of a real Keystone."""

import sys
from pathlib import Path

import pytest
import yaml

from tests.clients.keystone.cloud import Keystone
from tests.clients.suites.outcomes import run

pytestmark = pytest.mark.slow

#: The clouds that they ask for, and whose they are: two tenants, and who runs the machines.
CLOUDS = {
    "devstack-admin": "red-admin",
    "devstack": "red-member",
    "devstack-alt": "blue-member",
    "devstack-system-admin": "system-admin",
}
#: With these they would want flavors and images to be there.
OTHERS = {"placement": "/placement", "compute": "/compute/v2.1", "image": "/image"}


def test_openstacksdk(keystone: Keystone, url: str, tmp_path: Path) -> None:
    """All of them: without tokens one fails, which needs to know the project of its caller."""
    clouds = {cloud: keystone.cloud(name) for cloud, name in CLOUDS.items()}
    (tmp_path / "clouds.yaml").write_text(yaml.safe_dump({"clouds": clouds}))
    keystone.withdraw(*OTHERS)
    variables = {"OS_TEST_TIMEOUT": "120", "OPENSTACKSDK_FUNC_TEST_TIMEOUT": "60"}
    try:
        outcomes = run(sys.executable, tmp_path, variables, "openstack.tests.functional.baremetal")
    finally:
        keystone.offer({kind: f"{url}{path}" for kind, path in OTHERS.items()})
    outcomes.check(96, {})
