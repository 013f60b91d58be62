"""A copy of what events tell of: the tables at a cursor, and the events after it, must give the tables of now."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import aliased

from baremetal_sched.db.event_types import NODE_COLUMNS
from baremetal_sched.db.models import Allocation, Consumer, Hold, Node, NodeAllocation, ResourceProvider, WaitingRequest
from baremetal_sched.db.transaction import Database

FIELDS = (
    *("name", "description", "provision_state", "target_provision_state", "power_state", "target_power_state"),
    *("maintenance", "maintenance_reason", "fault", "owner", "lessee", "resource_class", "conductor_group"),
    *("instance_uuid", "allocation_uuid", "last_error", "retired", "protected"),
)

_ROOT = aliased(ResourceProvider)


class Copy:
    """Nodes by UUID, the consumers of each, holds, and the requests that wait."""

    def __init__(self, database: Database) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}
        #: The state of nodes in the newest event of each that has it.
        self._newest: dict[str, dict[str, Any]] = {}
        self.holders: set[tuple[str, str]] = set()
        self.holds: dict[str, tuple[str, str | None, bool]] = {}
        self.allocations: dict[str, str] = {}
        self.waiting: set[str] = set()
        database.read(self._read)

    def _read(self, session: Any) -> None:
        for node in session.scalars(select(Node)):
            self.nodes[node.uuid] = {name: getattr(node, name) for name in FIELDS}
        held = select(_ROOT.uuid, Consumer.uuid).join_from(Allocation, ResourceProvider).join(Consumer)
        held = held.join(_ROOT, _ROOT.id == ResourceProvider.root_id).where(_ROOT.uuid.in_(select(Node.uuid)))
        self.holders = {tuple(row) for row in session.execute(held)}
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
        elif "provision_state" in data:
            self._newest[subject] = {name: data[name] for name in NODE_COLUMNS}
        for name, change in data.get("changed", {}).items():
            if name in FIELDS:
                known = self.nodes[subject]
                assert (known[name] or None) == (change["before"] or None), (event, known)
                known[name] = change["after"]
                assert name not in NODE_COLUMNS or data[name] == change["after"], event
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
        self._newest.pop(node, None)
        assert node not in {held for held, _ in self.holders}, gone
        assert gone["allocation_uuid"] not in self.allocations, gone
        self.holds = {uuid: hold for uuid, hold in self.holds.items() if hold[0] != node}

    def document(self) -> Any:
        """Return what is compared; texts that are empty are none. The newest events must have the nodes' state."""
        for uuid, state in self._newest.items():
            for name in NODE_COLUMNS:
                assert (state[name] or None) == (self.nodes[uuid][name] or None), (uuid, name, state, self.nodes[uuid])
        nodes = {uuid: {name: value or None for name, value in node.items()} for uuid, node in self.nodes.items()}
        return nodes, self.holders, self.holds, self.allocations, self.waiting
