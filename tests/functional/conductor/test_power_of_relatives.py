"""The power of children and parents: a child gets its power from its parent, unless it has a dedicated supply."""

import threading
from typing import Any

import pytest
from sqlalchemy import delete, select

from baremetal_sched.conductor import claiming, handlers
from baremetal_sched.db.models import Node, NodeWork
from baremetal_sched.drivers.fake.hardware import FakePower
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Machine
from tests.restored import Rows
from tests.service import Service
from tests.waiting import PATIENCE, wait_until

DEDICATED = {"has_dedicated_power_supply": True}


@pytest.fixture
def switched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Which machine was brought where, in order."""
    done: list[tuple[str, str]] = []
    really = FakePower.set_power_state

    def set_power_state(self: FakePower, machine: Machine, target: str, timeout: int | None = None) -> str:
        done.append((machine.uuid, target))
        return really(self, machine, target, timeout)

    monkeypatch.setattr(FakePower, "set_power_state", set_power_state)
    return done


def break_machine(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """From now on one machine cannot be switched."""
    really = FakePower.set_power_state

    def set_power_state(self: FakePower, machine: Machine, target: str, timeout: int | None = None) -> str:
        if machine.uuid == broken:
            raise InvalidValue(message="no answer")
        return really(self, machine, target, timeout)

    monkeypatch.setattr(FakePower, "set_power_state", set_power_state)


def add(service: Service, name: str, state: str | None, **fields: Any) -> str:
    uuid = service.add_node(name, power=False, **fields)
    service.set_columns(uuid, power_state=state)
    return uuid


def ask(service: Service, uuid: str, target: str, **options: Any) -> None:
    service.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": target, **options}, status=202)


def power(service: Service, uuid: str, target: str, **options: Any) -> None:
    """Ask for it, and let it be done."""
    ask(service, uuid, target, **options)
    service.work()


def power_states(service: Service, *uuids: str) -> list[str | None]:
    return [service.node(uuid)["power_state"] for uuid in uuids]


def require_free(service: Service, *uuids: str) -> None:
    """Nothing is left behind: no work, no reservation, no target."""
    assert service.database.read(lambda session: session.scalars(select(NodeWork.id)).all()) == []
    for uuid in uuids:
        node = service.node(uuid)
        assert (node["reservation"], node["target_power_state"]) == (None, None)


def test_the_parent_is_on_before_its_child(service: Service, switched: list[tuple[str, str]], row: Rows) -> None:
    for before in ["power off", None]:
        with row(before):
            switched.clear()
            grandparent = add(service, "g", before)
            parent = add(service, "p", before, parent_node=grandparent)
            child, sibling = (
                add(service, "c", before, parent_node=parent),
                add(service, "s", before, parent_node=parent),
            )
            service.set_columns(parent, last_error="long ago")
            power(service, child, "power on", timeout=7)
            assert switched == [(grandparent, "power on"), (parent, "power on"), (child, "power on")]
            assert power_states(service, grandparent, parent, child, sibling) == ["power on"] * 3 + [before]
            assert service.node(parent)["last_error"] is None
            assert service.node(parent)["driver_internal_info"]["last_power_state_change"]
            reserved = [service.inventory(uuid)["CUSTOM_GOLD"]["reserved"] for uuid in (grandparent, parent, child)]
            assert reserved == [0, 1, 1]  # children are not given out
            require_free(service, grandparent, parent, child, sibling)


def test_what_else_happens_to_a_child_leaves_its_parent_alone(
    service: Service, switched: list[tuple[str, str]], row: Rows
) -> None:
    for target in ["power off", "rebooting", "soft rebooting", "soft power off"]:
        with row(target):
            switched.clear()
            parent = add(service, "p", "power off")
            child = add(service, "c", "power on", parent_node=parent)
            power(service, child, target)
            assert switched == [(child, target)]
            require_free(service, parent, child)


def test_children_are_off_before_their_parent(service: Service, switched: list[tuple[str, str]]) -> None:
    parent = add(service, "p", "power on")
    child = add(service, "c", "power on", parent_node=parent)
    grandchild = add(service, "gc", "power on", parent_node=child)
    off = add(service, "off", "power off", parent_node=parent)
    unknown = add(service, "unknown", None, parent_node=parent)
    dedicated = add(service, "dedicated", "power on", parent_node=parent, driver_info=DEDICATED)
    power(service, parent, "power off")
    assert switched == [(uuid, "power off") for uuid in (grandchild, child, unknown, parent)]
    family = (parent, child, grandchild, off, unknown, dedicated)
    assert power_states(service, *family) == ["power off"] * 5 + ["power on"]
    require_free(service, *family)


def test_what_else_happens_to_a_parent_leaves_its_children_alone(
    service: Service, switched: list[tuple[str, str]], row: Rows
) -> None:
    for target in ["power on", "rebooting", "soft rebooting", "soft power off"]:
        with row(target):
            switched.clear()
            parent = add(service, "p", "power on")
            child = add(service, "c", "power on", parent_node=parent)
            power(service, parent, target)
            assert switched == [(parent, target)]
            require_free(service, parent, child)


def test_a_child_with_its_own_supply_needs_no_parent(service: Service, switched: list[tuple[str, str]]) -> None:
    parent = add(service, "p", "power off")
    child = add(service, "c", "power off", parent_node=parent, driver_info=DEDICATED)
    power(service, child, "power on")
    assert switched == [(child, "power on")]
    assert power_states(service, parent, child) == ["power off", "power on"]


def test_a_node_that_is_there_already_needs_nobody(service: Service, switched: list[tuple[str, str]]) -> None:
    parent = add(service, "p", "power off")
    child = add(service, "c", "power on", parent_node=parent)
    power(service, child, "power on")
    power(service, parent, "power off")
    assert power_states(service, parent, child) == ["power off", "power on"]


def test_a_relative_that_is_there_already_may_be_locked(service: Service) -> None:
    parent = add(service, "p", "power on")
    child = add(service, "c", "power off", parent_node=parent)
    service.set_columns(parent, reservation="other")
    power(service, child, "power on")
    assert power_states(service, child) == ["power on"]
    service.set_columns(parent, reservation=None)
    service.set_columns(child, power_state="power off", reservation="other")
    power(service, parent, "power off")
    assert power_states(service, parent) == ["power off"]
    assert service.node(child)["reservation"] == "other"


def test_a_locked_parent_keeps_its_child_off(service: Service, switched: list[tuple[str, str]]) -> None:
    parent = add(service, "p", "power off")
    child = add(service, "c", "power off", parent_node=parent)
    service.set_columns(parent, reservation="other")
    before = service.node(parent)
    power(service, child, "power on")
    assert switched == []
    error = service.node(child)["last_error"]
    assert error.startswith("Failed to change power state to 'power on' by 'power on': ")
    assert f"parent {parent} " in error
    assert service.node(parent) == before
    require_free(service, child)
    service.set_columns(parent, reservation=None)
    power(service, child, "power on")
    assert (service.node(child)["last_error"], service.node(child)["power_state"]) == (None, "power on")


def test_a_locked_child_keeps_the_whole_family_on(service: Service, switched: list[tuple[str, str]]) -> None:
    parent = add(service, "p", "power on")
    first = add(service, "c1", "power on", parent_node=parent)
    second = add(service, "c2", "power on", parent_node=parent)
    service.set_columns(second, reservation="other")
    power(service, parent, "power off")
    assert switched == []
    assert f"child {second} " in service.node(parent)["last_error"]
    assert power_states(service, parent, first, second) == ["power on"] * 3
    assert service.node(first)["last_error"] is None
    require_free(service, parent, first)
    assert service.node(second)["reservation"] == "other"


def test_a_child_that_must_not_be_off_keeps_its_parent_on(service: Service, switched: list[tuple[str, str]]) -> None:
    parent = add(service, "p", "power on")
    first = add(service, "c1", "power on", parent_node=parent)
    second = add(service, "c2", "power on", parent_node=parent)
    service.set_columns(second, disable_power_off=True)
    power(service, parent, "power off")
    assert switched == []
    assert "Failed to set node power state to power off." in service.node(parent)["last_error"]
    assert power_states(service, parent, first, second) == ["power on"] * 3
    require_free(service, parent, first, second)


def test_a_relative_that_fails_says_so_and_so_does_the_node(
    service: Service, monkeypatch: pytest.MonkeyPatch, row: Rows
) -> None:
    for target, before in [("power on", "power off"), ("power off", "power on")]:
        with row(target, before):
            parent = add(service, "p", before)
            child = add(service, "c", before, parent_node=parent)
            other = add(service, "o", before, parent_node=parent)
            asked, relative = (child, parent) if target == "power on" else (parent, child)
            break_machine(monkeypatch, relative)
            power(service, asked, target)
            for uuid in (asked, relative):
                node = service.node(uuid)
                assert node["last_error"] == f"Failed to change power state to '{target}' by '{target}': no answer"
                assert node["power_state"] == before
                (event,) = service.baremetal("GET", f"/nodes/{uuid}/history?detail=true").json["history"]
                assert (event["event_type"], event["event"]) == ("power", node["last_error"])
            assert (service.node(other)["last_error"], service.node(other)["power_state"]) == (None, before)
            require_free(service, parent, child, other)


def test_nodes_that_are_parents_of_each_other_wait_for_nothing(service: Service, row: Rows) -> None:
    for target in ["power on", "power off"]:
        with row(target):
            first = add(service, "n1", None)
            second = add(service, "n2", None, parent_node=first)
            service.patch(first, ("add", "/parent_node", second))
            power(service, first, target)
            assert power_states(service, first, second) == [None, None]
            assert "is locked" in service.node(first)["last_error"]
            require_free(service, first, second)


def test_a_parent_that_is_gone_cannot_be_on(service: Service) -> None:
    parent = add(service, "p", "power off")
    child = add(service, "c", "power off", parent_node=parent)
    service.database.write(lambda session: session.execute(delete(Node).where(Node.uuid == parent)))
    power(service, child, "power on")
    assert f"Node {parent} could not be found." in service.node(child)["last_error"]
    require_free(service, child)


def test_a_parent_of_another_conductor_is_switched_by_this_one(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is reserved for the one that acts, so whatever becomes of that one becomes of this reservation too."""
    seen: list[str | None] = []
    really = FakePower.set_power_state

    def set_power_state(self: FakePower, machine: Machine, target: str, timeout: int | None = None) -> str:
        seen.append(service.node(parent)["reservation"])
        return really(self, machine, target, timeout)

    monkeypatch.setattr(FakePower, "set_power_state", set_power_state)
    service.add_conductor("far", group="far")
    parent = add(service, "p", "power off")
    child = add(service, "c", "power off", parent_node=parent)
    service.patch(parent, ("add", "/conductor_group", "far"))
    power(service, child, "power on")
    assert seen == ["c1", None]
    assert power_states(service, parent, child) == ["power on", "power on"]
    require_free(service, parent, child)


def test_a_conductor_switches_no_driver_that_it_does_not_have(service: Service) -> None:
    service.add_conductor("far", group="far")
    parent = add(service, "p", "power off")
    child = add(service, "c", "power off", parent_node=parent)
    service.set_columns(parent, driver="strange", conductor_group="far")
    power(service, child, "power on")
    assert "Could not find the following driver(s) or hardware type(s): strange." in service.node(child)["last_error"]
    assert power_states(service, parent) == ["power off"]


def test_a_conductor_that_lost_its_work_leaves_the_relatives_as_they_are(
    service: Service, switched: list[tuple[str, str]]
) -> None:
    parent = add(service, "p", "power off")
    child = add(service, "c", "power off", parent_node=parent)
    ask(service, child, "power on")
    (item,) = claiming.take(service.database, service.app.settings, "c1", "this process")
    service.database.write(lambda session: session.execute(delete(NodeWork)))
    before = service.node(parent)
    handlers.do(item)
    assert switched == []
    assert service.node(parent) == before


def test_work_that_is_lost_before_the_parent_is_reserved(
    service: Service, switched: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def get_power_state(self: FakePower, machine: Machine) -> str | None:
        service.database.write(lambda session: session.execute(delete(NodeWork)))
        return machine.power_state

    monkeypatch.setattr(FakePower, "get_power_state", get_power_state)
    parent = add(service, "p", "power off")
    child = add(service, "c", "power off", parent_node=parent)
    before = service.node(parent)
    power(service, child, "power on")
    assert switched == []
    assert service.node(parent) == before


def test_work_that_is_lost_while_the_parent_is_switched(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child is not touched; the parent is on, for that is what the machine is, and free."""
    really = FakePower.set_power_state
    switched: list[str] = []

    def set_power_state(self: FakePower, machine: Machine, target: str, timeout: int | None = None) -> str:
        switched.append(machine.uuid)
        service.database.write(lambda session: session.execute(delete(NodeWork).where(NodeWork.id == item.id)))
        return really(self, machine, target, timeout)

    monkeypatch.setattr(FakePower, "set_power_state", set_power_state)
    parent = add(service, "p", "power off")
    child = add(service, "c", "power off", parent_node=parent)
    ask(service, child, "power on")
    (item,) = claiming.take(service.database, service.app.settings, "c1", "this process")
    handlers.do(item)
    assert switched == [parent]
    assert power_states(service, parent, child) == ["power on", "power off"]
    require_free(service, parent)


@pytest.mark.ci
def test_what_is_done_along_with_other_work_is_not_begun_twice(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it left to anybody when the conductor stops in the middle: then it has failed, as the work has."""
    go, switched = threading.Event(), []
    really = FakePower.set_power_state

    def set_power_state(self: FakePower, machine: Machine, target: str, timeout: int | None = None) -> str:
        switched.append(machine.uuid)
        go.wait(PATIENCE)
        return really(self, machine, target, timeout)

    monkeypatch.setattr(FakePower, "set_power_state", set_power_state)
    with Service(database_url, DEFAULT={"graceful_shutdown_timeout": 0.2}) as service:
        conductor = service.add_conductor("c1")
        parent = add(service, "p", "power off")
        child = add(service, "c", "power off", parent_node=parent)
        ask(service, child, "power on")
        conductor.work_once()
        wait_until(lambda: switched, "the parent's turn")
        assert len(conductor.work_once()) == 1
        conductor.finish()
        error = "Pending power operation was aborted because the conductor was stopped"
        for uuid in (parent, child):
            assert (service.node(uuid)["last_error"], service.node(uuid)["power_state"]) == (error, "power off")
        require_free(service, parent, child)
        before = service.node(parent), service.node(child)
        go.set()
        wait_until(lambda: conductor.is_idle, "the thread to end")
        assert switched == [parent]
        assert (service.node(parent), service.node(child)) == before


@pytest.mark.ci
def test_a_family_that_is_switched_at_once_ends_somehow(database_url: str) -> None:
    """Children on, and their parent off, by all the workers: no worker waits for ever, nothing stays locked."""
    with Service(database_url, fake={"power_delay": 0.02}) as service:
        service.add_conductor("c1")
        service.add_conductor("c2")
        parent = add(service, "p", "power on")
        children = [add(service, f"c{number}", "power off", parent_node=parent) for number in range(6)]
        for turn in range(4):
            for uuid in (parent, *children):
                ask(service, uuid, "power off" if (uuid == parent) == (turn % 2 == 0) else "power on")
            service.work()
            require_free(service, parent, *children)


def test_siblings_that_are_switched_on_at_once_wait_for_their_parent(database_url: str) -> None:
    conductor = {"node_locked_retry_attempts": 200, "node_locked_retry_interval": 0.01}
    with Service(database_url, fake={"power_delay": 0.02}, conductor=conductor) as service:
        service.add_conductor("c1")
        parent = add(service, "p", "power off")
        children = [add(service, f"c{number}", "power off", parent_node=parent) for number in range(4)]
        for uuid in children:
            ask(service, uuid, "power on")
        service.work()
        assert power_states(service, parent, *children) == ["power on"] * 5
        assert [service.node(uuid)["last_error"] for uuid in children] == [None] * 4
