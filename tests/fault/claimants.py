"""Clients that claim machines through both APIs, give them back, move them, and change and replace them meanwhile."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import requests

from tests.fault.caller import Answer, Caller
from tests.fault.claim_journal import Amounts, Record
from tests.fault.fleet import CLASSES, GROUPS, SLOT, Fleet, Machine, add_child
from tests.processes import Client

_CONSUMERS = 5
_CHILDREN = 2
#: Of machines these are offered, as ``GET /allocation_candidates`` says.
_WANTED = ("resources=CUSTOM_GOLD:1", "resources=CUSTOM_SILVER:1", f"resources={SLOT}:1")


@dataclass
class Claimant(Caller):
    """One client that claims."""

    fleet: Fleet
    #: How many there are: each keeps the maintenance of its share of the machines.
    of: int
    record: Record = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.record = Record(self.fleet.owners)
        self._children: list[str] = []
        #: What is asked for: a bare metal allocation, or a claim in placement, by consumer.
        self._free = [str(uuid4()) for _ in range(_CONSUMERS)]

    def act(self) -> None:
        operations: Mapping[Callable[[], None], int] = {
            self._claim: 6,
            self._claim_candidate: 4,
            self._allocate: 4,
            self._release: 7,
            self._move: 3,
            self._write: 4,
            self._change: 2,
            self._maintain: 2,
            self._replace: 1,
            self._hang: 2,
            self._clear: 1,
        }
        self._dice.choices([*operations], [*operations.values()])[0]()

    def check(self, client: Client) -> list[str]:
        """Confirmed claims that are missing in the end."""
        lost = []
        for uuid, written in self.record.confirmed.items():
            node = client.baremetal("GET", f"/nodes/{uuid}")
            if node.status_code == 404 and uuid in self.removed_by_anyone:
                continue
            found = node.json().get("extra", {}).get(self._key) if node.status_code == 200 else node.status_code
            if found not in range(written, self.record.tried[uuid] + 1):
                lost.append(f"node {uuid}: {self._key} {written} was confirmed, {found} is there")
        for uuid, expected in self.record.allocations.items():
            found = client.baremetal("GET", f"/allocations/{uuid}").json().get("node_uuid")
            if found != expected and expected not in self.removed_by_anyone:
                lost.append(f"allocation {uuid} of node {expected} was confirmed, {found} is there")
        return lost

    #: Nodes whose removal was tried by any client; set before ``check``.
    removed_by_anyone: frozenset[str] = frozenset()

    @property
    def _key(self) -> str:
        return f"serial{self.number}"

    # -- claims -------------------------------------------------------------------------------------------------------

    def _claim(self) -> None:
        """A machine, or a part of it, or both."""
        machine = self._machine()
        parts = self._dice.sample(machine.parts, self._dice.randint(1, len(machine.parts)))
        amounts: dict[str, Mapping[str, int]] = {
            uuid: {f"CUSTOM_{self._dice.choice((*CLASSES, CLASSES[0])).upper()}": 1}
            if uuid == machine.uuid
            else {SLOT: 1}
            for uuid in parts
        }
        if self._children and self._dice.random() < 0.3:
            amounts[self._dice.choice(self._children)] = {SLOT: self._dice.randint(1, 2)}
        self._put(amounts)

    def _claim_candidate(self) -> None:
        """The offered machines."""
        query = self._dice.choice(_WANTED)
        found = self._call("search", self._client.placement, "GET", f"/allocation_candidates?limit=5&{query}")
        if found.is_done and found.body["allocation_requests"]:
            chosen = self._dice.choice(found.body["allocation_requests"])["allocations"]
            self._put({uuid: part["resources"] for uuid, part in chosen.items()})

    def _put(self, amounts: Amounts) -> None:
        if not self._free:
            return
        consumer = self._free.pop()
        body = holding(amounts, None)
        answer = self._call("claim", self._client.placement, "PUT", f"/allocations/{consumer}", body)
        self._settle(answer, {consumer: amounts})

    def _allocate(self) -> None:
        if not self._free:
            return
        consumer = self._free.pop()
        body = {"uuid": consumer, "resource_class": self._dice.choice(CLASSES)}
        answer = self._call("allocate", self._client.baremetal, "POST", "/allocations", body)
        if answer.is_done:
            # What became of it is said to who asks again; it was answered then.
            found = self._call("look", self._client.baremetal, "GET", f"/allocations/{consumer}")
            answer = replace(found, sent=answer.sent)
        node = answer.body["node_uuid"] if answer.is_done else None
        if node:
            self.record.allocations[consumer] = node
            self._settle(answer, {consumer: {node: {f"CUSTOM_{body['resource_class'].upper()}": 1}}})
            return
        self._settle(answer, {consumer: {}})
        if answer.is_done:  # it has failed, and stays so
            self._call("deallocate", self._client.baremetal, "DELETE", f"/allocations/{consumer}")
            self._free.remove(consumer)
            self._free.append(str(uuid4()))

    def _release(self) -> None:
        consumer = self._holder()
        if consumer is None:
            return
        if consumer in self.record.allocations:
            answer = self._call("deallocate", self._client.baremetal, "DELETE", f"/allocations/{consumer}")
            if answer.is_done or answer.status == 404:
                self.record.allocations.pop(consumer)
        else:
            answer = self._call("release", self._client.placement, "DELETE", f"/allocations/{consumer}")
        self._settle(answer, {consumer: {}})

    def _move(self) -> None:
        """Move the allocations of one consumer to another."""
        source = self._holder()
        if source is None or source in self.record.allocations or not self._free:
            return
        found = self._call("look", self._client.placement, "GET", f"/allocations/{source}")
        if not found.is_done or not found.body["allocations"]:
            return
        target, amounts = self._free.pop(), self.record.held[source]
        body = {
            source: holding({}, found.body["consumer_generation"]),
            target: holding(amounts, None),
        }
        answer = self._call("move", self._client.placement, "POST", "/allocations", body)
        self._settle(answer, {source: {}, target: amounts})

    def _settle(self, answer: Answer, changes: Mapping[str, Amounts]) -> None:
        if answer.is_done:
            self.record.holds_now(answer.sent, answer.answered, changes)
        elif answer.is_unknown:
            self.record.unknown(answer.sent, *changes)
            self._free += [str(uuid4()) for _ in changes]
            self._free = self._free[:_CONSUMERS]
            return
        elif answer.status == 404 and changes.keys() <= self.record.held.keys():
            for consumer in changes:
                self.record.not_found(answer.sent, consumer)
                self._free.append(str(uuid4()))
            return
        self._free += [each for each in changes if not self.record.held.get(each) and each not in self._free]

    def _clear(self) -> None:
        """The machines that may have been given to a consumer that was given up."""
        if self.record.given_up:
            consumer = self._dice.choice(self.record.given_up)
            # An allocation that loses its claim in placement first would be a finding of the audit.
            if self._call("clear", self._client.baremetal, "DELETE", f"/allocations/{consumer}").status == 404:
                self._call("clear", self._client.placement, "DELETE", f"/allocations/{consumer}")

    # -- machines -----------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        """A number of this client's own, on a node that others write too."""
        uuid = self._machine().uuid
        self.record.tried[uuid] = serial = self.record.tried.get(uuid, 0) + 1
        answer = self._patch(uuid, {f"extra/{self._key}": serial})
        if answer.is_done:
            self.record.confirmed[uuid] = serial
            self.record.acknowledged += 1

    def _change(self) -> None:
        """The node, and where it is served."""
        uuid = self._machine().uuid
        kind = self._dice.random()
        if kind < 0.4:
            self._patch(uuid, {"conductor_group": self._dice.choice([*GROUPS.values()])})
        elif kind < 0.7:
            self._patch(uuid, {"resource_class": self._dice.choice(CLASSES)})
        else:
            traits = self._dice.sample(["CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"], self._dice.randint(0, 3))
            self._call("traits", self._client.baremetal, "PUT", f"/nodes/{uuid}/traits", {"traits": traits})

    def _patch(self, uuid: str, values: Mapping[str, Any]) -> Answer:
        patch = [{"op": "add", "path": f"/{path}", "value": value} for path, value in values.items()]
        return self._call("patch", self._client.baremetal, "PATCH", f"/nodes/{uuid}", patch)

    def _maintain(self) -> None:
        """Maintenance of a machine that is this client's to keep: not for long."""
        uuid = self._dice.choice(self.fleet.machines[self.number :: self.of]).uuid
        for method in ("PUT", "DELETE"):
            answer = self._call("maintenance", self._client.baremetal, method, f"/nodes/{uuid}/maintenance")
            known = answer.answered if answer.is_done else None
            if answer.is_done or answer.is_unknown:
                self.record.maintained(uuid, answer.sent, known, wanted=method == "PUT")
            time.sleep(self._dice.uniform(0, 0.2))

    def _replace(self) -> None:
        """A node is removed, and another put in its place."""
        machine = self._dice.choice(self.fleet.machines[self.number :: self.of])
        answer = self._call("remove", self._client.baremetal, "DELETE", f"/nodes/{machine.uuid}")
        if answer.is_done or answer.is_unknown:
            self.record.removing(machine.uuid, answer.sent, answer.is_done)
        gone = machine.uuid in self.record.removals and answer.status == 404
        if answer.is_done or gone:
            self._try(lambda: self.fleet.replace(self._client, machine))

    def _hang(self) -> None:
        """A provider of this client's own, below any machine: it comes, moves to another one, and goes."""
        if len(self._children) < _CHILDREN:
            uuid = str(uuid4())
            if self._try(lambda: add_child(self._client, uuid, self._machine().uuid)):
                self._children.append(uuid)
            return
        uuid = self._dice.choice(self._children)
        if self._dice.random() < 0.6:
            body = {"name": uuid, "parent_provider_uuid": self._machine().uuid}
            self._call("re-parent", self._client.placement, "PUT", f"/resource_providers/{uuid}", body)
        else:
            answer = self._call("cut off", self._client.placement, "DELETE", f"/resource_providers/{uuid}")
            if answer.is_done or answer.status == 404:
                self._children.remove(uuid)

    # -- and how ------------------------------------------------------------------------------------------------------

    def _machine(self) -> Machine:
        return self._dice.choice(self.fleet.machines)

    def _holder(self) -> str | None:
        holders = [consumer for consumer, amounts in self.record.held.items() if amounts]
        return self._dice.choice(holders) if holders else None

    def _try(self, action: Callable[[], bool]) -> bool:
        try:
            return action()
        except requests.RequestException:
            self._has_failed = True
            return False


def holding(amounts: Amounts, generation: int | None) -> dict[str, Any]:
    """The allocations of a consumer, as placement wants them; ``generation`` is None if it holds nothing yet."""
    return {
        "allocations": {uuid: {"resources": resources} for uuid, resources in amounts.items()},
        "consumer_generation": generation,
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
    }
