"""Who asked: in the history of a node and in the conductor's log, as far as the work that was asked for goes."""

import io
import json
from typing import Any

import pytest

from baremetal_sched.drivers.fake.hardware import FakePower
from baremetal_sched.errors import InvalidValue
from tests.service import Service

TENANT = {"X-Auth-Token": "ann:tenant", "X-Roles": "admin,member,reader", "OpenStack-System-Scope": ""}


def break_power(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> str:
        raise InvalidValue(message="no power")

    monkeypatch.setattr(FakePower, "set_power_state", fail)


def history(service: Service, node: str) -> list[tuple[str, str | None, str | None]]:
    """The events of a node: its last words, user, project."""
    events = service.baremetal("GET", f"/nodes/{node}/history?detail=true").json["history"]
    return [(event["event"].split(": ")[-1], event["user"], event["project"]) for event in events]


def test_what_fails_names_the_user(secured: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    node = secured.add_node(power=False, owner="tenant")
    break_power(monkeypatch)
    secured.baremetal("PUT", f"/nodes/{node}/states/power", {"target": "power on"})
    secured.work()
    secured.baremetal("PUT", f"/nodes/{node}/states/power", {"target": "power on"}, headers=TENANT)
    secured.work()
    assert history(secured, node) == [("no power", "admin", None), ("no power", "ann", "tenant")]
    assert secured.node(node)["last_error"].endswith("no power")


def test_every_event_of_the_work_names_the_user(secured: Service) -> None:
    node = secured.add_node(power=False)
    secured.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "manage"})
    secured.work()
    steps = [{"interface": "bios", "step": "factory_reset"}]
    body = {"target": "clean", "clean_steps": steps}
    secured.baremetal("PUT", f"/nodes/{node}/states/provision", body)
    secured.work()
    assert secured.node(node)["provision_state"] == "manageable"
    events = history(secured, node)
    assert {event for event, *_ in events} >= {"Step bios.factory_reset begins", "Step bios.factory_reset is done"}
    assert {(user, project) for _, user, project in events} == {("admin", None)}


def test_the_conductors_lines_have_request_and_user(lines: io.StringIO, secured: Service) -> None:
    node = secured.add_node(power=False)
    answer = secured.baremetal("PUT", f"/nodes/{node}/states/power", {"target": "power on"})
    secured.work()
    found = [line for line in map(json.loads, lines.getvalue().splitlines()) if "work" in line]
    assert {line["event"] for line in found} >= {"work begins", "work done"}
    assert {line["request_id"] for line in found} == {answer.headers["X-OpenStack-Request-Id"]}
    assert {line["user_id"] for line in found} == {"admin"}


def test_nobody_is_named_without_authentication(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    node = service.add_node(power=False)
    break_power(monkeypatch)
    service.baremetal("PUT", f"/nodes/{node}/states/power", {"target": "power on"})
    service.work()
    assert history(service, node) == [("no power", None, None)]
