"""The functional tests that openstacksdk ships for bare metal, against what a Keystone's catalogue has."""

import sys
from pathlib import Path

import yaml

from tests.clients.keystone.cloud import Keystone
from tests.clients.suites.outcomes import Outcomes, run

#: The clouds that they ask for, and whose they are: two tenants, and who runs the machines.
CLOUDS = {
    "devstack-admin": "red-admin",
    "devstack": "red-member",
    "devstack-alt": "blue-member",
    "devstack-system-admin": "system-admin",
}


def run_openstacksdk(keystone: Keystone, folder: Path) -> Outcomes:
    """Run them all in ``folder``."""
    clouds = {cloud: keystone.cloud(name) for cloud, name in CLOUDS.items()}
    (folder / "clouds.yaml").write_text(yaml.safe_dump({"clouds": clouds}))
    variables = {"OS_TEST_TIMEOUT": "120", "OPENSTACKSDK_FUNC_TEST_TIMEOUT": "60"}
    return run(sys.executable, folder, variables, "openstack.tests.functional.baremetal")
