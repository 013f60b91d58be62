"""The functional tests that openstacksdk and python-openstackclient ship for compute and images, against ``serve``."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.environments import python_with
from tests.clients.suites.outcomes import run
from tests.clients.suites.small_cloud import SmallCloud, small_cloud

#: Not run: of ``compute.v2`` what is about extensions, hypervisors, services, quotas, images (a proxy that Nova has no
#: longer) and volumes; and servers, whose tests make networks first (those of ``cloud.test_compute`` do not).
SDK = (
    *(f"openstack.tests.functional.compute.v2.test_{name}" for name in ("flavor", "keypair", "limits")),
    "openstack.tests.functional.image.v2",
    "openstack.tests.functional.cloud.test_compute",
)
_NO_DATA = "no data are kept"
_NO_CONSOLE = "there is no log of a console: 501"
_METADATA = "metadata definitions are not served"
_KINDS = ("namespace", "namespaces", "object", "objects", "property", "properties")
_OTHER_KINDS = ("resource_type", "resource_types", "tag", "tags")
#: What need not pass, by the end of its name, and why.
SDK_FAILS = {
    "test_image_members": f"it uploads a byte, and {_NO_DATA}",
    "test_metadef_namespace": _METADATA,
    "TestMetadefNamespace.test_tags": _METADATA,
    "test_metadef_objects": _METADATA,
    "test_metadef_property": _METADATA,
    "test_metadef_resource_types": _METADATA,
    **{f"test_get_metadef_{kind}_schema": _METADATA for kind in (*_KINDS, *_OTHER_KINDS)},
    "test_create_image_snapshot_wait_active": f"it makes an image of a server, and {_NO_DATA}: 400",
    "test_get_server_console": _NO_CONSOLE,
    "test_get_server_console_name_or_id": _NO_CONSOLE,
    "test_get_compute_usage": "usage is not recorded: no /os-simple-tenant-usage",
    "test_set_quotas": "there are no quotas that could be set: 501",
    "test_aggregates": "there are no host aggregates: a zone is a conductor group",
}
#: Tests of volumes, which these skip themselves wherever they are run.
SDK_SKIPPED = 7
VARIABLES = {"OS_TEST_TIMEOUT": "60", "OPENSTACKSDK_FUNC_TEST_TIMEOUT": "30"}

#: python-openstackclient's tests start commands with tempest.
OPENSTACKCLIENT = ("python-openstackclient==10.5.0", "openstacksdk==4.22.0", "tempest==46.2.0", "setuptools<80")
#: Of its other tests those for flavors, servers, quotas and images make projects, users and networks first, or upload.
OPENSTACKCLIENT_TESTS = "openstackclient.tests.functional.compute.v2.test_keypair"
OPENSTACKCLIENT_FAILS = {
    "test_keypair_list_by_project": "it makes users and projects in Identity, which is not a part of this service",
}


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[SmallCloud]:
    """A cloud with machines, flavors and an image."""
    with small_cloud(tmp_path) as made:
        yield made


@pytest.fixture(scope="session")
def openstackclient(pytestconfig: pytest.Config) -> Path:
    """A Python with OPENSTACKCLIENT, made once and kept in pytest's cache: tempest asks for much that is not here."""
    return python_with(pytestconfig, "python-openstackclient", *OPENSTACKCLIENT)


def test_openstacksdk(cloud: SmallCloud) -> None:
    """The library, as of the release that is installed here."""
    # What the test of images uploads: without a byte in it, nothing is uploaded.
    (cloud.folder / "CONTRIBUTING.rst").touch()
    outcomes = run(sys.executable, cloud.folder, VARIABLES, *SDK)
    outcomes.check(71, SDK_FAILS, SDK_SKIPPED)


def test_openstackclient(cloud: SmallCloud, openstackclient: Path) -> None:
    """The ``openstack keypair`` commands."""
    outcomes = run(openstackclient, cloud.folder, VARIABLES, OPENSTACKCLIENT_TESTS)
    outcomes.check(10, OPENSTACKCLIENT_FAILS)
