"""A real Ironic on a loopback port, API and conductor in one process: ``PYTHON ironic_served.py SETTINGS``.

With a Python that has Ironic; standard library and Ironic only. Settings without ``[keystone_authtoken]`` replace the
middleware that asks Keystone by one that believes the headers of the strategy ``noauth2``; the rest is as it is.

Says ``ready PORT``, and again after each line that it reads, a JSON document:
``{"rows": […]}`` adds what no request makes; ``{"save": true}`` remembers the database; ``{"restore": true}`` puts it
back, once nothing is being done.
"""

import json
import sqlite3
import sys
import time
import warnings
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")
sys.path.insert(0, str(Path(__file__).parents[1] / "differential"))

import oslo_service.backend  # noqa: E402

oslo_service.backend.init_backend(oslo_service.backend.BackendType.THREADING)

from ironic.common import service  # noqa: E402
from keystonemiddleware import auth_token  # noqa: E402

#: Seconds for which a lock of the database is waited for.
_PATIENCE = 60


class BelievingHeaders:
    """In place of ``AuthProtocol``: what it would say of a token of the strategy ``noauth2``."""

    def __init__(self, app: Any, settings: dict[str, Any]) -> None:
        self._app = app

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        token = environ.get("HTTP_X_AUTH_TOKEN")
        if token is None:
            start_response("401 Unauthorized", [("Content-Type", "text/plain")])
            return [b""]
        user, _, project = token.partition(":")
        environ |= {
            "HTTP_X_IDENTITY_STATUS": "Confirmed",
            "HTTP_X_USER_ID": user,
            "HTTP_X_ROLES": environ.get("HTTP_X_ROLES", ""),
        }
        if "HTTP_OPENSTACK_SYSTEM_SCOPE" not in environ:
            environ |= {"HTTP_X_PROJECT_ID": project, "HTTP_X_PROJECT_NAME": project}
        return self._app(environ, start_response)


class Ironic:
    """API and conductor over the SQLite file of the settings."""

    def __init__(self, settings: str) -> None:
        service.prepare_service("ironic", ["ironic", "--config-file", settings])
        from ironic.api import app
        from ironic.conductor import rpc_service
        from ironic.conf import CONF
        from oslo_db.sqlalchemy import enginefacade

        if not CONF.keystone_authtoken.auth_type:
            auth_token.AuthProtocol = BelievingHeaders
        self._conductor = rpc_service.RPCService(CONF.host, "ironic.conductor.manager", "ConductorManager")
        self._conductor.start()
        self.application = app.VersionSelectorApplication()
        self._engines = {enginefacade.writer.get_engine(), enginefacade.reader.get_engine()}
        self._path = CONF.database.connection.removeprefix("sqlite:///")
        self._saved = sqlite3.connect(":memory:")

    def add_rows(self, rows: list[dict[str, Any]]) -> None:
        """Add a row to a table: ``{"table", "node", values…}``."""
        engine = next(iter(self._engines))
        with engine.begin() as connection:
            for row in rows:
                (node_id,) = connection.exec_driver_sql("SELECT id FROM nodes WHERE uuid = ?", (row["node"],)).one()
                values = {key: value for key, value in row.items() if key not in ("table", "node")}
                values |= {"node_id": node_id, "created_at": str(datetime.now(UTC))[:19]}
                names, marks = ", ".join(f'"{name}"' for name in values), ", ".join("?" * len(values))
                statement = f"INSERT INTO {row['table']} ({names}) VALUES ({marks})"
                connection.exec_driver_sql(statement, tuple(values.values()))

    def save(self) -> None:
        """Remember the database."""
        self._settle()
        self._copy(self._saved)

    def restore(self) -> None:
        """Put the database back, as one transaction: whatever still has it open sees that."""
        self._settle()
        self._copy(self._saved, back=True)

    def _copy(self, memory: sqlite3.Connection, *, back: bool = False) -> None:
        with closing(sqlite3.connect(self._path, timeout=_PATIENCE)) as file:
            source, target = (memory, file) if back else (file, memory)
            source.backup(target)

    def _settle(self) -> None:
        """Wait until no node is reserved."""
        engine = next(iter(self._engines))
        for _ in range(500):
            with engine.connect() as connection:
                (reserved,) = connection.exec_driver_sql("SELECT count(reservation) FROM nodes").one()
            if not reserved:
                return
            time.sleep(0.02)


def main() -> None:
    ironic = Ironic(sys.argv[1])
    from serving import Served

    served = Served()
    served.app = ironic.application
    while True:
        print("ready", served.port, flush=True)
        line = sys.stdin.readline()
        if not line:
            break
        wanted = json.loads(line)
        if "rows" in wanted:
            ironic.add_rows(wanted["rows"])
        if "save" in wanted:
            ironic.save()
        if "restore" in wanted:
            ironic.restore()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    # The conductor's threads do not stop by themselves.
    import os

    os._exit(0)
