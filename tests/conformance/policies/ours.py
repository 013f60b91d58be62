"""The world on our side: in process, over a SQLite file that can be put back."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import insert, update
from sqlalchemy.orm import Session
from webtest import TestResponse

from baremetal_sched.baremetal.inspection import inspection
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import BiosSetting, Conductor, FirmwareComponent, NodeHistory
from tests.conformance.policies import world
from tests.conformance.policies.callers import KINDS, Caller
from tests.conformance.policies.cases import Case
from tests.service import Service

_DAY = 24 * 3600


def build(empty: Path, path: Path, projects: Mapping[str, str] | None = None) -> Path:
    """Make the world in a new SQLite file at ``path``, which is returned.

    ``empty``: a file that has schema and standard names; ``projects``: see ``world.build``.
    """
    path.touch(mode=0o600)
    path.write_bytes(empty.read_bytes())
    with Service(f"sqlite:///{path}") as service:
        service.add_conductor(world.CONDUCTOR)
        world.build(_sender(service), service.work, projects)
        service.database.write(_add_rows)
        with service.database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def _sender(service: Service) -> world.Send:
    def send(method: str, path: str, body: Any, version: int = 115) -> Any:
        answer = service.baremetal(method, path.removeprefix("/v1"), body, version=f"1.{version}")
        return json.loads(answer.body) if answer.body else None

    return send


def _add_rows(session: Session) -> None:
    for kind in KINDS:
        node = nodes.find_for_change(session, world.uuid_of(kind, "node"))
        inspection.store(session, node, {"word": world.word(kind)}, {"word": world.word(kind)})
        common = {"node_id": node.id, "created_at": utcnow()}
        session.execute(insert(BiosSetting).values(**common, **world.ROWS["bios_settings"]))
        session.execute(insert(FirmwareComponent).values(**common, **world.ROWS["firmware_components"]))
        event = {"severity": "INFO", "event": world.word(kind), "event_type": "provision"}
        session.execute(insert(NodeHistory).values(**common, **event, uuid=world.uuid_of(kind, "event")))
    # The conductor does not die, and nothing is left for it to do.
    session.execute(update(Conductor).values(heartbeat_at=epoch() + _DAY))


class Ours:
    """Our application over a copy of the world, which is put back after each request that changed something.

    ``headers`` identify a caller.
    """

    def __init__(
        self, template: Path, folder: Path, headers: Callable[[Caller], Mapping[str, str]], **overrides: dict[str, Any]
    ) -> None:
        self._headers = headers
        self._path = folder / "world.sqlite"
        self._template = template.read_bytes()
        self._path.touch(mode=0o600)
        self._path.write_bytes(self._template)
        self.service = Service(f"sqlite:///{self._path}", **overrides)

    def send(self, case: Case, caller: Caller) -> TestResponse:
        """Send the request as ``caller``."""
        answer = self.service.http.request(
            f"/baremetal{case.path}" + (case.query and f"?{case.query}"),
            method=case.route.method,
            headers={
                "X-OpenStack-Ironic-API-Version": f"1.{case.version}",
                "Content-Type": "application/json",
                **self._headers(caller),
            },
            body=b"" if case.body is None else json.dumps(case.body).encode(),
            expect_errors=True,
        )
        if case.route.method not in ("GET", "HEAD") and answer.status_code < 400:
            self.restore()
        return answer

    def restore(self) -> None:
        """Put the world back."""
        # A thread that still had the old file open would remove the new one's WAL when it closes it.
        self.service.disconnect()
        for rest in self._path.parent.glob(f"{self._path.name}*"):
            rest.unlink(missing_ok=True)
        self._path.touch(mode=0o600)
        self._path.write_bytes(self._template)

    def close(self) -> None:
        """Close the database."""
        self.service.close()
