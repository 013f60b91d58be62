"""The steps of the demo: enroll, list, ask, claim, be refused, release. Each answer is compared with the fleet's
file."""

import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from baremetal_sched.cli.demo.client import DemoAnswer, DemoClient, DemoFailed, DemoMachine, Wish
from baremetal_sched.cli.demo.show import Show

#: Node fields that are compared with the fleet's file.
_SEEN = ("resource_class", "conductor_group", "maintenance", "maintenance_reason", "traits")

#: Seconds that the conductors may take for a step of all nodes; on a busy machine they take long.
_PATIENCE = 300

_GENERAL, _GPU, _STORAGE = "baremetal-general", "baremetal-gpu", "baremetal-storage"
_CUDA_7 = ("HW_GPU_CUDA_COMPUTE_CAPABILITY_V7_0", "HW_GPU_CUDA_COMPUTE_CAPABILITY_V7_2")

_QUESTIONS = (
    ("Any machine of a class, except those in maintenance", Wish(_GENERAL)),
    ("Required traits (AVX-512 and SR-IOV)", Wish(_GENERAL, required=("HW_CPU_X86_AVX512F", "HW_NIC_SRIOV"))),
    ("A forbidden trait (firmware of 2023)", Wish(_GENERAL, forbidden=("CUSTOM_FIRMWARE_2023",))),
    ("Any of some traits (an SSD or RDMA)", Wish(_STORAGE, any_of=("STORAGE_DISK_SSD", "HW_NIC_OFFLOAD_RDMA"))),
    (
        "All three (an SSD; not in rack A; AMD or SR-IOV)",
        Wish(_GENERAL, ("STORAGE_DISK_SSD",), ("CUSTOM_RACK_A",), ("HW_CPU_X86_SVM", "HW_NIC_SRIOV")),
    ),
    ("A trait that no machine of the class has (liquid cooling)", Wish(_STORAGE, required=("CUSTOM_LIQUID_COOLED",))),
)

#: The machine that is claimed in the end.
_CLAIM = ("A GPU machine with CUDA 7.0 or 7.2", Wish(_GPU, any_of=_CUDA_7))

_AGAIN = "The same question again,"

_BAD_TRAIT = "not-a-trait"
_DEAD_GROUP = "mars"


class Story:
    """The steps in order, with the service behind ``client``; ``conductors``: host names and conductor groups."""

    def __init__(
        self, client: DemoClient, machines: Sequence[DemoMachine], conductors: Mapping[str, str], show: Show
    ) -> None:
        self._client = client
        self._machines = machines
        self._conductors = conductors
        self._show = show
        #: By UUID.
        self._names: dict[str, str] = {}

    def tell(self) -> None:
        """Run all steps. Raises DemoFailed if they cannot continue."""
        self.enrol()
        self.owners()
        self.list_by_traits()
        self.ask()
        consumer, name = self.claim()
        self.refusals()
        self.release(consumer, name)

    def enrol(self) -> None:
        """Create nodes with traits, manage them, power them off, make them available, and put some into maintenance."""
        self._show.chapter("Enroll the fleet")
        self._show_fleet()
        with self._show.busy("Enrolling ..."):
            fleet = self._machines
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
        self._names = {node["uuid"]: node["name"] for node in nodes}
        found = {node["name"]: _seen(node) for node in nodes}
        expected = {machine.name: _expected(machine) for machine in fleet}
        different = {name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)}
        said = "GET /v1/nodes: every node has the class, conductor group, maintenance and traits of the file"
        self._show.check(said, not different, f"not so: {_listed(different)}")

    def owners(self) -> None:
        """Show which conductor owns which node."""
        self._show.chapter("Conductors, and the nodes that each owns")
        conductors = self._document("GET /v1/conductors", self._client.baremetal("GET", "/conductors"))["conductors"]
        nodes = self._nodes("name", "conductor_group", "conductor")
        self._show.table(
            ("Conductor", "Group", "Alive", "Owns"),
            [
                (
                    conductor["hostname"],
                    conductor["conductor_group"],
                    self._show.mark(conductor["alive"]),
                    _listed(node["name"] for node in nodes if node["conductor"] == conductor["hostname"]),
                )
                for conductor in sorted(conductors, key=lambda conductor: str(conductor["hostname"]))
            ],
        )
        alive = {conductor["hostname"]: conductor["conductor_group"] for conductor in conductors if conductor["alive"]}
        self._show.check(f"{len(self._conductors)} conductors are alive", alive == self._conductors, f"alive: {alive}")
        groups = {machine.name: machine.group for machine in self._machines}
        strays = [node["name"] for node in nodes if alive.get(node["conductor"]) != groups.get(node["name"])]
        said = "Every node is owned by a live conductor of its own conductor group"
        self._show.check(said, not strays and len(nodes) == len(groups), f"not so: {_listed(strays)}")

    def list_by_traits(self) -> None:
        """Filter the node list by traits, including nodes in maintenance."""
        self._show.chapter("The node list, filtered by traits")
        required, forbidden = {"HW_CPU_X86_VMX", "HW_NIC_SRIOV"}, {"CUSTOM_EDGE_SITE", "CUSTOM_FIRMWARE_2023"}
        query = {"fields": "name", "traits": ",".join(sorted(required)), "not-traits-any": ",".join(sorted(forbidden))}
        path = "/nodes?" + urlencode(query, safe=",")
        self._show.request("GET", f"/baremetal/v1{path}")
        nodes = self._document(path, self._client.baremetal("GET", path))["nodes"]
        expected = {m.name for m in self._machines if m.traits >= required and not m.traits & forbidden}
        found = [node["name"] for node in nodes]
        said = f"With both required and no forbidden traits: {_listed(expected)}"
        self._show.check(said, sorted(found) == sorted(expected), f"the service lists {_listed(found)}")

    def ask(self) -> None:
        """Ask placement for machines."""
        self._show.chapter("Ask placement for a machine")
        for text, wish in _QUESTIONS:
            self._ask(text, wish)

    def claim(self) -> tuple[str, str]:
        """Claim a machine; return the consumer and the machine's name."""
        self._show.chapter("Claim one")
        text, wish = _CLAIM
        candidates = self._ask(text, wish)
        if not candidates:
            raise DemoFailed("There is nothing to claim.")
        candidate = candidates[0]
        name = self._names_in(candidate)[0]
        consumer = str(uuid.uuid4())
        self._try(f"{name} is claimed", 204, "PUT", f"/allocations/{consumer}", _allocation(candidate))
        self._ask(f"{_AGAIN} {name} is gone", wish, claimed={name})
        second = f"/allocations/{uuid.uuid4()}"
        self._try(f"{name} is refused to a second consumer", 409, "PUT", second, _allocation(candidate))
        return consumer, name

    def refusals(self) -> None:
        """Send invalid requests: they are refused with a helpful message, and change nothing."""
        self._show.chapter("Two refusals")
        node = self._machines[0]
        path = f"/nodes/{node.name}/traits/{_BAD_TRAIT}"
        self._show.request("PUT", f"/baremetal/v1{path}")
        self._judge("An invalid trait", self._client.baremetal("PUT", path), 400, [_BAD_TRAIT])
        path = f"/nodes/{node.name}"
        patch = [{"op": "add", "path": "/conductor_group", "value": _DEAD_GROUP}]
        self._show.request("PATCH", f"/baremetal/v1{path}  conductor_group={_DEAD_GROUP}")
        words = sorted({_DEAD_GROUP, *self._conductors.values()})
        self._judge("A group without a conductor", self._client.baremetal("PATCH", path, patch), 400, words)
        after = _seen(self._document(f"GET {path}", self._client.baremetal("GET", path)))
        self._show.check(f"{node.name} is unchanged", after == _expected(node), f"it is {after}")

    def release(self, consumer: str, name: str) -> None:
        """Release the machine."""
        self._show.chapter("Release it")
        self._try(f"{name} is released", 204, "DELETE", f"/allocations/{consumer}")
        self._ask(f"{_AGAIN} {name} is back", _CLAIM[1])

    def _show_fleet(self) -> None:
        classes = sorted({machine.resource_class for machine in self._machines})
        rows: list[list[str]] = []
        for group in sorted({machine.group for machine in self._machines}):
            inside = [machine for machine in self._machines if machine.group == group]
            counts = [str(sum(machine.resource_class == name for machine in inside)) for name in classes]
            rows.append([group, *counts, _listed(machine.name for machine in inside if machine.maintenance)])
        self._show.table(("Group", *classes, "In maintenance"), rows)

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
            answer = self._client.baremetal(*request(machine))
            if answer.status != status:
                wrong.append(f"{machine.name}: {answer.status} {answer.message}")
        if not self._show.check(said.format(len(machines)), not wrong, "\n".join(wrong)):
            raise DemoFailed("The fleet could not be enrolled.")

    def _bring(self, kind: str, target: str, state: str) -> None:
        """Set a target for every machine, and wait for the conductors to reach it. Raises DemoFailed if they do not:
        placement does not offer nodes that are not available or whose power state is unknown."""
        said = f"PUT /v1/nodes/<node>/states/{kind}: {{}} nodes, target {target}"
        self._each(self._machines, said, 202, lambda machine: _put(machine, f"states/{kind}", target=target))
        until = time.monotonic() + _PATIENCE
        while (waiting := self._not_in(f"{kind}_state", state)) and time.monotonic() <= until:
            time.sleep(0.1)
        said = f"The conductors have finished: every node is {state}"
        if not self._show.check(said, not waiting, f"after {_PATIENCE} seconds not: {_listed(waiting)}"):
            raise DemoFailed(f"Nodes that are not {state} are not offered.")

    def _not_in(self, field: str, state: str) -> list[str]:
        nodes = self._nodes("name", field, "reservation")
        ready = {node["name"] for node in nodes if node[field] == state and not node["reservation"]}
        return [machine.name for machine in self._machines if machine.name not in ready]

    def _nodes(self, *fields: str) -> list[dict[str, Any]]:
        path = f"/nodes?fields={','.join(fields)}"
        nodes: list[dict[str, Any]] = self._document(path, self._client.baremetal("GET", path))["nodes"]
        return nodes

    def _ask(self, text: str, wish: Wish, claimed: Collection[str] = ()) -> list[dict[str, Any]]:
        """Ask for allocation candidates, compare them with the fleet, and return them."""
        path = f"/allocation_candidates?{wish.query}"
        if not text.startswith(_AGAIN):
            self._show.request("GET", f"/placement{path}")
        answer = self._document(path, self._client.placement("GET", path))
        candidates: list[dict[str, Any]] = answer["allocation_requests"]
        offered = [name for candidate in candidates for name in self._names_in(candidate)]
        expected = wish.answer(self._machines) - set(claimed)
        said = f"{text}: {_listed(expected)}"
        self._show.check(said, sorted(offered) == sorted(expected), f"the service offers {_listed(offered)}")
        return candidates

    def _names_in(self, candidate: Mapping[str, Any]) -> list[str]:
        return [self._names.get(provider, provider) for provider in candidate["allocations"]]

    def _try(self, text: str, status: int, method: str, path: str, body: Any = None) -> None:
        """Send a request to placement and check its status."""
        self._show.request(method, f"/placement{path}")
        self._judge(text, self._client.placement(method, path, body), status)

    def _judge(self, text: str, answer: DemoAnswer, status: int, words: Iterable[str] = ()) -> None:
        """Check the status, and the words that the error message must contain."""
        got = f"{answer.status} {answer.message}".rstrip()
        right = answer.status == status and all(word in answer.message for word in words)
        expected = f"{status}{' naming ' if words else ''}{', '.join(words)}"
        self._show.check(f"{text}: {got if right else expected}", right, got)

    def _document(self, what: str, answer: DemoAnswer) -> dict[str, Any]:
        if answer.status != 200 or not isinstance(answer.body, dict):
            raise DemoFailed(f"{what}: {answer.status} {answer.message}")
        return answer.body


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


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
