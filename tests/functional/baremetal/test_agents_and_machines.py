"""The power of machines with agents: when work is done, after inspections, and on fast track."""

from typing import Any

import pytest

from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.drivers.fake.hardware import FakePower
from baremetal_sched.errors import InvalidValue
from tests.functional.baremetal.agents import (
    IMAGE,
    MAC,
    URL,
    VERSION,
    beat,
    beat_until_done,
    do,
    inspect,
    internal_info,
    look_up,
    state,
    token_of,
)
from tests.restored import Rows
from tests.service import Service, fault

#: What an agent finds, at least.
FOUND = {"interfaces": [{"name": "eth0", "mac_address": MAC}], "cpu": {"architecture": "x86_64"}}

pytestmark = pytest.mark.usefixtures("agent")


def changed(service: Service) -> str | None:
    """When the power of the machine was switched last."""
    moment: str | None = service.node("n1")["driver_internal_info"].get("last_power_state_change")
    return moment


def test_a_machine_is_switched_off_when_it_is_clean(service: Service, node: str, row: Rows) -> None:
    """One that must not be off is only rid of its agent."""
    for disabled, expected in [(False, "power off"), (True, "power on")]:
        with row(disabled, expected):
            service.patch("n1", ("add", "/disable_power_off", disabled))
            do(service, "manage")
            do(service, "provide")
            assert (state(service), service.node("n1")["power_state"]) == ("clean wait", "power on")
            before = changed(service)
            beat(service, token_of(service))
            assert (state(service), service.node("n1")["power_state"]) == ("available", expected)
            assert changed(service) != before
            assert "agent_url" not in internal_info(service)


def test_a_machine_without_an_agent_stays_as_it_is(service: Service, node: str, row: Rows) -> None:
    for asked in [{}, {"disable_ramdisk": True}]:
        with row(asked):
            service.set_columns(node, power_state="power on")
            do(service, "manage")
            steps = [{"interface": "power", "step": "power_on"}]
            do(service, "clean", clean_steps=steps, **asked)
            assert (state(service), service.node("n1")["power_state"]) == ("manageable", "power on")
            assert changed(service) is None


def test_a_machine_that_cannot_be_switched_off_is_not_clean(
    service: Service, node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    do(service, "manage")
    do(service, "provide")
    token = token_of(service)

    def fail(*args: Any) -> str:
        raise InvalidValue(message="no power")

    monkeypatch.setattr(FakePower, "set_power_state", fail)
    beat(service, token)
    shown = service.node("n1")
    assert (shown["provision_state"], shown["maintenance"], shown["clean_step"]) == ("clean failed", False, {})
    assert shown["last_error"] == f"Failed to tear down after the clean steps of node {node}: no power"
    assert set(internal_info(service)) == {"clean_steps", *VERSION}


def test_a_machine_boots_its_instance_when_it_has_been_serviced(service: Service, node: str) -> None:
    do(service, "active")
    beat_until_done(service, token_of(service))
    do(service, "service", service_steps=[{"interface": "vendor", "step": "trigger_servicewait"}])
    assert state(service) == "service wait"
    before = changed(service)
    token = token_of(service)
    beat(service, token)  # the agent has booted, and the step begins
    assert state(service) == "service wait"
    beat(service, token)
    assert (state(service), service.node("n1")["power_state"]) == ("active", "power on")
    assert changed(service) != before


def test_an_agent_inspects(service: Service, node: str) -> None:
    inspect(service)
    assert service.node("n1")["inspection_started_at"]
    inventory = {
        "interfaces": [{"name": "eth0", "mac_address": MAC.upper(), "more": 1}],
        "cpu": {"architecture": "x86_64"},
        "bmc_address": None,
    }
    body = {"inventory": inventory, "logs": "abc", "extra": {"a": [1]}}
    told = service.baremetal("POST", "/continue_inspection", body, status=202).json
    assert told["node"]["uuid"] == node
    assert len(told["config"]["agent_token"]) > 20
    service.work()
    shown = service.node("n1")
    assert (shown["provision_state"], shown["last_error"]) == ("manageable", None)
    assert shown["inspection_finished_at"]
    assert shown["inspection_started_at"] is None
    kept = service.baremetal("GET", "/nodes/n1/inventory").json
    assert (kept["inventory"], kept["plugin_data"]["extra"]) == (inventory, {"a": [1]})
    assert "logs" not in kept["plugin_data"]


def post(service: Service, body: Any, *, query: str = "", version: str = "1.115", status: int = 202) -> Any:
    return service.baremetal("POST", f"/continue_inspection{query}", body, version=version, status=status)


def test_inspections_that_are_none(service: Service, node: str, row: Rows) -> None:
    for body in [
        {},
        [],
        {"inventory": None},
        {"inventory": {}},
        {"inventory": {"interfaces": []}},
        {"inventory": {"interfaces": [{}]}},
        {"inventory": {"interfaces": [{"mac_address": 1}]}},
        {"inventory": {"interfaces": [{"mac_address": "x"}]}},
        {"inventory": {"interfaces": [{"mac_address": MAC}], "bmc_address": 1}},
    ]:
        with row(body):
            inspect(service)
            post(service, body, status=400)
            assert state(service) == "inspect wait"


def test_which_node_was_inspected(service: Service, node: str) -> None:
    inspect(service)
    service.patch("n1", ("add", "/driver_info/redfish_address", "https://[2001:db8::1]:8000/x"))
    service.patch("n1", ("add", "/driver_info/ipmi_address", "192.0.2.7"))
    other = service.add_node("n2", power=False, inspect_interface="agent")
    service.baremetal("POST", "/ports", {"node_uuid": other, "address": "52:54:00:00:00:02"})
    unknown = [{"name": "eth0", "mac_address": "52:54:00:00:00:99"}]
    mine, others = [{"name": "eth0", "mac_address": MAC}], [{"name": "eth1", "mac_address": "52:54:00:00:00:02"}]
    for query, inventory, version, status in (
        ("", {"interfaces": unknown}, "1.115", 404),
        ("", {"interfaces": others}, "1.115", 404),  # in the wrong state
        ("", {"interfaces": mine + others}, "1.115", 404),
        ("?node_uuid=aaaaaaaa-0000-4000-8000-000000000000", {"interfaces": unknown}, "1.115", 404),
        (f"?node_uuid={node}", {"interfaces": others}, "1.115", 404),
        ("?node_uuid=x", {"interfaces": mine}, "1.115", 400),
        ("?x=1", {"interfaces": mine}, "1.115", 400),
        ("", {"interfaces": unknown, "bmc_address": "192.0.2.8"}, "1.115", 404),
        ("", {"interfaces": mine}, "1.83", 404),
        ("", {"interfaces": mine}, "1.2", 404),
        (f"?node_uuid={node}", {"interfaces": mine}, "1.1", 404),
    ):
        post(service, {"inventory": inventory}, query=query, version=version, status=status)
        assert state(service) == "inspect wait"
    for query, inventory, version in (
        ("", {"interfaces": unknown, "bmc_address": "192.0.2.7"}, "1.115"),
        ("", {"interfaces": unknown, "bmc_v6address": "2001:db8::1"}, "1.84"),
        (f"?node_uuid={node}", {"interfaces": unknown}, "1.84"),
        ("", {"interfaces": mine}, "1.1"),
    ):
        found = {"cpu": {"architecture": "x86_64"}, **inventory}
        told = post(service, {"inventory": found}, query=query, version=version).json
        assert told == {"uuid": node} if version == "1.1" else told["node"]["uuid"] == node
        service.work()
        assert state(service) == "manageable"
        do(service, "inspect")


def test_an_inspection_is_large(service: Service, node: str) -> None:
    inspect(service)
    post(service, {"inventory": FOUND, "logs": "x" * 3_000_000})
    service.work()
    assert state(service) == "manageable"


def test_an_inspection_has_so_many_interfaces_at_most(service: Service, node: str) -> None:
    """Anyone on the provisioning network may post one: the bound comes before the database."""
    inspect(service)
    interfaces = [
        {"name": f"eth{number}", "mac_address": f"52:54:00:01:{number >> 8:02x}:{number & 255:02x}"}
        for number in range(1023)
    ]
    with service.statements() as statements:
        for count in (1024, 20_000):
            found = {**FOUND, "interfaces": [{"mac_address": MAC}] * (count - 1023) + interfaces + interfaces[:1]}
            answer = post(service, {"inventory": found}, status=400)
            assert "'inventory.interfaces': at most 1024 are accepted" in fault(answer)
    assert statements == []
    assert state(service) == "inspect wait"
    post(service, {"inventory": {**FOUND, "interfaces": [{"name": "eth0", "mac_address": MAC}, *interfaces]}})
    service.work()
    assert state(service) == "manageable"


@pytest.fixture
def fast(service: Service) -> Service:
    """An enrolled node that is on, whose driver_info lets its agent wait."""
    service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1", "deploy_interface": "direct"})
    service.baremetal("POST", "/ports", {"node_ident": "n1", "address": MAC})
    service.patch("n1", ("add", "/instance_info", IMAGE), ("add", "/driver_info/fast_track", True))
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power on"})
    service.work()
    return service


def test_an_agent_on_fast_track_is_used_at_once(fast: Service) -> None:
    """It is there before anything is to be done, and no machine is booted for it."""
    token = token_of(fast)
    changed = fast.node("n1")["driver_internal_info"]["last_power_state_change"]
    for verb, expected in (("manage", "manageable"), ("provide", "available"), ("manage", "manageable")):
        beat(fast, token)
        do(fast, verb)
        assert state(fast) == expected
    info = fast.node("n1")["driver_internal_info"]
    assert (info["agent_url"], info["agent_fast_track"]) == (URL, True)
    assert look_up(fast).json["config"]["agent_token"] == "******"
    do(fast, "provide")
    do(fast, "active")
    assert state(fast) == "wait call-back"
    assert fast.node("n1")["driver_internal_info"]["last_power_state_change"] == changed
    beat_until_done(fast, token)
    assert state(fast) == "active"
    # The machine runs the instance now.
    assert set(internal_info(fast)) == {"clean_steps", "deploy_steps", *VERSION}
    look_up(fast, status=404)


@pytest.mark.parametrize("why", ["off", "silent", "slow", "never", "not allowed"])
def test_a_machine_is_booted_if_no_agent_waits_there(fast: Service, why: str) -> None:
    uuid = fast.node("n1")["uuid"]
    token = token_of(fast)
    do(fast, "manage")
    if why != "never":
        beat(fast, token)
    if why == "off":
        fast.set_columns(uuid, power_state="power off")
    if why in ("silent", "slow"):
        info = fast.database.read(lambda session: nodes.find(session, uuid).driver_internal_info)
        late = {"agent_last_heartbeat": "2026-01-01T00:00:00.000001" if why == "slow" else None}
        fast.set_columns(uuid, driver_internal_info={**info, **late})
    if why == "not allowed":
        fast.patch("n1", ("add", "/driver_info/fast_track", "no"))
    do(fast, "provide")
    assert state(fast) == "clean wait"
    beat(fast, token, status=400)
    beat(fast, token_of(fast))
    assert state(fast) == "available"


def test_an_inspection_boots_the_agent_afresh_and_leaves_it(fast: Service) -> None:
    beat(fast, token_of(fast))
    do(fast, "manage")
    fast.patch("n1", ("add", "/inspect_interface", "agent"))
    do(fast, "inspect")
    assert state(fast) == "inspect wait"
    token = post(fast, {"inventory": FOUND}).json["config"]["agent_token"]
    fast.work()
    assert (state(fast), fast.node("n1")["power_state"]) == ("manageable", "power on")
    beat(fast, token)
    do(fast, "provide")
    assert state(fast) == "available"


def test_an_agent_that_has_reported_an_inspection_waits_there(fast: Service, row: Rows) -> None:
    """For a while, even if it has not sent a heartbeat yet: its first one is waited for."""
    for late in [False, True]:
        with row(late):
            fast.patch("n1", ("add", "/inspect_interface", "agent"))
            do(fast, "manage")
            do(fast, "inspect")
            post(fast, {"inventory": FOUND})
            fast.work()
            if late:
                info = {**fast.node("n1")["driver_internal_info"], "agent_last_heartbeat": "2026-01-01T00:00:00"}
                fast.set_columns(fast.node("n1")["uuid"], driver_internal_info=info)
            before = changed(fast)
            do(fast, "provide")
            assert state(fast) == "clean wait"
            assert (changed(fast) == before) is not late


def test_when_an_agent_was_heard_of_is_forgotten_with_it(service: Service, node: str) -> None:
    inspect(service)
    post(service, {"inventory": FOUND})
    assert internal_info(service)["agent_last_heartbeat"]
    service.work()
    assert internal_info(service) == {}


def test_fast_track_for_all(database_url: str) -> None:
    with Service(database_url, deploy={"fast_track": True}) as service:
        service.add_conductor("c1")
        uuid = service.add_node("n1", power=False)
        assert look_up(service, f"node_uuid={uuid}").json["node"]["uuid"] == uuid
        service.patch("n1", ("add", "/driver_info/fast_track", False))
        look_up(service, f"node_uuid={uuid}", status=404)
        service.patch("n1", ("add", "/driver_info/fast_track", "perhaps"))
        assert "perhaps" in fault(look_up(service, f"node_uuid={uuid}", status=400))
