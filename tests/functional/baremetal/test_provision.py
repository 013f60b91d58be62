"""PUT /v1/nodes/{node}/states/provision: what is asked for, what conductors make of it, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete, select

from baremetal_sched.baremetal import nodes, provision
from baremetal_sched.baremetal.drivers.machine import Machine
from baremetal_sched.baremetal.drivers.vendor import FakeVendor
from baremetal_sched.baremetal.ownership import live_members
from baremetal_sched.baremetal.state_machine import STABLE, TABLE, VERBS
from baremetal_sched.db.models import NodeHistory, NodeWork
from baremetal_sched.errors import InvalidValue
from tests.service import Service, fault

LOG_STEP = {"interface": "vendor", "step": "log_passthrough"}
RESET_STEP = {"interface": "bios", "step": "factory_reset"}
WAIT_STEP = {"interface": "vendor", "step": "wait"}
HOLD_STEP = {"interface": "deploy", "step": "hold"}


@pytest.fixture
def uuid(service: Service) -> str:
    body = {"driver": "fake-hardware", "name": "n1", "resource_class": "gold"}
    created: str = service.baremetal("POST", "/nodes", body).json["uuid"]
    return created


def ask(service: Service, verb: Any, *, version: str = "1.115", status: int = 202, **more: Any) -> Any:
    body = {"target": verb, **more}
    return service.baremetal("PUT", "/nodes/n1/states/provision", body, version=version, status=status)


def do(service: Service, verb: str, **more: Any) -> dict[str, Any]:
    """Ask for a verb and let the conductor do its work; returns the node."""
    ask(service, verb, **more)
    service.work()
    return service.node("n1")


def state_of(node: dict[str, Any]) -> tuple[Any, Any]:
    return node["provision_state"], node["target_provision_state"]


def put_into(service: Service, uuid: str, state: str, **columns: Any) -> None:
    service.set_columns(uuid, provision_state=state, **columns)


def offered(service: Service) -> bool:
    return bool(service.candidates("resources=CUSTOM_GOLD:1"))


# -- the whole way -----------------------------------------------------------------------------------------------------


def test_from_enroll_to_active_and_back(service: Service, uuid: str) -> None:
    """Each state on the way, the node reserved meanwhile, and offered at the two moments when it can be had."""
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


def test_manage_makes_the_power_state_known(service: Service, uuid: str) -> None:
    assert service.node(uuid)["power_state"] is None
    assert do(service, "manage")["power_state"] == "power off"
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power on"})
    service.work()
    put_into(service, uuid, "enroll")
    assert do(service, "manage")["power_state"] == "power on"


def test_adopt(service: Service, uuid: str) -> None:
    do(service, "manage")
    assert state_of(do(service, "adopt")) == ("active", None)


@pytest.mark.parametrize(
    ("state", "verb", "after"),
    [
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
        ("service wait", "abort", "service failed"),
        ("service hold", "abort", "service failed"),
        ("service failed", "abort", "active"),
    ],
)
def test_what_is_done_at_once(service: Service, uuid: str, state: str, verb: str, after: str) -> None:
    put_into(service, uuid, state, target_provision_state="active", last_error="before")
    ask(service, verb)
    node = service.node(uuid)
    assert node["provision_state"] == after
    assert node["reservation"] is None
    assert (node["target_provision_state"] is None) == (after in STABLE)
    assert (node["last_error"] or "").startswith("By request" if "wait" in state or "hold" in state else "")


@pytest.mark.parametrize("verb", ["deleted", "undeploy"])
@pytest.mark.parametrize(
    "state", ["wait call-back", "deploy failed", "error", "rescue", "rescue wait", "rescue failed", "service failed"]
)
def test_deleting_from_everywhere(service: Service, uuid: str, state: str, verb: str) -> None:
    put_into(service, uuid, state, power_state="power on")
    assert state_of(do(service, verb, version="1.5" if verb == "undeploy" else "1.115")) == ("available", None)


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


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "flag", "cleaned"), [(True, None, True), (True, False, False), (False, None, False), (False, True, True)]
)
def test_automated_cleaning_can_be_off(database_url: str, option: bool, flag: bool | None, cleaned: bool) -> None:
    with Service(database_url, conductor={"automated_clean": option}) as service:
        service.add_conductor("c1")
        service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1", "automated_clean": flag})
        do(service, "manage")
        assert state_of(do(service, "provide")) == ("available", None)
        steps = service.database.read(
            lambda session: session.scalars(
                select(NodeHistory.event).where(NodeHistory.event_type == "clean_step_start")
            ).all()
        )
        assert list(steps) == (["Step vendor.log_passthrough begins"] if cleaned else [])


@pytest.mark.parametrize(
    ("limit", "state", "verb"), [("deploy", "available", "active"), ("clean", "active", "deleted")]
)
def test_only_so_many_at_once(database_url: str, limit: str, state: str, verb: str) -> None:
    with Service(database_url, conductor={f"max_concurrent_{limit}": 1}) as service:
        service.add_conductor("c1")
        service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"})
        other = service.add_node("other")
        put_into(service, service.node("n1")["uuid"], state)
        put_into(service, other, {"deploy": "deploying", "clean": "cleaning"}[limit])
        ask(service, verb, status=503)
        put_into(service, other, "available")
        ask(service, verb)


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_every_verb_that_a_state_does_not_take(service: Service, uuid: str) -> None:
    """400 with the reason, or 409 at once if a conductor is at work; and nothing is changed."""
    for state, events in TABLE.items():
        put_into(service, uuid, state, reservation=None)
        refused = [verb for verb, known in VERBS.items() if known.event not in events]
        for verb in (*refused, "bogus", "", None):
            message = f'The requested action "{verb}" can not be performed on node "{uuid}" while it is in state'
            assert fault(ask(service, verb, status=400)) == f'{message} "{state}".'
        put_into(service, uuid, state, reservation="c1")
        assert "locked by host c1" in fault(ask(service, refused[0], status=409))
        assert service.node(uuid)["provision_state"] == state


@pytest.mark.parametrize(
    ("verb", "version", "status"),
    [
        *((verb, f"1.{known.since - 1}", 406) for verb, known in VERBS.items() if known.since > 1),
        ("undeploy", "1.72", 400),
    ],
)
def test_verbs_have_their_versions(service: Service, uuid: str, verb: str, version: str, status: int) -> None:
    # The state is looked at before the version of these two.
    if verb in ("unhold", "service"):
        put_into(service, uuid, "service hold")
    path = f"/nodes/{uuid}/states/provision"
    service.baremetal("PUT", path, {"target": verb}, version=version, status=status)
    put_into(service, uuid, "enroll")
    if verb in ("unhold", "service"):
        service.baremetal("PUT", path, {"target": verb}, version=version, status=400)


@pytest.mark.parametrize(("state", "version"), [("inspect wait", "1.40"), ("wait call-back", "1.109")])
def test_aborts_that_are_newer(service: Service, uuid: str, state: str, version: str) -> None:
    put_into(service, uuid, state)
    ask(service, "abort", version=version, status=406)


STEPS = {"interface": "deploy", "step": "x", "args": {}, "priority": 1}


@pytest.mark.parametrize(
    ("state", "body", "version", "status", "text"),
    [
        ("enroll", {}, 115, 400, "Missing mandatory parameter: target"),
        ("enroll", {"target": 5}, 115, 400, "Expected string for target: 5"),
        ("enroll", {"target": "manage", "x": 1}, 115, 400, "Unexpected arguments: x"),
        ("enroll", {"target": "manage", "configdrive": 5}, 115, 400, "Expected types"),
        ("enroll", {"target": "manage", "configdrive": "abc"}, 115, 400, "only supported when setting"),
        ("available", {"target": "deploy", "configdrive": "abcd"}, 115, 400, "only supported when setting"),
        ("active", {"target": "rebuild", "configdrive": "abcd"}, 34, 400, "provision state to active"),
        ("available", {"target": "active", "configdrive": "{{{"}, 115, 400, "neither a JSON, nor a URL, nor"),
        ("available", {"target": "active", "configdrive": {"meta_data": {}}}, 55, 400, "API version 1.56"),
        ("available", {"target": "active", "configdrive": {"vendor_data": {}}}, 58, 400, "API version 1.59"),
        ("available", {"target": "active", "configdrive": {"x": 1}}, 115, 400, "'x' was unexpected"),
        ("available", {"target": "active", "deploy_steps": [STEPS]}, 68, 406, "1.69"),
        ("available", {"target": "active", "deploy_steps": [LOG_STEP]}, 115, 400, "'args' is a required property"),
        ("manageable", {"target": "provide", "deploy_steps": [STEPS]}, 115, 400, "active or rebuild"),
        ("manageable", {"target": "provide", "clean_steps": [LOG_STEP]}, 115, 400, '"clean_steps" is only valid'),
        ("manageable", {"target": "provide", "service_steps": [LOG_STEP]}, 115, 400, '"service_steps" is only valid'),
        ("manageable", {"target": "provide", "rescue_password": "x"}, 115, 400, '"rescue_password" is only valid'),
        ("manageable", {"target": "provide", "disable_ramdisk": True}, 115, 400, "only with manual cleaning"),
        ("manageable", {"target": "clean", "clean_steps": [LOG_STEP], "disable_ramdisk": True}, 69, 406, ""),
        ("active", {"target": "service", "service_steps": [LOG_STEP], "disable_ramdisk": True}, 107, 406, ""),
        ("manageable", {"target": "clean", "clean_steps": [LOG_STEP], "disable_ramdisk": "x"}, 115, 400, "Invalid"),
        ("manageable", {"target": "clean"}, 115, 400, '"clean_steps" is required'),
        ("manageable", {"target": "clean", "clean_steps": []}, 115, 400, '"clean_steps" is required'),
        ("manageable", {"target": "clean", "clean_steps": "x"}, 115, 400, "Invalid clean_steps"),
        ("manageable", {"target": "clean", "clean_steps": [{**LOG_STEP, "x": 1}]}, 115, 400, "'x' was unexpected"),
        ("manageable", {"target": "clean", "clean_steps": [{**LOG_STEP, "interface": "x"}]}, 115, 400, "not one of"),
        ("active", {"target": "service"}, 115, 400, '"service_steps" is required'),
        ("active", {"target": "rescue"}, 115, 400, 'A non-empty "rescue_password" is required'),
        ("active", {"target": "rescue", "rescue_password": " "}, 115, 400, 'A non-empty "rescue_password"'),
        ("manageable", {"target": "clean", "runbook": "r"}, 91, 406, "1.92"),
        ("manageable", {"target": "provide", "runbook": "nosuch"}, 115, 404, "Runbook nosuch could not be found"),
        ("manageable", {"target": "clean", "runbook": "nosuch"}, 115, 404, "Runbook nosuch could not be found"),
    ],
)
def test_bodies_that_are_refused(
    service: Service, uuid: str, state: str, body: dict[str, Any], version: int, status: int, text: str
) -> None:
    put_into(service, uuid, state)
    before = service.node(uuid)
    path = "/nodes/n1/states/provision"
    assert text in fault(service.baremetal("PUT", path, body, version=f"1.{version}", status=status))
    assert service.node(uuid) == before


@pytest.mark.parametrize("configdrive", ["aGVsbG8=", "https://example.org/drive", {"meta_data": {}, "user_data": None}])
def test_config_drives(service: Service, uuid: str, configdrive: Any) -> None:
    put_into(service, uuid, "available")
    assert do(service, "active", configdrive=configdrive)["instance_info"] == {"configdrive": "******"}


def test_a_config_drive_may_be_larger_than_other_bodies(service: Service, uuid: str) -> None:
    put_into(service, uuid, "available")
    ask(service, "active", configdrive="A" * (2 * 2**20))
    service.baremetal("PATCH", "/nodes/n1", [{"op": "add", "path": "/extra/a", "value": "A" * 2**20}], status=413)


@pytest.mark.parametrize(
    ("state", "verb", "columns", "status", "text"),
    [
        ("available", "active", {"maintenance": True}, 400, "in maintenance mode"),
        ("available", "deploy", {"maintenance": True}, 400, "in maintenance mode"),
        ("active", "rebuild", {"maintenance": True}, 400, "in maintenance mode"),
        ("active", "rebuild", {"protected": True}, 403, "is protected"),
        ("active", "deleted", {"protected": True}, 403, "is protected"),
        ("manageable", "provide", {"retired": True}, 400, "retired"),
        ("available", "active", {"reservation": "c1"}, 409, "locked by host c1"),
        ("available", "active", {"power_interface": "agent"}, 400, "Failed to validate deploy or power info"),
        ("available", "active", {"deploy_interface": "direct"}, 400, "image_source"),
        ("active", "rebuild", {"deploy_interface": "direct"}, 400, "image_source"),
        ("active", "deleted", {"power_interface": "agent"}, 400, "agent power interface"),
        ("manageable", "inspect", {"inspect_interface": "no-inspect"}, 400, "does not support inspect"),
        ("manageable", "provide", {"conductor_group": "nowhere"}, 404, "No valid host was found"),
    ],
)
def test_nodes_that_are_not_fit_for_it(
    service: Service, uuid: str, state: str, verb: str, columns: dict[str, Any], status: int, text: str
) -> None:
    put_into(service, uuid, state, **columns)
    before = service.node(uuid)
    assert text in fault(ask(service, verb, status=status))
    assert service.node(uuid) == before


def test_maintenance_does_not_stop_the_other_verbs(service: Service, uuid: str) -> None:
    service.baremetal("PUT", "/nodes/n1/maintenance")
    for verb, state in (("manage", "manageable"), ("provide", "available"), ("manage", "manageable")):
        assert do(service, verb)["provision_state"] == state
    put_into(service, uuid, "active")
    assert state_of(do(service, "deleted")) == ("available", None)
    assert not offered(service)


def test_traits_that_an_instance_needs(service: Service, uuid: str) -> None:
    """They have to be on the node before it is deployed or rebuilt; what is missing is named."""
    put_into(service, uuid, "available", power_state="power off", instance_info={"traits": ["CUSTOM_B", "CUSTOM_A"]})
    service.baremetal("PUT", "/nodes/n1/traits", {"traits": ["CUSTOM_C", "CUSTOM_B"]})
    text = fault(ask(service, "active", status=400))
    assert text == (
        f"Failed to validate deploy or power info for node {uuid}: Cannot specify instance traits that are not also "
        f"set on the node. Node {uuid} is missing traits CUSTOM_A"
    )
    node = service.node(uuid)
    assert (node["provision_state"], node["last_error"], node["reservation"]) == ("available", None, None)
    assert offered(service)
    service.baremetal("PUT", "/nodes/n1/traits/CUSTOM_A")
    assert state_of(do(service, "active")) == ("active", None)
    service.baremetal("DELETE", "/nodes/n1/traits/CUSTOM_A")
    assert service.node(uuid)["provision_state"] == "active"
    ask(service, "rebuild", status=400)


# -- steps -------------------------------------------------------------------------------------------------------------


def events(service: Service, kind: str) -> list[str]:
    query = select(NodeHistory.event).where(NodeHistory.event_type.like(f"{kind}%")).order_by(NodeHistory.id)
    return list(service.database.read(lambda session: session.scalars(query).all()))


def test_steps_that_somebody_asked_for(service: Service, uuid: str) -> None:
    put_into(service, uuid, "manageable")
    settings = [{"name": "a", "value": "1"}]
    steps = [
        {"interface": "bios", "step": "apply_configuration", "args": {"settings": settings}, "order": 2},
        {"interface": "power", "step": "power_on", "order": 1},
        {"interface": "vendor", "step": "wait", "args": {"seconds": 0}, "order": 3},
    ]
    node = do(service, "clean", clean_steps=steps)
    assert (state_of(node), node["power_state"]) == (("manageable", None), "power on")
    assert events(service, "clean_step_start") == [
        "Step power.power_on begins", "Step bios.apply_configuration begins", "Step vendor.wait begins",
    ]  # fmt: skip
    assert events(service, "clean_step_end")[0] == "Step power.power_on is done"


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ([{"interface": "deploy", "step": "nosuch"}], "node does not support this clean step: {'interface': 'deploy'"),
        ([{**LOG_STEP, "args": {"x": 1}}], "unexpected arguments: x"),
        ([{"interface": "bios", "step": "apply_configuration"}], "missing these required arguments: settings"),
        ([{**WAIT_STEP, "args": {"seconds": "x"}}], "seconds has to be a number"),
    ],
)
def test_steps_that_the_driver_does_not_have(service: Service, uuid: str, steps: list[Any], text: str) -> None:
    """Found before any of them is begun: the machine is as it was, so the node is not put into maintenance."""
    put_into(service, uuid, "manageable")
    node = do(service, "clean", clean_steps=[LOG_STEP, *steps])
    assert state_of(node) == ("clean failed", "manageable")
    assert (node["maintenance"], node["fault"]) == (False, None)
    assert node["last_error"].startswith(f"Cannot clean node {uuid}: ")
    assert text in node["last_error"]
    assert events(service, "clean_step_start") == []
    put_into(service, uuid, "active")
    node = do(service, "service", service_steps=steps)
    assert (node["provision_state"], node["maintenance"]) == ("service failed", False)


def test_deploy_steps(service: Service, uuid: str) -> None:
    """Over those of the driver; what it lacks is left out, and so is what has no priority."""
    put_into(service, uuid, "available")
    steps = [
        {"interface": "power", "step": "reboot", "args": {}, "priority": "150"},
        {"interface": "deploy", "step": "nosuch", "args": {}, "priority": 50},
    ]
    assert do(service, "active", deploy_steps=steps)["provision_state"] == "active"
    assert events(service, "deploy_step_start") == ["Step power.reboot begins", "Step deploy.deploy begins"]
    none = [{"interface": "deploy", "step": "deploy", "args": {}, "priority": 0}]
    node = do(service, "rebuild", deploy_steps=none)
    assert state_of(node) == ("deploy failed", "active")
    assert "no step of the deploy interface" in node["last_error"]


def failing(error: Exception) -> Callable[..., Any]:
    def step(self: FakeVendor, machine: Machine) -> Any:
        raise error

    step.__dict__.update(FakeVendor.log_passthrough.__dict__)
    return step


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InvalidValue(message="the disk is on fire"), "Step vendor.log_passthrough failed: the disk is on fire"),
        (ZeroDivisionError("x"), "Unexpected error: ZeroDivisionError('x')"),
    ],
)
@pytest.mark.parametrize(
    ("state", "verb", "more", "after", "fault_name"),
    [
        ("manageable", "provide", {}, ("clean failed", "available"), "clean failure"),
        ("manageable", "clean", {"clean_steps": [LOG_STEP]}, ("clean failed", "manageable"), "clean failure"),
        ("active", "service", {"service_steps": [LOG_STEP]}, ("service failed", "active"), "service failure"),
        ("active", "deleted", {}, ("clean failed", "available"), "clean failure"),
    ],
)
def test_a_step_that_fails(
    service: Service,
    uuid: str,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    said: str,
    state: str,
    verb: str,
    more: dict[str, Any],
    after: tuple[str, str],
    fault_name: str,
) -> None:
    """Nobody knows what the machine is like now: maintenance, with the fault, until somebody has looked."""
    monkeypatch.setattr(FakeVendor, "log_passthrough", failing(error))
    put_into(service, uuid, state, power_state="power on")
    node = do(service, verb, **more)
    assert state_of(node) == after
    assert (node["maintenance"], node["fault"], node["maintenance_reason"]) == (True, fault_name, said)
    assert (node["last_error"], node["reservation"], node["clean_step"]) == (said, None, {})
    assert not offered(service)
    monkeypatch.undo()
    service.baremetal("DELETE", "/nodes/n1/maintenance")
    if after[0] == "clean failed":
        do(service, "manage")
        assert do(service, "provide")["provision_state"] == "available"
        assert offered(service)


def test_what_cannot_be_reached_stays_enrolled(service: Service, uuid: str) -> None:
    service.set_columns(uuid, power_interface="agent")
    node = do(service, "manage")
    assert state_of(node) == ("enroll", None)
    assert "agent power interface" in node["last_error"]


@pytest.mark.parametrize(
    ("state", "verb", "columns", "after"),
    [
        ("manageable", "adopt", {"deploy_interface": "direct"}, ("adopt failed", "active")),
        ("active", "unrescue", {}, None),
    ],
)
def test_other_failures(
    service: Service, uuid: str, state: str, verb: str, columns: dict[str, Any], after: tuple[str, str] | None
) -> None:
    put_into(service, uuid, state, **columns)
    if after is None:
        ask(service, verb, status=400)
    else:
        node = do(service, verb)
        assert state_of(node) == after
        assert node["last_error"]


def test_the_steps_to_a_retired_node(service: Service, uuid: str) -> None:
    """Cleaned after its instance is gone, it is not given out again."""
    put_into(service, uuid, "active", retired=True)
    assert state_of(do(service, "deleted")) == ("manageable", None)


# -- waiting and holding -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "verb", "name", "waiting", "target"),
    [
        ("manageable", "clean", "clean_steps", "clean wait", "manageable"),
        ("active", "service", "service_steps", "service wait", "active"),
    ],
)
def test_waiting_for_an_agent(
    service: Service, uuid: str, state: str, verb: str, name: str, waiting: str, target: str
) -> None:
    put_into(service, uuid, state)
    node = do(service, verb, **{name: [WAIT_STEP, LOG_STEP]})
    assert (state_of(node), node["reservation"]) == ((waiting, target), None)
    assert node[name.removesuffix("s")]["step"] == "wait"
    resume(service)
    assert service.node(uuid)["reservation"] == "c1"
    service.work()
    node = service.node(uuid)
    assert (state_of(node), node[name.removesuffix("s")]) == ((state, None), {})
    assert events(service, f"{verb}_step_start")[-1] == "Step vendor.log_passthrough begins"


def resume(service: Service) -> None:
    service.database.write(
        lambda session: provision.resume(
            session, nodes.find_for_change(session, "n1"), live_members(session, service.app.extensions["settings"])
        )
    )


def test_a_deployment_by_an_agent(service: Service, uuid: str) -> None:
    put_into(service, uuid, "available", deploy_interface="direct", instance_info={"image_source": "http://x/y"})
    node = do(service, "active")
    assert (state_of(node), node["power_state"]) == (("wait call-back", "active"), "power on")
    resume(service)
    service.work()
    assert state_of(service.node(uuid)) == ("active", None)
    assert state_of(do(service, "deleted")) == ("clean wait", "available")
    resume(service)
    service.work()
    assert state_of(service.node(uuid)) == ("available", None)


@pytest.mark.parametrize(
    ("state", "verb", "name", "held"),
    [
        ("manageable", "clean", "clean_steps", "clean hold"),
        ("active", "service", "service_steps", "service hold"),
        ("available", "active", "deploy_steps", "deploy hold"),
    ],
)
def test_holding(service: Service, uuid: str, state: str, verb: str, name: str, held: str) -> None:
    put_into(service, uuid, state)
    hold = {**HOLD_STEP, "args": {}, "priority": 200} if name == "deploy_steps" else HOLD_STEP
    node = do(service, verb, **{name: [hold] if name == "deploy_steps" else [hold, LOG_STEP]})
    assert (node["provision_state"], node["reservation"]) == (held, None)
    ask(service, "unhold")
    service.work()
    assert service.node(uuid)["provision_state"] == ("active" if name == "deploy_steps" else state)


def test_a_step_that_must_not_be_interrupted_is_the_last_one(service: Service, uuid: str) -> None:
    put_into(service, uuid, "clean wait", clean_step={**LOG_STEP, "abortable": False})
    ask(service, "abort")
    assert service.node(uuid)["provision_state"] == "clean wait"
    resume(service)
    service.work()
    node = service.node(uuid)
    assert node["provision_state"] == "clean failed"
    assert "aborted after the step" in node["last_error"]


# -- the fence ---------------------------------------------------------------------------------------------------------


def test_whoever_lost_the_work_begins_no_further_step(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_into(service, uuid, "manageable")

    def lose(self: FakeVendor, machine: Machine) -> Any:
        service.database.write(lambda session: session.execute(delete(NodeWork)))
        return original(self, machine)

    original = FakeVendor.log_passthrough
    lose.__dict__.update(original.__dict__)
    monkeypatch.setattr(FakeVendor, "log_passthrough", lose)
    node = do(service, "clean", clean_steps=[RESET_STEP, LOG_STEP, RESET_STEP])
    assert (state_of(node), node["clean_step"]["step"]) == (("cleaning", "manageable"), "log_passthrough")
    assert events(service, "clean_step_start") == [
        "Step bios.factory_reset begins",
        "Step vendor.log_passthrough begins",
    ]


def test_errors_and_steps_are_in_the_history(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeVendor, "log_passthrough", failing(InvalidValue(message="no")))
    put_into(service, uuid, "manageable")
    do(service, "provide")
    assert do(service, "manage")["last_error"] == "Step vendor.log_passthrough failed: no"
    monkeypatch.undo()
    do(service, "provide")
    query = select(NodeHistory.severity, NodeHistory.event_type, NodeHistory.state, NodeHistory.conductor)
    assert service.database.read(lambda session: session.execute(query.order_by(NodeHistory.id)).all()) == [
        ("INFO", "automated_cleaning_start", "cleaning", "c1"),
        ("INFO", "clean_step_start", "cleaning", "c1"),
        ("ERROR", "automated_cleaning_end", "cleaning", "c1"),
        ("ERROR", "cleaning", "cleaning", "c1"),
        ("INFO", "automated_cleaning_start", "cleaning", "c1"),
        ("INFO", "clean_step_start", "cleaning", "c1"),
        ("INFO", "clean_step_end", "cleaning", "c1"),
        ("INFO", "automated_cleaning_end", "cleaning", "c1"),
    ]


@pytest.mark.parametrize(
    ("state", "verb", "steps", "error"),
    [
        ("manageable", "clean", [WAIT_STEP], "By request, the cleaning was aborted at step vendor.wait."),
        ("active", "service", [HOLD_STEP], "By request, the service was aborted at step deploy.hold."),
    ],
)
def test_an_abort_is_in_the_history(
    service: Service, uuid: str, state: str, verb: str, steps: list[Any], error: str
) -> None:
    put_into(service, uuid, state)
    do(service, verb, **{f"{verb}_steps": steps})
    assert do(service, "abort")["last_error"] == error
    kind = {"clean": "cleaning", "service": "servicing"}[verb]
    query = select(NodeHistory.event, NodeHistory.severity).where(NodeHistory.event_type == kind)
    assert service.database.read(lambda session: session.execute(query).all()) == [(error, "INFO")]


@pytest.mark.parametrize(
    ("state", "verb", "columns", "kind"),
    [
        ("enroll", "manage", {"power_interface": "agent"}, "verify"),
        ("manageable", "adopt", {"deploy_interface": "direct"}, "adoption"),
    ],
)
def test_what_failed_is_in_the_history(
    service: Service, uuid: str, state: str, verb: str, columns: dict[str, Any], kind: str
) -> None:
    put_into(service, uuid, state, **columns)
    error = do(service, verb)["last_error"]
    query = select(NodeHistory.event_type, NodeHistory.severity, NodeHistory.event)
    assert service.database.read(lambda session: session.execute(query).all()) == [(kind, "ERROR", error)]
