"""The steps of the demo: enroll, list, ask, claim, be refused, release; then those of ``scheduling.py``. Each answer is
compared with the fleet's file."""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from baremetal_sched.cli.demo.asking import AGAIN, CUDA_7, GENERAL, GPU, STORAGE, Asking, listed
from baremetal_sched.cli.demo.client import DemoClient, DemoFailed, DemoMachine, Wish
from baremetal_sched.cli.demo.scheduling import Scheduling
from baremetal_sched.cli.demo.show import Show

#: Node fields that are compared with the fleet's file.
_SEEN = ("resource_class", "conductor_group", "maintenance", "maintenance_reason", "traits")

#: Seconds that the conductors may take for a step of all nodes; on a busy machine they take long.
_PATIENCE = 300

_QUESTIONS = (
    ("Any machine of a class, except those in maintenance", Wish(GENERAL)),
    ("Required traits (AVX-512 and SR-IOV)", Wish(GENERAL, required=("HW_CPU_X86_AVX512F", "HW_NIC_SRIOV"))),
    ("A forbidden trait (firmware of 2023)", Wish(GENERAL, forbidden=("CUSTOM_FIRMWARE_2023",))),
    ("Any of some traits (an SSD or RDMA)", Wish(STORAGE, any_of=("STORAGE_DISK_SSD", "HW_NIC_OFFLOAD_RDMA"))),
    (
        "All three (an SSD; not in rack A; AMD or SR-IOV)",
        Wish(GENERAL, ("STORAGE_DISK_SSD",), ("CUSTOM_RACK_A",), ("HW_CPU_X86_SVM", "HW_NIC_SRIOV")),
    ),
    ("A trait that no machine of the class has (liquid cooling)", Wish(STORAGE, required=("CUSTOM_LIQUID_COOLED",))),
)

#: The machine that is claimed in the end.
_CLAIM = ("A GPU machine with CUDA 7.0 or 7.2", Wish(GPU, any_of=CUDA_7))

_BAD_TRAIT = "not-a-trait"
_DEAD_GROUP = "mars"


class Story(Asking):
    """The steps in order; ``conductors``: host names and conductor groups."""

    def __init__(
        self, client: DemoClient, machines: Sequence[DemoMachine], conductors: Mapping[str, str], show: Show
    ) -> None:
        super().__init__(client, machines, show, {})
        self._conductors = conductors

    def tell(self) -> None:
        """Run all steps. Raises DemoFailed if they cannot continue."""
        self.enrol()
        self.owners()
        self.list_by_traits()
        self.ask()
        consumer, name = self.claim()
        self.refusals()
        self.release(consumer, name)
        Scheduling(self.client, self.machines, self.show, self.names).tell()

    def enrol(self) -> None:
        """Create nodes with traits, manage them, power them off, make them available, and put some into maintenance."""
        self.show.chapter("Enroll the fleet")
        self._show_fleet()
        with self.show.busy("Enrolling ..."):
            fleet = self.machines
            broken = [machine for machine in fleet if machine.maintenance]
            said = "POST /v1/nodes: {} nodes, with class and conductor group"
            self._each(fleet, said, 201, lambda machine: ("POST", "/nodes", machine.fields))
            said = "PUT /v1/nodes/<node>/traits: the traits of {} nodes"
            self._each(fleet, said, 204, lambda machine: _put(machine, "traits", traits=sorted(machine.traits)))
            self._bring("provision", "manage", "manageable")
            self._bring("power", "power off", "power off")
            self._bring("provision", "provide", "available")
            said = "PUT /v1/nodes/<node>/maintenance: {} nodes, with reasons"
            self._each(broken, said, 202, lambda machine: _put(machine, "maintenance", reason=machine.maintenance))
        nodes = self._nodes("uuid", "name", *_SEEN)
        self.names = {node["uuid"]: node["name"] for node in nodes}
        found = {node["name"]: _seen(node) for node in nodes}
        expected = {machine.name: _expected(machine) for machine in fleet}
        different = {name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)}
        said = "GET /v1/nodes: every node has the class, conductor group, maintenance and traits of the file"
        self.show.check(said, not different, f"not so: {listed(different)}")

    def owners(self) -> None:
        """Show which conductor owns which node."""
        self.show.chapter("Conductors, and the nodes that each owns")
        conductors = self.document("GET /v1/conductors", self.client.baremetal("GET", "/conductors"))["conductors"]
        nodes = self._nodes("name", "conductor_group", "conductor")
        self.show.table(
            ("Conductor", "Group", "Alive", "Owns"),
            [
                (
                    conductor["hostname"],
                    conductor["conductor_group"],
                    self.show.mark(conductor["alive"]),
                    listed(node["name"] for node in nodes if node["conductor"] == conductor["hostname"]),
                )
                for conductor in sorted(conductors, key=lambda conductor: str(conductor["hostname"]))
            ],
        )
        alive = {conductor["hostname"]: conductor["conductor_group"] for conductor in conductors if conductor["alive"]}
        self.show.check(f"{len(self._conductors)} conductors are alive", alive == self._conductors, f"alive: {alive}")
        groups = {machine.name: machine.group for machine in self.machines}
        strays = [node["name"] for node in nodes if alive.get(node["conductor"]) != groups.get(node["name"])]
        said = "Every node is owned by a live conductor of its own conductor group"
        self.show.check(said, not strays and len(nodes) == len(groups), f"not so: {listed(strays)}")

    def list_by_traits(self) -> None:
        """Filter the node list by traits, including nodes in maintenance."""
        self.show.chapter("The node list, filtered by traits")
        required, forbidden = {"HW_CPU_X86_VMX", "HW_NIC_SRIOV"}, {"CUSTOM_EDGE_SITE", "CUSTOM_FIRMWARE_2023"}
        query = {"fields": "name", "traits": ",".join(sorted(required)), "not-traits-any": ",".join(sorted(forbidden))}
        path = "/nodes?" + urlencode(query, safe=",")
        self.show.request("GET", f"/baremetal/v1{path}")
        nodes = self.document(path, self.client.baremetal("GET", path))["nodes"]
        expected = {m.name for m in self.machines if m.traits >= required and not m.traits & forbidden}
        found = [node["name"] for node in nodes]
        said = f"With both required and no forbidden traits: {listed(expected)}"
        self.show.check(said, sorted(found) == sorted(expected), f"the service lists {listed(found)}")

    def ask(self) -> None:
        """Ask placement for machines."""
        self.show.chapter("Ask placement for a machine")
        for text, wish in _QUESTIONS:
            self.offers(text, wish)

    def claim(self) -> tuple[str, str]:
        """Claim a machine; return the consumer and the machine's name."""
        self.show.chapter("Claim one")
        text, wish = _CLAIM
        candidates = self.offers(text, wish)
        if not candidates:
            raise DemoFailed("There is nothing to claim.")
        candidate = candidates[0]
        name = self.names_in(candidate)[0]
        consumer = str(uuid.uuid4())
        self.try_(f"{name} is claimed", 204, "PUT", f"/allocations/{consumer}", _allocation(candidate))
        self.offers(f"{AGAIN} {name} is gone", wish, claimed={name})
        second = f"/allocations/{uuid.uuid4()}"
        self.try_(f"{name} is refused to a second consumer", 409, "PUT", second, _allocation(candidate))
        return consumer, name

    def refusals(self) -> None:
        """Send invalid requests: they are refused with a helpful message, and change nothing."""
        self.show.chapter("Two refusals")
        node = self.machines[0]
        path = f"/nodes/{node.name}/traits/{_BAD_TRAIT}"
        self.show.request("PUT", f"/baremetal/v1{path}")
        self.judge("An invalid trait", self.client.baremetal("PUT", path), 400, [_BAD_TRAIT])
        path = f"/nodes/{node.name}"
        patch = [{"op": "add", "path": "/conductor_group", "value": _DEAD_GROUP}]
        self.show.request("PATCH", f"/baremetal/v1{path}  conductor_group={_DEAD_GROUP}")
        words = sorted({_DEAD_GROUP, *self._conductors.values()})
        self.judge("A group without a conductor", self.client.baremetal("PATCH", path, patch), 400, words)
        after = _seen(self.document(f"GET {path}", self.client.baremetal("GET", path)))
        self.show.check(f"{node.name} is unchanged", after == _expected(node), f"it is {after}")

    def release(self, consumer: str, name: str) -> None:
        """Release the machine."""
        self.show.chapter("Release it")
        self.try_(f"{name} is released", 204, "DELETE", f"/allocations/{consumer}")
        self.offers(f"{AGAIN} {name} is back", _CLAIM[1])

    def _show_fleet(self) -> None:
        classes = sorted({machine.resource_class for machine in self.machines})
        rows: list[list[str]] = []
        for group in sorted({machine.group for machine in self.machines}):
            inside = [machine for machine in self.machines if machine.group == group]
            counts = [str(sum(machine.resource_class == name for machine in inside)) for name in classes]
            rows.append([group, *counts, listed(machine.name for machine in inside if machine.maintenance)])
        self.show.table(("Group", *classes, "In maintenance"), rows)

    def _each(
        self,
        machines: Sequence[DemoMachine],
        said: str,
        status: int,
        request: Callable[[DemoMachine], tuple[str, str, Any]],
    ) -> None:
        """Send a request (method, path and body) for every machine. Raises DemoFailed if one fails, as the following
        steps depend on all of them."""
        wrong = []
        for machine in machines:
            answer = self.client.baremetal(*request(machine))
            if answer.status != status:
                wrong.append(f"{machine.name}: {answer.status} {answer.message}")
        if not self.show.check(said.format(len(machines)), not wrong, "\n".join(wrong)):
            raise DemoFailed("The fleet could not be enrolled.")

    def _bring(self, kind: str, target: str, state: str) -> None:
        """Set a target for every machine, and wait for the conductors to reach it. Raises DemoFailed if they do not:
        placement does not offer nodes that are not available or whose power state is unknown."""
        said = f"PUT /v1/nodes/<node>/states/{kind}: {{}} nodes, target {target}"
        self._each(self.machines, said, 202, lambda machine: _put(machine, f"states/{kind}", target=target))
        until = time.monotonic() + _PATIENCE
        while (waiting := self._not_in(f"{kind}_state", state)) and time.monotonic() <= until:
            time.sleep(0.1)
        said = f"The conductors have finished: every node is {state}"
        if not self.show.check(said, not waiting, f"after {_PATIENCE} seconds not: {listed(waiting)}"):
            raise DemoFailed(f"Nodes that are not {state} are not offered.")

    def _not_in(self, field: str, state: str) -> list[str]:
        nodes = self._nodes("name", field, "reservation")
        ready = {node["name"] for node in nodes if node[field] == state and not node["reservation"]}
        return [machine.name for machine in self.machines if machine.name not in ready]

    def _nodes(self, *fields: str) -> list[dict[str, Any]]:
        path = f"/nodes?fields={','.join(fields)}"
        nodes: list[dict[str, Any]] = self.document(path, self.client.baremetal("GET", path))["nodes"]
        return nodes


def _put(machine: DemoMachine, what: str, **body: Any) -> tuple[str, str, Any]:
    """Return a request that sets something of a node."""
    return "PUT", f"/nodes/{machine.name}/{what}", body


def _allocation(candidate: Mapping[str, Any]) -> dict[str, Any]:
    """Return an allocation of the candidate for a new consumer."""
    consumer = {"project_id": "demo", "user_id": "demo", "consumer_type": "INSTANCE", "consumer_generation": None}
    return {"allocations": candidate["allocations"], "mappings": candidate["mappings"], **consumer}


def _expected(machine: DemoMachine) -> dict[str, Any]:
    return {
        "resource_class": machine.resource_class,
        "conductor_group": machine.group,
        "maintenance": machine.maintenance is not None,
        "maintenance_reason": machine.maintenance,
        "traits": sorted(machine.traits),
    }


def _seen(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the compared fields of a node as the service shows it."""
    return {name: sorted(node[name]) if name == "traits" else node[name] for name in _SEEN}
