"""Reasons are limited in bytes, as MariaDB holds no more of them; what contains them is cut."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select
from webtest import TestResponse

from baremetal_sched.db.models import NodeHistory
from tests.service import Service, fault
from tests.unchanged import unchanged

ROCKET = "\N{ROCKET}"
MOST = 65_535
LONGEST = {"ascii": "x" * MOST, "wide": ROCKET * (MOST // 4)}
TOO_LONG = {"ascii": "x" * (MOST + 1), "wide": ROCKET * (MOST // 4 + 1)}


def _maintenance(service: Service, text: str, status: int) -> TestResponse:
    return service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": text}, status=202 if status < 300 else status)


def _patch(flag: str) -> Callable[[Service, str, int], TestResponse]:
    def patch(service: Service, text: str, status: int) -> TestResponse:
        operations = [("add", f"/{flag}", True), ("add", f"/{flag}_reason", text)]
        return service.patch("n1", *operations, status=status)

    return patch


def _post(service: Service, text: str, status: int) -> TestResponse:
    body = {"driver": "fake-hardware", "retired": True, "retired_reason": text}
    return service.baremetal("POST", "/nodes", body, status=201 if status < 300 else status)


DOORS: dict[str, Callable[[Service, str, int], TestResponse]] = {
    "maintenance": _maintenance,
    "retired": _patch("retired"),
    "protected": _patch("protected"),
    "a new node": _post,
}


@pytest.fixture
def served(service: Service) -> Service:
    service.add_conductor("c1")
    service.set_columns(service.add_node("n1"), provision_state="active")
    return service


def test_reasons_are_limited_in_bytes(served: Service, subtests: pytest.Subtests) -> None:
    for door, ask in DOORS.items():
        for kind in LONGEST:
            with subtests.test(msg=f"{door}, {kind}"):
                with unchanged(served):
                    assert f"{MOST} bytes in UTF-8 are allowed" in fault(ask(served, TOO_LONG[kind], 400))
                ask(served, LONGEST[kind], 200)


def test_the_history_has_as_much_of_them_as_fits(served: Service) -> None:
    """The event says more than the reason."""
    _maintenance(served, LONGEST["wide"], 202)
    query = select(NodeHistory.event).where(NodeHistory.event_type == "maintenance")
    event: Any = served.database.read(lambda session: session.scalar(query))
    assert ROCKET in event
    assert len(event.encode()) <= MOST
    assert served.node("n1")["maintenance_reason"] == LONGEST["wide"]


def test_a_message_of_the_service_is_cut(served: Service) -> None:
    served.set_columns(served.node("n1")["uuid"], last_error=ROCKET * MOST)
    found: str = served.node("n1")["last_error"]
    assert (found[-2:], len(found.encode())) == (f"{ROCKET}…", MOST)
