"""The statements and transactions of each step of a node's life, of request and job: not what the clock asks.

The conductor works in the test's own thread, one look after the other until nothing is left; those looks are listed
apart. Fewer than in the table is no failure: then lower the figure.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from tests.service import Service

_IMAGE = {"image_source": "http://127.0.0.1/i", "image_checksum": "a" * 32, "root_gb": 10}
#: By step: the largest numbers of statements, of transactions that write, and of reads of the whole node. A job has one
#: such read.
#: PostgreSQL takes fewer statements: those of a node's change carry its history and its event.
TABLE = {
    "create": (18, 1, 0),
    "manage": (14, 3, 2),
    "power off": (18, 6, 4),
    "provide": (26, 5, 2),
    "PATCH instance_info": (4, 1, 1),
    "deploy": (31, 8, 4),
    "undeploy": (40, 9, 4),
}
_PROVISION, _POWER = "/nodes/n1/states/provision", "/nodes/n1/states/power"
REQUESTS: dict[str, tuple[str, str, Any]] = {
    "create": ("POST", "/nodes", {"driver": "fake-hardware", "name": "n1", "resource_class": "gold"}),
    "manage": ("PUT", _PROVISION, {"target": "manage"}),
    "power off": ("PUT", _POWER, {"target": "power off"}),
    "provide": ("PUT", _PROVISION, {"target": "provide"}),
    "PATCH instance_info": ("PATCH", "/nodes/n1", [{"op": "add", "path": "/instance_info", "value": _IMAGE}]),
    "deploy": ("PUT", _PROVISION, {"target": "active"}),
    "undeploy": ("PUT", _PROVISION, {"target": "deleted"}),
}


@contextmanager
def commits(service: Service) -> Iterator[list[object]]:
    """The transactions of writers that are committed meanwhile."""
    seen: list[object] = []

    def note(connection: object) -> None:
        seen.append(connection)

    event.listen(service.database.engine, "commit", note)
    try:
        yield seen
    finally:
        event.remove(service.database.engine, "commit", note)


def test_a_life_takes_no_more_statements(service: Service, subtests: pytest.Subtests) -> None:
    dialect = service.database.engine.dialect.name
    for name, (method, path, body) in REQUESTS.items():
        with service.statements() as seen, commits(service) as written:
            service.baremetal(method, path, body)
            service.end_polling()  # replies are deleted now, not a moment later
            service.work()
        looks = sum("AS later" in statement for statement in seen)
        whole = sum("nodes.driver_internal_info" in statement.partition("FROM")[0] for statement in seen)
        found = (len(seen) - looks, len(written), whole)
        print(f"{dialect}: {name}: {found[0]} statements, {found[1]} transactions, {found[2]} whole; {looks} looks")
        with subtests.test(name):
            assert all(number <= most for number, most in zip(found, TABLE[name], strict=True)), found
    assert service.node("n1")["provision_state"] == "available"
