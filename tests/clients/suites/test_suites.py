"""The functional tests that openstacksdk and python-ironicclient ship for bare metal, against ``serve``."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.clients.suites.identity import cloud, identity
from tests.processes import environment, serve

pytestmark = pytest.mark.slow

RUN = Path(__file__).with_name("run.py")
SECONDS = 600

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


@dataclass(frozen=True)
class Outcomes:
    """What became of the tests, see ``run.py``."""

    passed: list[str]
    failed: dict[str, str]
    skipped: dict[str, str]

    def check(self, number: int, may_fail: dict[str, str]) -> None:
        """Assert that ``number`` tests were run, and all passed but those that may fail, which do."""
        unexpected = {name: text for name, text in self.failed.items() if name.rpartition(".")[2] not in may_fail}
        assert not unexpected, "\n".join(f"{name}\n{text}" for name, text in unexpected.items())
        assert {name.rpartition(".")[2] for name in self.failed} == set(may_fail)
        assert not self.skipped
        assert len(self.passed) + len(self.failed) == number


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Where the bare metal API of ``serve`` is."""
    with serve(tmp_path) as (_, url):
        yield f"{url}/baremetal"


@pytest.fixture(scope="session")
def ironicclient(pytestconfig: pytest.Config) -> Path:
    """A Python with IRONICCLIENT, made once and kept in pytest's cache: a client of its own does not get along with the
    one that is installed here."""
    assert pytestconfig.cache
    folder = pytestconfig.cache.mkdir("python-ironicclient")
    complete = folder / "complete"
    wanted = " ".join((sys.version, *IRONICCLIENT))
    if not complete.exists() or complete.read_text() != wanted:
        shutil.rmtree(folder)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run(
            [folder / "bin/python", "-m", "pip", "install", "--quiet", *IRONICCLIENT], check=True, timeout=SECONDS
        )
        complete.write_text(wanted)
    return folder / "bin/python"


def run(python: Path | str, package: str, folder: Path, variables: dict[str, str]) -> Outcomes:
    """Run the tests of ``package`` in ``folder``."""
    out = folder / "outcomes.json"
    done = subprocess.run(
        [python, RUN, out, package],
        cwd=folder,
        env={**environment(), "HOME": str(folder), "PYTHONWARNINGS": "ignore", **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout
    return Outcomes(**json.loads(out.read_text()))


def test_openstacksdk(url: str, tmp_path: Path) -> None:
    """The library, as of the release that is installed here."""
    with identity({"baremetal": url}) as login:
        clouds = {
            "devstack-admin": cloud(login, "admin", project_name="admin"),
            "devstack": cloud(login, "demo", project_name="demo"),
            "devstack-alt": cloud(login, "alt_demo", project_name="alt_demo"),
            "devstack-system-admin": cloud(login, "admin", system_scope="all"),
        }
        (tmp_path / "clouds.yaml").write_text(yaml.safe_dump({"clouds": clouds}))
        variables = {"OS_TEST_TIMEOUT": "60", "OPENSTACKSDK_FUNC_TEST_TIMEOUT": "30"}
        outcomes = run(sys.executable, "openstack.tests.functional.baremetal", tmp_path, variables)
    outcomes.check(96, SDK_FAILS)


def test_ironicclient(url: str, tmp_path: Path, ironicclient: Path) -> None:
    """The ``openstack baremetal`` commands, hundreds of them."""
    configuration = tmp_path / "test.conf"
    configuration.write_text(f"[functional]\nauth_strategy = noauth\nironic_url = {url}\n")
    variables = {"IRONICCLIENT_TEST_CONFIG": str(configuration)}
    outcomes = run(ironicclient, "ironicclient.tests.functional.osc", tmp_path, variables)
    outcomes.check(109, IRONICCLIENT_FAILS)
