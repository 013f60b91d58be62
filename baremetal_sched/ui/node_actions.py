"""The actions that are possible with a node now, and the parts that it consists of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlalchemy import cast, func, literal, null, select, union_all
from sqlalchemy.orm import Session

from baremetal_sched import commands
from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.holds import rules
from baremetal_sched.commands import Command
from baremetal_sched.db.models import FirmwareComponent, Hold, Node, NodeInventory, Port, Server
from baremetal_sched.ui import uses
from baremetal_sched.ui.uses import Use

#: The number of ports and of components that a page names; the others are counted.
MOST_PARTS = 32

#: The labels of verbs that have another name in commands.
_LABELS = {"active": "deploy", "deleted": "undeploy"}


@dataclass(frozen=True)
class Proposal:
    """An action that the service accepts now: its label, its name in the table of actions, the item that it is about,
    and the command that does the same. ``hold``: the one that it releases; ``about``: why that was asserted."""

    label: str
    action: str
    item: str
    command: str
    hold: Hold | None = None
    about: str = ""


def possible(node: Node, holds: Sequence[Hold]) -> Iterator[Proposal]:
    """Yield what the service accepts in the node's state. ``holds``: those of the node that the caller may see.

    Each hold is released by itself: to end the maintenance releases all of them, and is proposed only if nobody
    asserted one. Nothing but holds and maintenance can be changed while a conductor works on the node.
    """
    handle = commands.called(node.name, node.uuid)

    def proposal(label: str, command: Command, action: str = "") -> Proposal:
        return Proposal(label, action or label, node.uuid, command.of(node=handle))

    yield proposal("hold", commands.ADD_HOLD)
    is_plain = rules.is_plain(holds)
    for hold in holds:
        if not (is_plain and rules.is_active(hold)):
            command = commands.RELEASE_HOLD.of(node=handle, hold=hold.uuid)
            item = f"{node.uuid}/{hold.uuid}"
            yield Proposal(f"release {hold.type}", "release", item, command, hold, hold.reason or "")
    if not node.maintenance:
        yield proposal("maintenance on", commands.SET_MAINTENANCE)
    elif is_plain:
        yield proposal("maintenance off", commands.UNSET_MAINTENANCE)
    if node.reservation is not None:
        return
    for verb in state_machine.verbs_of(node.provision_state):
        yield proposal(_LABELS.get(verb, verb), commands.PROVISION[verb], verb)
    if node.provision_state in state_machine.STABLE:
        for target, command in commands.POWER.items():
            if node.power_state != target:
                yield proposal(target, command)


@dataclass
class NodeParts:
    """The ports of a node (address and physical network), its firmware (component and version), and whether there is a
    hardware inventory. ``ports`` is None for a caller who may not list them. ``server_project``: the project of
    the compute API's server on the node, or None. ``uses``: who has the node in placement."""

    ports: list[tuple[str, str | None]] | None = None
    port_count: int = 0
    firmware: list[tuple[str, str | None]] = field(default_factory=list)
    has_inventory: bool = False
    server_project: str | None = None
    uses: list[Use] = field(default_factory=list)


def parts_of(session: Session, node: Node, *, with_ports: bool) -> NodeParts:
    """Return the parts of the node; one statement.

    SELECT 'port', address, physical_network, count(*) OVER (), NULL, … FROM ports … UNION ALL SELECT 'firmware', …
    UNION ALL … UNION ALL SELECT 'use', NULL, NULL, 0, <the columns of a use> FROM consumers …
    """
    ports = select(literal("port"), Port.address, Port.physical_network, func.count().over())
    firmware = select(literal("firmware"), FirmwareComponent.component, FirmwareComponent.current_version, literal(0))
    inventory = select(literal("inventory"), literal(""), null(), literal(0)).where(NodeInventory.node_id == node.id)
    server = select(literal("server"), Server.project_id, null(), literal(0)).where(Server.uuid == node.instance_uuid)
    selects = [
        ports.where(Port.node_id == node.id).order_by(Port.address).limit(MOST_PARTS).subquery(),
        firmware.where(FirmwareComponent.node_id == node.id).limit(MOST_PARTS).subquery(),
        inventory.subquery(),
        server.subquery(),
    ]
    no_use = [cast(null(), column.type).label(f"use_{place}") for place, column in enumerate(uses.COLUMNS)]
    used = uses.of_machine(node.uuid).limit(MOST_PARTS).subquery()
    rows = [select(each, *no_use) for each in selects]
    rows.append(select(literal("use"), null(), null(), literal(0), used))
    node_parts, found = NodeParts([] if with_ports else None), []
    for kind, name, detail, number, *use in session.execute(union_all(*rows)):
        if kind == "use":
            found.append(use)
        elif kind == "inventory":
            node_parts.has_inventory = True
        elif kind == "server":
            node_parts.server_project = name
        elif kind == "firmware":
            node_parts.firmware.append((name, detail))
        elif node_parts.ports is not None:
            node_parts.ports.append((name, detail))
            node_parts.port_count = number
    node_parts.firmware.sort()
    node_parts.uses = uses.uses_of(found)
    return node_parts
