"""Requests that an earlier release has stored while they wait are read as they are, and served."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Boolean, Connection, text

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.models import Base
from baremetal_sched.db.types import dump_json
from baremetal_sched.placement import waiting_requests
from baremetal_sched.scheduling import queue
from tests.functional.scheduling import stored_requests
from tests.functional.scheduling.stored_requests import SETTINGS
from tests.functional.scheduling.test_claims import show
from tests.restored import Rows
from tests.service import Service

RECORDED: Mapping[str, stored_requests.Rows] = json.loads(
    (Path(__file__).parents[2] / "data" / "stored_requests.json").read_text()
)
#: What is added to the ids of recorded rows, so that they are not those of rows that are made here.
_FAR = 1_000_000
#: Seconds since 1970: later than the test.
_LATE = 4e9
_TABLES = {table.name: table for table in Base.metadata.sorted_tables}


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, **SETTINGS) as service:
        yield service


def enter(connection: Connection, rows: stored_requests.Rows) -> None:
    """Enter recorded rows: as they are, except for their ids and the end of their time."""
    for name, table in _TABLES.items():
        for row in rows.get(name, ()):
            columns = table.columns
            values = {
                key: _LATE
                if key in ("deadline", "wait_until")
                else bool(value)
                if isinstance(columns[key].type, Boolean)
                else value + _FAR
                if isinstance(value, int) and (key == "id" or key.endswith("_id"))
                else value
                for key, value in row.items()
            }
            quoted = ", ".join(connection.dialect.identifier_preparer.quote(key) for key in values)
            connection.execute(
                text(f"INSERT INTO {name} ({quoted}) VALUES ({', '.join(f':{key}' for key in values)})"), values
            )


def stored(service: Service) -> list[tuple[str, str]]:
    """The documents and keys of requests that wait, as the table has them."""
    query = text("SELECT request, request_key FROM pending_claims")
    rows = service.database.select(lambda connection: connection.execute(query).all())
    return [(document, key) for document, key in rows]


def written_again(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document of the request that this document was read as."""
    return queue.request_of(document).document()


def state_of(service: Service, kind: str, uuid: str) -> tuple[str, int]:
    """Whether it waits, and how many machines it has."""
    if kind == "claim":
        claim = show(service, uuid)
        return claim["state"], len(claim["allocations"])
    if kind == "allocation":
        allocation = service.baremetal("GET", f"/allocations/{uuid}").json
        return allocation["state"], int(allocation["node_uuid"] is not None)
    server = service.compute("GET", f"/servers/{uuid}").json["server"]
    return server["status"], len(service.placement("GET", f"/allocations/{uuid}").json["allocations"])


ENDS = {"claim": "claimed", "allocation": "active", "server": "BUILD"}


def test_they_are_read_and_written_as_they_were(service: Service, row: Rows) -> None:
    """Their documents and keys are those that this release stores for the same requests, byte for byte."""
    stored_requests.prepare(service)
    for name, ask in stored_requests.all_requests():
        with row(name):
            rows = RECORDED[name]
            (recorded,) = rows["pending_claims"]
            again = written_again(json.loads(recorded["request"]))
            assert dump_json(again) == recorded["request"]
            assert waiting_requests.key_of(again) == recorded["request_key"]
            if "server_groups" in rows:
                groups: stored_requests.Rows = {"server_groups": rows["server_groups"]}
                service.database.change(lambda connection, groups=groups: enter(connection, groups))
                stored_requests.ask_for_server(service, rows["server_groups"][0]["uuid"])
            else:
                ask(service)
            assert stored(service) == [(recorded["request"], recorded["request_key"])]


def test_they_are_served(service: Service, row: Rows) -> None:
    consumers = stored_requests.prepare(service)
    for name, rows in RECORDED.items():
        with row(name):
            (recorded,) = rows["pending_claims"]
            several = json.loads(recorded["request"]).get("several", {})
            kind, uuid, count = recorded["kind"], recorded["uuid"], several.get("count", 1)
            service.database.change(lambda connection, rows=rows: enter(connection, rows))
            assert state_of(service, kind, uuid)[1] == 0
            for consumer in consumers:
                service.placement("DELETE", f"/allocations/{consumer}", status=204)
            assert state_of(service, kind, uuid) == (ENDS[kind], count)
            assert service.database.snapshot(audit) == []


def test_every_request_is_recorded() -> None:
    assert set(RECORDED) == {name for name, _ in stored_requests.all_requests()}
