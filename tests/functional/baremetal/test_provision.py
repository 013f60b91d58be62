# tier: first
"""PUT /v1/nodes/{node}/states/provision: requests, and the work of conductors for them."""

import threading
from typing import Any

import pytest
from sqlalchemy import select, update

from baremetal_sched.baremetal.api.provisioning import provision
from baremetal_sched.baremetal.state_machine import STABLE
from baremetal_sched.db.models import Node, NodeHistory
from baremetal_sched.drivers.fake.hardware import FakeVendor
from baremetal_sched.drivers.fake.provisioning import FakeRescue
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine
from tests.functional.baremetal.provisioning import LOG_STEP, RESET_STEP, ask, do, offered, put_into, state_of
from tests.restored import Rows
from tests.service import Service
from tests.waiting import PATIENCE


def test_from_enroll_to_active_and_back(service: Service, uuid: str) -> None:
    """Each state on the way, the node reserved meanwhile, and offered at the two moments when it can be had."""
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power on"})
    service.work()
    seen = []
    for verb, more in (
        ("manage", {}),
        ("inspect", {}),
        ("clean", {"clean_steps": [RESET_STEP]}),
        ("provide", {}),
        ("active", {"configdrive": "aGVsbG8="}),
        ("rescue", {"rescue_password": "secret"}),
        ("unrescue", {}),
        ("service", {"service_steps": [LOG_STEP]}),
        ("rebuild", {}),
        ("deleted", {}),
    ):
        response = ask(service, verb, **more)
        assert response.headers["Location"] == "http://localhost/baremetal/v1/nodes/n1/states"
        assert response.body == b""
        node = service.node(uuid)
        assert node["reservation"] == "c1"
        assert not offered(service)
        service.work()
        after = service.node(uuid)
        assert (after["reservation"], after["last_error"], after["maintenance"]) == (None, None, False)
        assert after["clean_step"] == after["deploy_step"] == after["service_step"] == {}
        seen.append((verb, *state_of(node), *state_of(after), offered(service)))
    assert seen == [
        ("manage", "verifying", "manageable", "manageable", None, False),
        ("inspect", "inspecting", "manageable", "manageable", None, False),
        ("clean", "cleaning", "manageable", "manageable", None, False),
        ("provide", "cleaning", "available", "available", None, True),
        ("active", "deploying", "active", "active", None, False),
        ("rescue", "rescuing", "rescue", "rescue", None, False),
        ("unrescue", "unrescuing", "active", "active", None, False),
        ("service", "servicing", "active", "active", None, False),
        ("rebuild", "deploying", "active", "active", None, False),
        ("deleted", "deleting", "available", "available", None, True),
    ]


def test_fake_hardware_has_a_power_state_once_it_was_switched(service: Service, uuid: str) -> None:
    assert do(service, "manage")["power_state"] is None
    do(service, "provide")
    assert not offered(service)
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power off"})
    service.work()
    assert service.node(uuid)["power_state"] == "power off"
    assert offered(service)
    put_into(service, uuid, "enroll")
    assert do(service, "manage")["power_state"] == "power off"


def test_the_password_of_a_rescue_is_kept_while_it_lasts(service: Service, uuid: str) -> None:
    put_into(service, uuid, "active", instance_info={"a": 1})
    rescued = do(service, "rescue", rescue_password="secret")["instance_info"]
    assert rescued == {"a": 1, "rescue_password": "******", "hashed_rescue_password": "******"}
    with service.database.engine.connect() as connection:
        (kept,) = connection.scalars(select(Node.instance_info))
    assert kept["rescue_password"] == "secret"
    assert kept["hashed_rescue_password"].startswith("$scrypt$")
    assert do(service, "unrescue")["instance_info"] == {"a": 1}


def test_a_password_is_hashed_once_and_before_anything_is_locked(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = []

    def write() -> None:
        service.database.write(lambda session: session.execute(update(Node).values(description="meanwhile")))

    def hashed(password: str) -> str:
        # From another connection, which a lock of this one would stop.
        writer = threading.Thread(target=write)
        writer.start()
        writer.join(PATIENCE)
        times.append(writer.is_alive())
        return f"$scrypt$of {password}"

    monkeypatch.setattr(provision, "hashed", hashed)
    service.set_columns(uuid, provision_state="active", reservation="another")
    body = {"target": "rescue", "rescue_password": "secret"}
    service.baremetal("PUT", f"/nodes/{uuid}/states/provision", body, status=409)
    assert times == [False]
    service.set_columns(uuid, reservation=None)
    service.baremetal("PUT", f"/nodes/{uuid}/states/provision", body, status=202)
    assert times == [False, False]
    kept = service.database.read(lambda session: session.scalars(select(Node.instance_info)).one())
    assert kept["hashed_rescue_password"] == "$scrypt$of secret"


@pytest.mark.parametrize("fails", ["rescuing", "rescue wait"])
def test_a_rescue_that_came_to_nothing_has_no_password(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    def rescue(self: FakeRescue, machine: Machine) -> Effect:
        if fails == "rescuing":
            raise InvalidValue(message="no system to boot")
        return Effect(waits=True)

    monkeypatch.setattr(FakeRescue, "rescue", rescue)
    put_into(service, uuid, "active")
    node = do(service, "rescue", rescue_password="secret")
    if fails == "rescue wait":
        assert "rescue_password" in node["instance_info"]
        node = do(service, "abort")
    assert (node["provision_state"], node["instance_info"]) == ("rescue failed", {})


def test_adopt(service: Service, uuid: str) -> None:
    do(service, "manage")
    assert state_of(do(service, "adopt")) == ("active", None)


def test_what_is_done_at_once(service: Service, uuid: str, row: Rows) -> None:
    for state, verb, after in [
        ("available", "manage", "manageable"),
        ("clean failed", "manage", "manageable"),
        ("inspect failed", "manage", "manageable"),
        ("adopt failed", "manage", "manageable"),
        ("clean wait", "abort", "clean failed"),
        ("clean hold", "abort", "clean failed"),
        ("inspect wait", "abort", "inspect failed"),
        ("wait call-back", "abort", "deploy failed"),
        ("deploy hold", "abort", "deploy failed"),
        ("rescue wait", "abort", "rescue failed"),
    ]:
        with row(state, verb, after):
            put_into(service, uuid, state, target_provision_state="active", last_error="before")
            ask(service, verb)
            node = service.node(uuid)
            assert node["provision_state"] == after
            assert node["reservation"] is None
            assert (node["target_provision_state"] is None) == (after in STABLE)
            assert (node["last_error"] or "").startswith("By request" if "wait" in state or "hold" in state else "")


def test_deleting_from_everywhere(service: Service, uuid: str, row: Rows) -> None:
    for verb in ["deleted", "undeploy"]:
        for state in [
            "wait call-back",
            "deploy failed",
            "error",
            "rescue",
            "rescue wait",
            "rescue failed",
            "service failed",
        ]:
            with row(verb, state):
                put_into(service, uuid, state, power_state="power on")
                assert state_of(do(service, verb, version="1.5" if verb == "undeploy" else "1.115")) == (
                    "available",
                    None,
                )


def test_undeploy_empties_the_instance(service: Service, uuid: str) -> None:
    instance = "11111111-2222-4333-8444-555555555555"
    service.baremetal("PUT", "/nodes/n1/traits", {"traits": ["CUSTOM_A"]})
    service.set_columns(
        uuid,
        provision_state="active",
        instance_uuid=instance,
        instance_name="web",
        instance_info={"display_name": "web"},
        lessee="them",
        driver_internal_info={"automatic_lessee": True},
    )
    node = do(service, "deleted")
    assert (node["instance_uuid"], node["instance_name"], node["instance_info"], node["lessee"]) == (
        None,
        None,
        {},
        None,
    )
    assert (node["traits"], node["resource_class"], node["name"]) == (["CUSTOM_A"], "gold", "n1")
    put_into(service, uuid, "active", lessee="us")
    assert do(service, "deleted")["lessee"] == "us"


def test_nobody_gets_a_node_that_is_not_clean_yet(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put_into(service, uuid, "active", power_state="power on")
    seen = []

    def look(self: FakeVendor, machine: Machine) -> Any:
        seen.append((service.node(uuid)["provision_state"], service.node(uuid)["clean_step"]["step"], offered(service)))
        return _nothing(self, machine)

    _nothing = FakeVendor.log_passthrough
    look.__dict__.update(_nothing.__dict__)
    monkeypatch.setattr(FakeVendor, "log_passthrough", look)
    do(service, "deleted")
    assert seen == [("cleaning", "log_passthrough", False)]
    assert offered(service)


@pytest.mark.parametrize(
    ("option", "flag", "cleaned"), [(True, None, True), (True, False, False), (False, None, False), (False, True, True)]
)
def test_automated_cleaning_can_be_off(database_url: str, option: bool, flag: bool | None, cleaned: bool) -> None:
    with Service(database_url, conductor={"automated_clean": option}) as service:
        service.add_conductor("c1")
        service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1", "automated_clean": flag})
        do(service, "manage")
        assert state_of(do(service, "provide")) == ("available", None)
        query = select(NodeHistory.event).where(
            NodeHistory.event_type.in_(("clean_step_start", "automated_cleaning_end"))
        )
        events = service.database.read(lambda session: session.scalars(query.order_by(NodeHistory.id)).all())
        assert list(events) == (
            ["Step vendor.log_passthrough begins", "Cleaning completed"]
            if cleaned
            else ["Automated cleaning is disabled: nothing was cleaned"]
        )


def test_only_so_many_at_once(database_url: str, row: Rows) -> None:
    for limit, state, verb in [("deploy", "available", "active"), ("clean", "active", "deleted")]:
        with row(limit, state, verb), Service(database_url, conductor={f"max_concurrent_{limit}": 1}) as service:
            service.add_conductor("c1")
            service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"})
            other = service.add_node("other")
            put_into(service, service.node("n1")["uuid"], state)
            put_into(service, other, {"deploy": "deploying", "clean": "cleaning"}[limit])
            ask(service, verb, status=503)
            put_into(service, other, "available")
            ask(service, verb)


def test_config_drives(service: Service, uuid: str, row: Rows) -> None:
    for configdrive in ["aGVs\nbG8=\n", "https://example.org/drive", {"meta_data": {}, "user_data": None}]:
        with row(configdrive):
            put_into(service, uuid, "available")
            assert do(service, "active", configdrive=configdrive)["instance_info"] == {"configdrive": "******"}


def test_a_config_drive_may_be_larger_than_other_bodies(service: Service, uuid: str) -> None:
    put_into(service, uuid, "available")
    ask(service, "active", configdrive="A" * (2 * 2**20))
    service.baremetal("PATCH", "/nodes/n1", [{"op": "add", "path": "/extra/a", "value": "A" * 2**20}], status=413)


def test_maintenance_does_not_stop_the_other_verbs(service: Service, uuid: str) -> None:
    service.baremetal("PUT", "/nodes/n1/maintenance")
    for verb, state in (("manage", "manageable"), ("provide", "available"), ("manage", "manageable")):
        assert do(service, verb)["provision_state"] == state
    put_into(service, uuid, "active")
    assert state_of(do(service, "deleted")) == ("available", None)
    assert not offered(service)


def test_the_steps_to_a_retired_node(service: Service, uuid: str) -> None:
    """Cleaned after its instance is gone, it is not given out again."""
    put_into(service, uuid, "active", retired=True)
    assert state_of(do(service, "deleted")) == ("manageable", None)
