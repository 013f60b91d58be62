"""openstack-placement, behind gunicorn as we are."""

import os
import subprocess
from pathlib import Path

from tests.benchmarks.servers import Server
from tests.benchmarks.stores import Store

REQUIREMENT = "openstack-placement==16.0.0"

_WSGI = '''"""openstack-placement for gunicorn. Its settings are in OS_PLACEMENT_CONFIG_DIR."""

from placement.wsgi import init_application

application = init_application()
'''
_SETTINGS = """[DEFAULT]
debug = false
default_log_levels = placement=WARNING,routes=WARNING,oslo_policy=WARNING

[api]
auth_strategy = noauth2

[placement_database]
connection = {connection}
sync_on_startup = {sync}
"""


def server(store: Store, folder: Path, python: Path, headers: dict[str, str]) -> Server:
    """The service over a database that has its schema."""
    _write(store, folder, sync=False)
    environment = {"OS_PLACEMENT_CONFIG_DIR": str(folder)}
    return Server("original", python, "original_wsgi:application", folder, headers=headers, environment=environment)


def make_schema(store: Store, folder: Path, python: Path) -> None:
    """Its migrations, and the standard names: it does so when it starts."""
    _write(store, folder, sync=True)
    environment = os.environ | {"OS_PLACEMENT_CONFIG_DIR": str(folder), "PYTHONPATH": str(folder)}
    done = subprocess.run([python, "-c", "import original_wsgi"], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{REQUIREMENT} cannot make its schema:\n{done.stderr[-3000:]}")


def _write(store: Store, folder: Path, *, sync: bool) -> None:
    (folder / "original_wsgi.py").write_text(_WSGI)
    settings = _SETTINGS.format(connection=store.url_of("psycopg2").replace("%", "%%"), sync=str(sync).lower())
    (folder / "placement.conf").write_text(settings)
