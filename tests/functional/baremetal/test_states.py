# tier: first
"""/v1/nodes/{node}/states: power, requested here and done by the owning conductor."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete, select

from baremetal_sched.conductor import claiming, handlers
from baremetal_sched.db.models import NodeWork
from baremetal_sched.drivers import registry
from baremetal_sched.drivers.fake.hardware import FakePower
from baremetal_sched.drivers.interfaces.hardware import ManagementInterface
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine
from tests.restored import Rows
from tests.service import Service, fault

IMAGE = {"device_type": "cdrom", "image_url": "http://images/a"}


@pytest.fixture
def uuid(service: Service) -> str:
    return service.add_node("n1", power=False)


def power(service: Service, target: str, **options: object) -> object:
    return service.baremetal("PUT", "/nodes/n1/states/power", {"target": target}, **options)


def test_states(service: Service, uuid: str) -> None:
    states = service.baremetal("GET", "/nodes/n1/states").json
    assert states["provision_state"] == "available"
    assert set(states) == {
        *("console_enabled", "last_error", "power_state", "provision_state", "provision_updated_at"),
        *(
            "target_power_state",
            "target_provision_state",
            "raid_config",
            "target_raid_config",
            "boot_mode",
            "secure_boot",
        ),
    }
    assert "raid_config" not in service.baremetal("GET", "/nodes/n1/states", version="1.11").json


def test_a_request_is_noted_and_then_done_by_the_owner(service: Service, uuid: str) -> None:
    response = service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power on"}, status=202)
    assert response.headers["Location"] == "http://localhost/baremetal/v1/nodes/n1/states"
    node = service.node(uuid)
    assert (node["power_state"], node["target_power_state"], node["reservation"]) == (None, "power on", "c1")
    assert service.inventory(uuid)["CUSTOM_GOLD"]["reserved"] == 1
    service.work()
    node = service.node(uuid)
    assert (node["power_state"], node["target_power_state"], node["reservation"]) == ("power on", None, None)
    assert service.inventory(uuid)["CUSTOM_GOLD"]["reserved"] == 0


def test_every_target(service: Service, uuid: str, row: Rows) -> None:
    for target, state in [
        ("power on", "power on"),
        ("power off", "power off"),
        ("rebooting", "power on"),
        ("soft power off", "power off"),
        ("soft rebooting", "power on"),
    ]:
        with row(target, state):
            service.baremetal("PUT", "/nodes/n1/states/power", {"target": target, "timeout": 5}, status=202)
            service.work()
            assert service.node(uuid)["power_state"] == state


def test_a_timeout_may_be_given_in_digits(service: Service, uuid: str) -> None:
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power on", "timeout": "5"}, status=202)
    service.work()
    assert service.node(uuid)["power_state"] == "power on"


def test_what_cannot_be_is_400(service: Service, uuid: str, row: Rows) -> None:
    for body in [
        {},
        {"target": None},
        {"target": "on"},
        {"target": "reboot"},
        {"target": "power on", "timeout": 0},
        {"target": "power on", "timeout": "x"},
        {"target": "power on", "timeout": "0"},
        {"target": "power on", "timeout": 2**31},
        {"target": "power on", "x": 1},
    ]:
        with row(body):
            assert fault(service.baremetal("PUT", "/nodes/n1/states/power", body, status=400))
            assert service.node(uuid)["reservation"] is None


def test_versions_of_power(service: Service, uuid: str) -> None:
    power(service, "soft power off", version="1.26", status=406)
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power on", "timeout": 5}, version="1.26", status=406)


def test_power_is_refused_while_cleaning_or_locked_or_forbidden(service: Service, uuid: str) -> None:
    service.set_columns(uuid, provision_state="cleaning")
    power(service, "power off", status=400)
    service.set_columns(uuid, provision_state="available", disable_power_off=True)
    assert "Failed to set node power state" in fault(power(service, "power off", status=409))
    power(service, "power on", status=202)
    power(service, "power on", status=409)


def test_a_driver_that_fails_says_so_and_frees_the_node(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: FakePower, machine: Machine, target: str, timeout: int | None = None) -> str:
        raise InvalidValue(message="no answer")

    monkeypatch.setattr(FakePower, "set_power_state", fail)
    power(service, "rebooting", status=202)
    service.work()
    node = service.node(uuid)
    assert node["last_error"] == "Failed to change power state to 'power on' by 'rebooting': no answer"
    assert (node["power_state"], node["target_power_state"], node["reservation"]) == (None, None, None)
    assert "last_power_state_change" not in node["driver_internal_info"]
    (event,) = service.baremetal("GET", "/nodes/n1/history?detail=true").json["history"]
    assert (event["severity"], event["event_type"], event["event"]) == ("ERROR", "power", node["last_error"])
    power(service, "power on", status=202)
    assert service.node("n1")["last_error"] is None


def test_power_that_cannot_be_switched_is_refused(service: Service) -> None:
    service.baremetal("POST", "/nodes", {"driver": "manual-management", "name": "n1"})
    before = service.node("n1")
    assert "no agent is running" in fault(power(service, "power on", status=400))
    assert service.node("n1") == before


def test_when_the_power_changed(service: Service, uuid: str) -> None:
    """The time of the last change is known; to be in the state already is none, a reboot is."""

    def changed_by(target: str) -> bool:
        before = service.node(uuid)["driver_internal_info"].get("last_power_state_change", "")
        power(service, target, status=202)
        service.work()
        after = service.node(uuid)["driver_internal_info"]["last_power_state_change"]
        assert abs(datetime.fromisoformat(after).replace(tzinfo=UTC) - datetime.now(UTC)) < timedelta(minutes=1)
        return bool(after > before)

    wanted = ("power off", "power off", "power on", "power on", "rebooting", "soft rebooting", "soft power off")
    assert [changed_by(target) for target in wanted] == [True, False, True, False, True, True, True]


def test_what_a_machine_cannot_change_is_said_by_the_node(service: Service, row: Rows) -> None:
    for driver in ["fake-hardware", "manual-management"]:
        for path, target, failed, method in [
            ("boot_mode", "uefi", "Failed to change boot mode to 'uefi'", "set_boot_mode"),
            ("secure_boot", True, "Failed to change secure_boot state to 'True'", "set_secure_boot_state"),
        ]:
            with row(driver, path, target, failed, method):
                service.baremetal("POST", "/nodes", {"driver": driver, "name": "n1"})
                service.baremetal("PUT", f"/nodes/n1/states/{path}", {"target": target}, status=202)
                service.work()
                node = service.node("n1")
                assert (
                    node["last_error"]
                    == f"{failed}: Driver {driver} does not support {method} (disabled or not implemented)."
                )
                assert (node["boot_mode"], node["secure_boot"]) == (None, None)


def test_a_machine_that_can_is_in_its_new_mode_and_forgets_the_last_error(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch, row: Rows
) -> None:
    for path, target in [("boot_mode", "uefi"), ("secure_boot", True)]:
        with row(path, target):
            monkeypatch.setitem(registry.LOADED, ("management", "fake"), _Obedient())
            service.set_columns(uuid, last_error="before")
            service.baremetal("PUT", f"/nodes/n1/states/{path}", {"target": target}, status=202)
            service.work()
            node = service.node(uuid)
            assert (node[path], node["last_error"]) == (target, None)


def test_a_machine_without_virtual_media_says_so_in_its_last_error(service: Service, row: Rows) -> None:
    for method, body, doing in [("POST", IMAGE, "attach"), ("DELETE", None, "detach")]:
        with row(method, body, doing):
            service.baremetal("POST", "/nodes", {"driver": "manual-management", "name": "n1"})
            service.baremetal(method, "/nodes/n1/vmedia", body, status=204)
            service.work()
            assert f"does not support {doing}_virtual_media" in service.node("n1")["last_error"]


def test_no_logical_disks_can_be_wanted_of_any_machine(service: Service) -> None:
    service.baremetal("POST", "/nodes", {"driver": "manual-management", "name": "n1"})
    service.baremetal("PUT", "/nodes/n1/states/raid", {}, status=204)
    assert service.node("n1")["target_raid_config"] == {}
    service.baremetal("PUT", "/nodes/n1/states/raid", {"logical_disks": []}, status=404)


class _Obedient(ManagementInterface):
    def set_boot_mode(self, machine: Machine, mode: str) -> Effect:
        return Effect(fields={"boot_mode": mode})

    def set_secure_boot(self, machine: Machine, enabled: bool) -> Effect:
        return Effect(fields={"secure_boot": enabled})


def test_work_that_was_taken_away_writes_nothing(service: Service, uuid: str) -> None:
    power(service, "power on", status=202)
    (item,) = claiming.take(service.database, service.app.settings, "c1", "this process")
    service.database.write(lambda session: session.execute(delete(NodeWork)))
    handlers.do(item)
    assert service.node(uuid)["power_state"] is None
    assert service.node(uuid)["reservation"] == "c1"


def test_only_the_owner_finds_the_work(service: Service, uuid: str) -> None:
    service.add_conductor("c2")
    power(service, "power on", status=202)
    owner = service.node(uuid)["reservation"]
    assert service.database.read(lambda session: session.scalars(select(NodeWork.conductor)).all()) == [owner]
    other = ({"c1", "c2"} - {owner}).pop()
    assert claiming.take(service.database, service.app.settings, other, "this process") == []


def test_a_locked_node_is_tried_again_before_it_is_refused(service: Service, uuid: str) -> None:
    power(service, "power on", status=202)
    with service.statements() as statements:
        service.baremetal("PUT", "/nodes/n1/traits/CUSTOM_A", status=409)
    assert sum("FOR UPDATE" in statement or "FROM nodes" in statement for statement in statements) >= 2


def test_what_a_power_interface_does_not_support_is_refused_at_once(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    power = registry.interface("power", "fake")
    monkeypatch.setattr(power, "get_supported_power_states", lambda machine: ("power on", "power off"))
    refused = service.baremetal("PUT", "/nodes/n1/states/power", {"target": "soft rebooting"}, status=400)
    assert "does not support 'soft rebooting'. It supports: power on, power off." in fault(refused)
    assert service.node(uuid)["target_power_state"] is None
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power off"}, status=202)
