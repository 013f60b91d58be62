"""A node's provider and all below it belong to one consumer at a time, and are withheld together."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import pytest
from sqlalchemy import update

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.models import Inventory, ResourceProvider
from baremetal_sched.placement import single_claim, stock
from baremetal_sched.placement.indivisible import Trees
from tests.races.waiting import LockWaits
from tests.restored import restored
from tests.service import Service
from tests.waiting import wait_until

A, B = (f"{digit * 8}-0000-4000-8000-000000000000" for digit in "ab")
CHILD = "resources=CUSTOM_FPGA:1"
NODE = "resources=CUSTOM_GOLD:1"


@pytest.fixture
def node(service: Service) -> str:
    service.placement("PUT", "/resource_classes/CUSTOM_FPGA")
    return service.add_node("n1")


@pytest.fixture
def child(service: Service, node: str) -> str:
    return add_child(service, node, "child")


def add_child(service: Service, parent: str, name: str, total: int = 4) -> str:
    body = {"name": name, "parent_provider_uuid": parent}
    uuid: str = service.placement("POST", "/resource_providers", body).json["uuid"]
    give(service, uuid, total)
    return uuid


def give(service: Service, uuid: str, total: int = 4) -> None:
    generation = service.placement("GET", f"/resource_providers/{uuid}").json["generation"]
    body = {"resource_provider_generation": generation, "inventories": {"CUSTOM_FPGA": {"total": total}}}
    service.placement("PUT", f"/resource_providers/{uuid}/inventories", body, status=200)


def write(service: Service, *consumers: tuple[str, dict[str, dict[str, int]], int | None], **expected: Any) -> Any:
    body = {
        consumer: {
            "allocations": {provider: {"resources": amounts} for provider, amounts in held.items()},
            "consumer_generation": generation,
            "project_id": "p",
            "user_id": "u",
            "consumer_type": "INSTANCE",
        }
        for consumer, held, generation in consumers
    }
    return service.placement("POST", "/allocations", body, **expected)


def offered(service: Service) -> tuple[bool, bool, bool]:
    """Whether the child, the node and both together are offered."""
    both = "resources1=CUSTOM_FPGA:1&resources2=CUSTOM_GOLD:1&group_policy=none"
    return tuple(bool(service.candidates(query)) for query in (CHILD, NODE, both))  # type: ignore[return-value]


def test_a_child_is_withheld_while_its_node_cannot_be_had(
    service: Service, node: str, child: str, subtests: pytest.Subtests
) -> None:
    for maintained in ["maintenance", "instance"]:
        with subtests.test(maintained=maintained), restored(service):
            assert offered(service) == (True, True, True)
            columns = {"maintenance": True} if maintained == "maintenance" else {"instance_uuid": B}
            service.set_columns(node, **columns)
            assert offered(service) == (False, False, False)
            assert service.inventory(child)["CUSTOM_FPGA"]["reserved"] == 0  # its writer's, as it was
            service.claim(A, child, "CUSTOM_FPGA", status=409)
            write(service, (A, {child: {"CUSTOM_FPGA": 1}}, None), status=409)
            assert service.database.read(audit) == []
            service.set_columns(node, maintenance=False, instance_uuid=None)
            assert offered(service) == (True, True, True)
            service.claim(A, child, "CUSTOM_FPGA", status=204)


def test_a_claimed_child_withholds_the_node(service: Service, node: str, child: str) -> None:
    service.claim(A, child, "CUSTOM_FPGA", status=204)
    assert offered(service) == (False, False, False)
    refused = service.claim(B, node, status=409)
    assert "one consumer at a time" in refused.json["errors"][0]["detail"]
    service.claim(B, child, "CUSTOM_FPGA", status=409)
    body = {"resource_class": "gold", "name": "mine"}
    service.baremetal("POST", "/allocations", body)
    assert service.baremetal("GET", "/allocations/mine").json["state"] == "error"
    assert service.database.read(audit) == []
    service.placement("DELETE", f"/allocations/{A}", status=204)
    assert offered(service) == (True, True, True)
    service.claim(B, node, status=204)
    assert offered(service) == (False, False, False)
    service.claim(A, child, "CUSTOM_FPGA", status=409)
    assert service.database.read(audit) == []


def test_the_holder_may_take_more_and_give_some_back(service: Service, node: str, child: str) -> None:
    other = add_child(service, child, "grandchild")
    service.claim(A, node, status=204)
    held = {node: {"CUSTOM_GOLD": 1}, child: {"CUSTOM_FPGA": 2}, other: {"CUSTOM_FPGA": 1}}
    write(service, (A, held, 1), status=204)
    # While the node is in use nothing of it is offered, but what its consumer holds stays its own.
    service.set_columns(node, maintenance=True)
    write(service, (A, held, 2), status=204)
    write(service, (A, {child: {"CUSTOM_FPGA": 1}}, 3), status=204)
    service.claim(B, node, status=409)
    service.placement("DELETE", f"/allocations/{A}", status=204)
    service.claim(B, child, "CUSTOM_FPGA", status=409)
    service.set_columns(node, maintenance=False)
    service.claim(B, other, "CUSTOM_FPGA", status=204)
    assert service.database.read(audit) == []


def test_a_tree_goes_from_one_consumer_to_another_as_a_whole(service: Service, node: str, child: str) -> None:
    both = {node: {"CUSTOM_GOLD": 1}, child: {"CUSTOM_FPGA": 1}}
    write(service, (A, {child: {"CUSTOM_FPGA": 1}}, None), (B, {node: {"CUSTOM_GOLD": 1}}, None), status=409)
    write(service, (A, both, None), status=204)
    write(service, (A, {child: {"CUSTOM_FPGA": 1}}, 1), (B, {node: {"CUSTOM_GOLD": 1}}, None), status=409)
    write(service, (A, {}, 1), (B, both, None), status=204)
    assert service.database.read(audit) == []
    service.claim(A, child, "CUSTOM_FPGA", status=409)


def test_children_come_and_go(service: Service, node: str) -> None:
    service.claim(A, node, status=204)
    child = add_child(service, node, "child")
    assert service.candidates(CHILD) == set()
    service.claim(B, child, "CUSTOM_FPGA", status=409)
    service.placement("DELETE", f"/allocations/{A}", status=204)
    assert service.candidates(CHILD) == {child}
    service.placement("DELETE", f"/resource_providers/{child}", status=204)
    assert service.database.read(audit) == []
    with service.statements() as statements:
        service.claim(B, node, status=204)
    assert len(statements) <= 5  # what a claim of a node without children takes, its event with it


def test_a_tree_is_moved_below_a_node_and_away_from_it(service: Service, node: str) -> None:
    other = service.placement("POST", "/resource_providers", {"name": "other"}).json["uuid"]
    child = add_child(service, other, "child")
    service.claim(A, child, "CUSTOM_FPGA", status=204)
    service.claim(B, node, status=204)

    def move(uuid: str, name: str, parent: str | None, status: int) -> None:
        body = {"name": name, "parent_provider_uuid": parent}
        service.placement("PUT", f"/resource_providers/{uuid}", body, status=status)

    move(other, "other", node, 409)
    assert service.placement("GET", f"/resource_providers/{child}").json["root_provider_uuid"] == other
    service.placement("DELETE", f"/allocations/{B}", status=204)
    move(other, "other", node, 200)
    assert service.database.read(audit) == []
    service.claim(B, node, status=409)
    move(other, "other", None, 200)
    assert service.database.read(audit) == []
    service.claim(B, node, status=204)
    assert service.candidates(CHILD) == {child}


def test_the_audit_finds_what_is_wrong_with_a_tree(service: Service, node: str, child: str) -> None:
    for table, values, found in (
        (ResourceProvider, {"holder": A}, "said to be held by"),
        (ResourceProvider, {"indivisible": False}, "indivisible"),
        (Inventory, {"withheld": 1}, "withheld"),
    ):
        before = {name: {"holder": None, "indivisible": True, "withheld": 0}[name] for name in values}
        service.database.write(lambda session, t=table, v=values: session.execute(update(t).values(**v)))
        assert any(found in line for line in service.database.read(audit))
        service.database.write(lambda session, t=table, v=before: session.execute(update(t).values(**v)))
    assert service.database.read(audit) == []


def test_one_of_many_gets_the_tree(service: Service, node: str) -> None:
    """Claims of the node and of its children at once, while there come to be children."""
    for round_ in range(5):
        consumers = [f"{round_:04}{number:04}-0000-4000-8000-000000000000" for number in range(6)]

        def claim(number: int, consumers: list[str] = consumers) -> int:
            if number % 2:
                return service.claim(consumers[number], node, status="*").status_int
            child = add_child(service, node, f"child of {consumers[number]}")
            return service.claim(consumers[number], child, "CUSTOM_FPGA", status="*").status_int

        with ThreadPoolExecutor(6) as threads:
            statuses = sorted(threads.map(claim, range(6)))
        assert statuses == [204, *[409] * 5]
        assert service.database.read(audit) == []
        for consumer in consumers:
            service.placement("DELETE", f"/allocations/{consumer}", status="*")
        assert offered(service)[:2] == (True, True)


#: What has something happen, in another transaction, when a claim or a release comes to a function of an owner. It may
#: must wait for a lock until the end of that; then both go on. What is returned waits for the end of what happens.
Arrange = Callable[[Any, str, Callable[[], object]], Callable[[], object]]


@pytest.fixture
def once_before(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Arrange]:
    if service.database.engine.dialect.name == "sqlite":
        pytest.skip("there is one transaction that writes at a time")
    with ThreadPoolExecutor(1) as threads, LockWaits(service.database_url) as waits:

        def arrange(owner: Any, name: str, action: Callable[[], object]) -> Callable[[], object]:
            original, left = getattr(owner, name), [action]
            happening: list[Future[object]] = []

            def interrupted(*arguments: Any, **named: Any) -> Any:
                if left:
                    happening.append(threads.submit(left.pop()))
                    wait_until(
                        lambda: wait(happening, 1).done or waits.count(), "the other, or a lock that it waits for"
                    )
                return original(*arguments, **named)

            monkeypatch.setattr(owner, name, interrupted)
            return lambda: happening[0].result()

        yield arrange


def re_parent(service: Service, child: str, parent: str) -> None:
    body = {"name": "child", "parent_provider_uuid": parent}
    service.placement("PUT", f"/resource_providers/{child}", body, status=200)


def test_a_child_that_is_claimed_while_it_moves_below_a_node_of_another(
    service: Service, node: str, child: str, once_before: Arrange
) -> None:
    other, third = service.add_node("n2"), service.add_node("n3")
    service.claim(B, other, status=204)
    finish = once_before(stock, "check", lambda: re_parent(service, child, other))
    write(service, (A, {child: {"CUSTOM_FPGA": 1}, third: {"CUSTOM_GOLD": 1}}, None), status=409)
    finish()
    assert service.database.read(audit) == []
    service.claim(A, node, status=204)


def test_a_child_that_is_given_back_while_it_moves(
    service: Service, node: str, child: str, once_before: Arrange
) -> None:
    other = service.add_node("n2")
    service.claim(A, child, "CUSTOM_FPGA", status=204)
    finish = once_before(Trees, "confirm", lambda: re_parent(service, child, other))
    service.placement("DELETE", f"/allocations/{A}", status=204)
    finish()
    assert service.database.read(audit) == []
    service.claim(B, other, status=204)


def test_a_node_that_is_given_back_while_it_gets_its_first_child(
    service: Service, child: str, once_before: Arrange, subtests: pytest.Subtests
) -> None:
    """The consumer that gives it back, or takes another instead, has seen no tree; the tree is free afterwards."""
    for leaves in [True, False]:
        with subtests.test(leaves=leaves), restored(service):
            lonely, other = service.add_node("lonely"), service.add_node("other")
            service.claim(A, lonely, status=204)
            first = {"name": "first", "parent_provider_uuid": lonely}
            add = partial(service.placement, "POST", "/resource_providers", first)
            in_one = leaves and service.database.engine.dialect.name == "postgresql"
            finish = once_before(single_claim, "release", add) if in_one else once_before(stock, "move", add)
            if leaves:
                service.placement("DELETE", f"/allocations/{A}", status=204)
            else:
                write(service, (A, {other: {"CUSTOM_GOLD": 1}}, 1), status=204)
            finish()
            assert service.database.read(audit) == []
            service.claim(B, lonely, status=204)


def test_a_part_that_is_given_back_while_it_moves(
    service: Service, node: str, child: str, once_before: Arrange
) -> None:
    other, third = service.add_node("n2"), service.add_node("n3")
    write(service, (A, {child: {"CUSTOM_FPGA": 1}, third: {"CUSTOM_GOLD": 1}}, None), status=204)
    finish = once_before(stock, "check", lambda: re_parent(service, child, other))
    write(service, (A, {third: {"CUSTOM_GOLD": 1}}, 1), status=204)
    finish()
    assert service.database.read(audit) == []
    service.claim(B, other, status=204)
