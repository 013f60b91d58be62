"""A copy of the tables at a cursor, and all events after it, give the tables of now: after random operations."""

import os
import random
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from baremetal_sched.db.models import Allocation, Consumer, Hold, Node, NodeAllocation, ResourceProvider, WaitingRequest
from tests.numbered import number_all
from tests.service import Service

#: EVENT_OPERATIONS=3000 for a long run.
OPERATIONS = int(os.environ.get("EVENT_OPERATIONS", "120"))
FIELDS = (
    *("name", "description", "provision_state", "target_provision_state", "power_state", "target_power_state"),
    *("maintenance", "maintenance_reason", "fault", "owner", "lessee", "resource_class", "conductor_group"),
    *("instance_uuid", "allocation_uuid", "last_error", "retired", "protected"),
)
ANSWERS = "*"


class Copy:
    """Nodes by UUID, the consumers of each, holds, and the requests that wait."""

    def __init__(self, service: Service) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}
        self.holders: set[tuple[str, str]] = set()
        self.holds: dict[str, tuple[str, str | None, bool]] = {}
        self.allocations: dict[str, str] = {}
        self.waiting: set[str] = set()
        service.database.read(self._read)

    def _read(self, session: Any) -> None:
        for node in session.scalars(select(Node)):
            self.nodes[node.uuid] = {name: getattr(node, name) for name in FIELDS}
        holders = select(ResourceProvider.uuid, Consumer.uuid).join_from(Allocation, ResourceProvider).join(Consumer)
        self.holders = {tuple(row) for row in session.execute(holders.where(ResourceProvider.uuid.in_([*self.nodes])))}
        for hold, node in session.execute(select(Hold, Node.uuid).join(Node, Node.id == Hold.node_id)):
            self.holds[hold.uuid] = (node, hold.reason, hold.begun_at is not None)
        self.allocations = dict(session.execute(select(NodeAllocation.uuid, NodeAllocation.state)).all())
        self.waiting = set(session.scalars(select(WaitingRequest.uuid).where(WaitingRequest.state == "waiting")))

    def apply(self, event: dict[str, Any]) -> None:
        """Change the copy as the event says; what was before must be there."""
        kind, data, subject = event["type"], event["data"], event["subject"]
        if kind == "baremetal.node.create.end":
            self.nodes[subject] = dict.fromkeys(FIELDS) | dict.fromkeys(("retired", "protected"), False)
        if kind == "baremetal.node.delete.end":
            self._forget(subject)
        for name, change in data.get("changed", {}).items():
            if name in FIELDS:
                known = self.nodes[subject]
                assert (known[name] or None) == (change["before"] or None), (event, known)
                known[name] = change["after"]
        if "changed" in data and kind != "baremetal.node.update.end":
            assert data["provision_state"] == self.nodes[subject]["provision_state"], event
        if kind.startswith("scheduling.machine."):
            pair = (subject, data["consumer"]["uuid"])
            assert (pair in self.holders) == kind.endswith("released"), event
            self.holders ^= {pair}
        if kind.startswith("scheduling.hold."):
            hold = data["hold"]
            assert (hold["uuid"] in self.holds) != kind.endswith("asserted"), event
            self.holds[hold["uuid"]] = (subject, hold["reason"], hold["begun_at"] is not None)
            if kind.endswith("released"):
                del self.holds[hold["uuid"]]
        if kind.startswith("scheduling.claim."):
            (self.waiting.add if kind.endswith("waiting") else self.waiting.discard)(subject)
        if kind.startswith("baremetal.allocation."):
            self.allocations[subject] = data["allocation"]["state"]
            if kind.endswith("delete.end"):
                del self.allocations[subject]

    def _forget(self, node: str) -> None:
        gone = self.nodes.pop(node)
        self.holders = {pair for pair in self.holders if pair[0] != node}
        self.holds = {uuid: hold for uuid, hold in self.holds.items() if hold[0] != node}
        self.allocations.pop(gone["allocation_uuid"], None)

    def document(self) -> Any:
        """Return what is compared; texts that are empty are none."""
        nodes = {uuid: {name: value or None for name, value in node.items()} for uuid, node in self.nodes.items()}
        return nodes, self.holders, self.holds, self.allocations, self.waiting


class Operator:
    """Does things at random. Many are refused, and change nothing."""

    def __init__(self, service: Service, seed: int) -> None:
        self._service, self._random = service, random.Random(seed)
        self._nodes: list[str] = []
        self._consumers: list[str] = []
        self._holds: list[tuple[str, str]] = []

    def act(self) -> None:
        acts = [name for name in dir(self) if name.startswith("do_")]
        getattr(self, self._random.choice(acts))()

    def _uuid(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def _node(self) -> str:
        return self._random.choice(self._nodes or [self._uuid()])

    def do_enrol(self) -> None:
        if len(self._nodes) < 6:
            owner = self._random.choice((None, "anna"))
            self._nodes.append(self._service.add_node(f"n{len(self._nodes)}-{self._uuid()[:8]}", owner=owner))

    def do_change(self) -> None:
        field, value = self._random.choice(
            (("owner", "anna"), ("owner", "bert"), ("lessee", "carl"), ("description", self._uuid()), ("retired", True))
        )
        self._service.patch(self._node(), ("add", f"/{field}", value), status=ANSWERS)

    def do_remove_lessee(self) -> None:
        self._service.patch(self._node(), ("remove", "/lessee"), status=ANSWERS)

    def do_maintenance(self) -> None:
        method = self._random.choice(("PUT", "DELETE"))
        self._service.baremetal(method, f"/nodes/{self._node()}/maintenance", status=ANSWERS)

    def do_provision(self) -> None:
        target = self._random.choice(("manage", "provide", "provide", "clean", "active", "deleted", "inspect"))
        body: dict[str, Any] = {"target": target}
        self._service.baremetal("PUT", f"/nodes/{self._node()}/states/provision", body, status=ANSWERS)
        if self._random.random() < 0.8:
            self._service.work()

    def do_power(self) -> None:
        target = self._random.choice(("power on", "power off"))
        self._service.baremetal("PUT", f"/nodes/{self._node()}/states/power", {"target": target}, status=ANSWERS)
        self._service.work()

    def do_delete(self) -> None:
        if self._nodes and self._random.random() < 0.3:
            node = self._node()
            answer = self._service.baremetal("DELETE", f"/nodes/{node}", status=ANSWERS)
            if answer.status_int == 204:
                self._nodes.remove(node)

    def do_claim(self) -> None:
        self._consumers.append(self._uuid())
        self._service.claim(self._consumers[-1], self._node(), status=ANSWERS)

    def do_release(self) -> None:
        if self._consumers:
            consumer = self._random.choice(self._consumers)
            self._service.placement("DELETE", f"/allocations/{consumer}", status=ANSWERS)

    def do_wait(self) -> None:
        self._consumers.append(self._uuid())
        body = {"query": "resources=CUSTOM_GOLD:1", "wait": 600, "even_if_impossible": True}
        consumer = {"uuid": self._consumers[-1], "project_id": "anna", "user_id": "u"}
        self._service.http.post_json("/scheduling/v1/claims", {**body, "consumer": consumer}, status=ANSWERS)

    def do_withdraw(self) -> None:
        if self._consumers:
            path = f"/scheduling/v1/claims/{self._random.choice(self._consumers)}"
            self._service.http.delete(path, status=ANSWERS)

    def do_allocate(self) -> None:
        self._consumers.append(self._uuid())
        body = {"uuid": self._consumers[-1], "resource_class": "gold"}
        prefer = {"Prefer": "allocation-wait=600"} if self._random.random() < 0.5 else None
        self._service.baremetal("POST", "/allocations", body, status=ANSWERS, headers=prefer)

    def do_deallocate(self) -> None:
        if self._consumers:
            path = f"/allocations/{self._random.choice(self._consumers)}"
            self._service.baremetal("DELETE", path, status=ANSWERS)

    def do_hold(self) -> None:
        node, reason = self._node(), self._uuid()
        body: dict[str, Any] = {"type": self._random.choice(("window", "hardware_failure")), "reason": reason}
        if self._random.random() < 0.3:
            body["starts_at"] = "2050-01-01T00:00:00Z"
        answer = self._service.http.post_json(f"/scheduling/v1/nodes/{node}/holds", body, status=ANSWERS)
        if answer.status_int == 201:
            self._holds.append((node, answer.json["uuid"]))

    def do_change_hold(self) -> None:
        if self._holds:
            path = "/scheduling/v1/nodes/{}/holds/{}".format(*self._random.choice(self._holds))
            if self._random.random() < 0.5:
                self._service.http.patch_json(path, {"reason": self._uuid()}, status=ANSWERS)
            else:
                self._service.http.delete(path, status=ANSWERS)


@pytest.mark.parametrize("seed", range(2))
def test_a_copy_and_the_events_are_the_tables(service: Service, seed: int) -> None:
    operator = Operator(service, seed)
    path = "/scheduling/v1/events?after={}"
    cursor = service.http.get(path.format("now")).json["cursor"]
    copy, seen = Copy(service), set()
    for number in range(OPERATIONS):
        operator.act()
        if number % 10 and number != OPERATIONS - 1:
            continue
        number_all(service)
        events = [None]
        while events:
            answer = service.http.get(path.format(cursor)).json
            events, cursor = answer["events"], answer["cursor"]
            for event in events:
                copy.apply(event)
                seen.add(event["type"])
        assert copy.document() == Copy(service).document()
    assert len(seen) > 12, seen
