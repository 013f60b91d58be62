# tier: first
"""The page of holds by time."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.functional.ui.pages import look
from tests.functional.ui.test_fleet import HOSTILE
from tests.service import Service

ACTIVE, TO_COME = "Active holds", "Holds to come"


def hold(service: Service, node: str, **values: Any) -> str:
    body = {"type": "window", **values}
    uuid: str = service.http.post_json(f"/scheduling/v1/nodes/{node}/holds", body, status=201).json["uuid"]
    return uuid


def in_hours(hours: int) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat(timespec="seconds")


def test_nothing_is_held(service: Service) -> None:
    text = look(service, "/holds").text
    assert "No hold is active" in text
    assert "No hold is planned" in text


def test_holds_are_listed_by_time(service: Service) -> None:
    first, second = service.add_node("n1"), service.add_node("n2")
    later = hold(service, second, starts_at=in_hours(9), reason=HOSTILE)
    sooner = hold(service, first, starts_at=in_hours(5), ends_at=in_hours(6))
    now = hold(service, first, type="operator_hold", reason="Fan 3")
    with service.statements() as statements:
        shown = look(service, "/holds")
    (active,) = shown.rows(ACTIVE)
    assert active[:4] == ["n1", "operator_hold", "Fan 3", "system"]
    assert active[5:] == ["until it is released", f"openstack baremetal node hold remove n1 {now} Release …"]
    planned = shown.rows(TO_COME)
    assert [(row[0], row[1], row[2]) for row in planned] == [
        ("n1", "window", "no reason given"),
        ("n2", "window", HOSTILE),
    ]
    assert [row[6].split()[6] for row in planned] == [sooner, later]
    assert f"/ui/nodes/{first}" in shown.links()
    assert len(statements) <= 12
