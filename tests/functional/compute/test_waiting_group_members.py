"""Servers of server groups that wait, or whose deployment fails: machines of a later moment meet the policy as well."""

from datetime import datetime
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select, update

from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.compute import server_group_places, server_groups
from baremetal_sched.db.models import Node, ResourceProvider, ServerGroup, WaitingRequest, table_of
from baremetal_sched.scheduling.audit import audit
from baremetal_sched.settings import Settings, load
from tests.functional.compute.grouped import Cloud, fleet, get, make, put, racks
from tests.functional.compute.test_servers import boot, show
from tests.functional.compute.test_waiting_servers import sweep
from tests.interleaving import just_before
from tests.service import Service

WAIT = {"wait": "600"}


def spare(service: Service, rack: str) -> str:
    """A node in the rack that is held back until ``free``."""
    node = service.add_node(maintenance=True)
    put(service, rack, node)
    return node


def free(service: Service, node: str) -> None:
    service.patch(node, ("replace", "/maintenance", False))


def where(service: Service, server: str) -> str | None:
    """The node of a server."""
    return {node["instance_uuid"]: node["uuid"] for node in service.baremetal("GET", "/nodes").json["nodes"]}.get(
        server
    )


def newest(cloud: Cloud, group: str) -> str:
    return str(get(cloud.service, group)["members"][-1])


@pytest.fixture
def waiting(cloud: Cloud) -> tuple[Cloud, str, str]:
    """A group with one member in the rack r1, where another machine is free; a second one waits. The group, and it."""
    group = make(cloud.service)
    fleet(cloud.service, r1=2)
    assert cloud.boots(group, 1) == ["BUILD"]
    return cloud, group, ask(cloud, group)


def ask(cloud: Cloud, group: str | None) -> str:
    """Boot a server that waits; return its UUID."""
    assert cloud.boot(group, hints=dict(WAIT), name="late") == "BUILD"
    servers = cloud.service.compute("GET", "/servers").json["servers"]
    return str(servers[0]["id"])


def test_only_a_machine_that_meets_the_policy_is_given(waiting: tuple[Cloud, str, str]) -> None:
    cloud, group, server = waiting
    service = cloud.service
    sweep(service)
    free(service, spare(service, "r1"))
    assert (where(service, server), show(service, server)["OS-EXT-STS:task_state"]) == (None, "scheduling")
    node = spare(service, "r2")
    free(service, node)
    assert where(service, server) == node
    assert racks(service, group) == {"r1": 1, "r2": 1}


def test_single_requests_behind_it_are_served_meanwhile(waiting: tuple[Cloud, str, str]) -> None:
    """Guide: the transaction that frees a machine passes servers of groups over."""
    cloud, _, server = waiting
    service = cloud.service
    assert cloud.boot(None) == "BUILD"  # nothing is free any more
    behind = ask(cloud, None)
    first, second = spare(service, "r2"), spare(service, "r2")
    free(service, first)
    assert (where(service, behind), where(service, server)) == (first, None)
    free(service, second)
    assert where(service, server) == second


def test_the_sweep_finds_what_no_transaction_frees(waiting: tuple[Cloud, str, str]) -> None:
    cloud, group, server = waiting
    service = cloud.service
    (member, _) = get(service, group)["members"]
    put(service, "r3", where(service, member) or "")  # r1 has room again
    assert where(service, server) is None
    sweep(service)
    assert where(service, server)
    assert racks(service, group) == {"r1": 1, "r3": 1}


def test_without_its_group_it_may_be_anywhere(waiting: tuple[Cloud, str, str]) -> None:
    cloud, group, server = waiting
    cloud.service.compute("DELETE", f"/os-server-groups/{group}", status=204)
    sweep(cloud.service)
    assert where(cloud.service, server)


def test_a_newcomer_does_not_overtake(waiting: tuple[Cloud, str, str]) -> None:
    cloud, group, server = waiting
    node = spare(cloud.service, "r2")
    cloud.service.set_columns(node, maintenance=False)
    assert cloud.boot(group) != "BUILD"
    assert where(cloud.service, server) == node


def test_the_reason_when_time_is_over(waiting: tuple[Cloud, str, str]) -> None:
    cloud, _, server = waiting

    def pass_time(session: Any) -> None:
        session.execute(update(WaitingRequest).values(deadline=1.0))

    cloud.service.database.write(pass_time)
    sweep(cloud.service)
    fault = show(cloud.service, server)["fault"]
    assert "2 are in a rack that has 1 server of the server group" in fault["details"]


def test_the_audit_knows_the_policy(waiting: tuple[Cloud, str, str]) -> None:
    cloud, group, _ = waiting
    service, settings = cloud.service, cloud.service.app.settings

    def age(session: Any) -> None:
        for table in map(table_of, (WaitingRequest, Node, ResourceProvider)):
            old = {name: datetime(2020, 1, 1) for name in ("created_at", "updated_at") if name in table.c}
            session.execute(update(table).values(old))

    service.database.write(age)
    assert service.database.snapshot(lambda session: audit(session, settings)) == []
    service.compute("DELETE", f"/os-server-groups/{group}", status=204)
    assert "and fits" in service.database.snapshot(lambda session: audit(session, settings))[0]


def test_a_group_that_is_not_locked_is_not_served(waiting: tuple[Cloud, str, str], monkeypatch: Any) -> None:
    cloud, _, server = waiting
    monkeypatch.setattr(server_groups, "lock_all", lambda *_: frozenset({"another"}))
    free(cloud.service, spare(cloud.service, "r2"))
    assert where(cloud.service, server) is None
    monkeypatch.undo()
    sweep(cloud.service)
    assert where(cloud.service, server)


def revisions(service: Service) -> dict[str, int]:
    """How often each group was locked."""
    columns = select(ServerGroup.uuid, ServerGroup.revision)
    return dict(map(tuple, service.database.read(lambda session: session.execute(columns).all())))


def test_a_release_locks_only_groups_that_may_have_the_machine(cloud: Cloud) -> None:
    """However many wait for its class, it takes no more statements."""
    service, numbers = cloud.service, []
    node = spare(service, "r1")
    for count in (1, 7):
        for group in [make(service) for _ in range(count)]:
            put(service, "r1", service.add_node())
            assert cloud.boot(group) == "BUILD"
            ask(cloud, group)
        before = revisions(service)
        with service.statements() as seen:
            free(service, node)
        assert revisions(service) == before
        numbers.append(len(seen))
        service.patch(node, ("replace", "/maintenance", True))
    assert numbers[0] == numbers[1]
    anywhere = make(service, "soft-affinity")
    server = ask(cloud, anywhere)
    before = revisions(service)
    free(service, node)
    assert where(service, server) == node
    assert revisions(service) == before | {anywhere: before[anywhere] + 1}


def test_the_queue_and_the_search_agree_on_groups(cloud: Cloud, subtests: pytest.Subtests) -> None:
    service = cloud.service
    inside = fleet(service, r1=6)["r1"]
    groups = {}
    for policy in ("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"):
        for members in (0, 1):
            groups[f"{policy}, {members} members"] = group = make(service, policy)
            assert cloud.boots(group, members) == ["BUILD"] * members
    groups["room for two"] = make(service, most=2)
    assert cloud.boot(groups["room for two"]) == "BUILD"
    groups["elsewhere"] = make(service, "affinity")
    put(service, "r2", service.add_node("n2"))
    (alone,) = set(inside) - {node["uuid"] for node in service.baremetal("GET", "/nodes?associated=true").json["nodes"]}
    service.set_columns(alone, maintenance=True)
    assert cloud.boot(groups["elsewhere"]) == "BUILD"
    service.set_columns(alone, maintenance=False)
    free = {"r1": alone, "r2": spare(service, "r2"), "no rack": service.add_node("n3")}
    service.set_columns(free["r2"], maintenance=False)
    service.compute("DELETE", f"/os-server-groups/{groups.setdefault('gone', make(service))}")
    for level in ("rack", "", "row"):
        settings = load(overrides={"compute": {"server_group_level": level}})
        for place, node in free.items():
            with subtests.test(level=level, place=place):
                look = partial(_fitting, settings=settings, node=node, groups=groups)
                admitted, fitting = service.database.read(look)
                assert admitted == fitting
                assert "gone" in fitting


def _fitting(session: Any, settings: Settings, node: str, groups: dict[str, str]) -> tuple[list[str], list[str]]:
    """The groups that may have a server on the node: as the queue has it, and as the search has it."""
    level = settings.compute.server_group_level
    admitted = server_group_places.admitting(session.connection(), level, node, groups.values())
    context = MachineContext(session, settings)
    fitting = []
    for name, group in groups.items():
        request = TreeRequest("resources=CUSTOM_GOLD:1", server_group=group, node=node)
        if server_group_places.narrowed(context, request).hosts(context, 1):
            fitting.append(name)
    return [name for name, group in groups.items() if group in admitted], fitting


def test_a_deployment_that_fails_goes_on_within_the_policy(cloud: Cloud, broken: set[str]) -> None:
    service = cloud.service
    nodes = fleet(service, r1=1, r2=2, r3=1)
    group = make(service, "affinity")
    broken |= {*nodes["r1"], *nodes["r3"]}
    cloud.boot(group)
    service.work()
    first = newest(cloud, group)
    assert (racks(service, group), show(service, first)["status"]) == ({"r2": 1}, "ACTIVE")
    broken |= set(nodes["r2"])
    cloud.boot(group)
    service.work()
    second = show(service, newest(cloud, group))
    assert (second["status"], racks(service, group)) == ("ERROR", {"r2": 1})
    assert "not in rack r2, where the server group is" in second["fault"]["message"]


def test_a_machine_that_is_moved_meanwhile_is_not_taken(cloud: Cloud) -> None:
    service = cloud.service
    fleet(service, r1=1, r2=1)
    group = make(service)
    cloud.boot(group)
    ((rack, _),) = racks(service, group).items()
    change = f"UPDATE domain_members SET domain_id = (SELECT id FROM domains WHERE name = '{rack}')"
    with just_before(service.database, "SELECT domains.id, domains.name \nFROM nodes", change) as seen:
        boot(service, cloud.flavor, cloud.image, hints={"group": group}, status=503)
    assert len(seen) > 1
    assert racks(service, group) == {rack: 1}
    assert cloud.boot(group) == "BUILD"
