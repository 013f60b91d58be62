"""The imports of an API process that has answered a request of each API: nothing that these do not need."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.start import PATHS, PROBE

#: Each takes as long to import as a good part of the service.
NEEDLESS = (
    *("alembic", "bcrypt", "cryptography", "jsonschema", "keystoneauth1", "keystonemiddleware", "mako", "os_traits"),
    *("oslo_middleware", "psycopg", "pygments", "requests", "rich", "sushy", "urllib3", "webob"),
    *("sqlalchemy.dialects.postgresql", "baremetal_sched.conductor", "baremetal_sched.drivers"),
)


@pytest.mark.ci
def test_the_api_imports_only_what_it_needs(sqlite_template: Path) -> None:
    """The process is not to write: the database is one that other tests copy."""
    script = f"{PROBE}\nprint([name for name in {NEEDLESS!r} if name in sys.modules])"
    command = (sys.executable, "-c", script, f"sqlite:///{sqlite_template}", *PATHS)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.ci
def test_what_structlog_does_not_find_is_there_for_others() -> None:
    script = "import baremetal_sched, structlog, rich.console; assert structlog.dev.rich is None"
    done = subprocess.run((sys.executable, "-c", script), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
