"""The functional tests that openstacksdk and python-ironicclient ship for bare metal, against ``serve``."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.environments import python_with
from tests.clients.suites.identity import identity
from tests.clients.suites.outcomes import run
from tests.clients.suites.small_cloud import write_clouds
from tests.processes import serve

#: The last release that ships its functional tests, and what these were written for: later clients call the columns of
#: JSON by other names.
IRONICCLIENT = (
    "python-ironicclient==5.8.0",
    *("python-openstackclient==7.2.1", "osc-lib==3.1.0", "cliff==4.7.0", "openstacksdk==4.1.0"),
    *("tempest==41.0.0", "ddt", "setuptools<80"),
)

#: What need not pass, by the end of its name, and why.
SDK_FAILS = {
    "test_runbook_rbac_project_scoped": "only who looks at tokens knows the project of the caller",
}
_WORDS = "the libraries that Ironic checks requests with have other words for it today, and so has Ironic"
IRONICCLIENT_FAILS = {
    "test_create_negative_11_____candidate_node____banana_____Nodes_cannot_be_found__": _WORDS,
    "test_create_negative_7_____steps__________is_too_short__": _WORDS,
}


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Where the bare metal API of ``serve`` is."""
    with serve(tmp_path) as (_, url):
        yield f"{url}/baremetal"


@pytest.fixture(scope="session")
def ironicclient(pytestconfig: pytest.Config) -> Path:
    """A Python with IRONICCLIENT, made once and kept in pytest's cache: a client of its own does not get along with the
    one that is installed here."""
    return python_with(pytestconfig, "python-ironicclient", *IRONICCLIENT)


def test_openstacksdk(url: str, tmp_path: Path) -> None:
    """The library, as of the release that is installed here."""
    with identity({"baremetal": url}) as login:
        write_clouds(tmp_path, login)
        variables = {"OS_TEST_TIMEOUT": "60", "OPENSTACKSDK_FUNC_TEST_TIMEOUT": "30"}
        outcomes = run(sys.executable, tmp_path, variables, "openstack.tests.functional.baremetal")
    outcomes.check(96, SDK_FAILS)


def test_ironicclient(url: str, tmp_path: Path, ironicclient: Path) -> None:
    """The ``openstack baremetal`` commands, hundreds of them."""
    configuration = tmp_path / "test.conf"
    configuration.write_text(f"[functional]\nauth_strategy = noauth\nironic_url = {url}\n")
    variables = {"IRONICCLIENT_TEST_CONFIG": str(configuration)}
    outcomes = run(ironicclient, tmp_path, variables, "ironicclient.tests.functional.osc")
    outcomes.check(109, IRONICCLIENT_FAILS)
