"""The actions that are possible with a node now, as commands to copy, and the parts that it consists of."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlalchemy import func, literal, null, select, union_all
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import state_machine
from baremetal_sched.db.models import FirmwareComponent, Node, NodeInventory, Port, Server

#: The number of ports and of components that a page names; the others are counted.
MOST_PARTS = 32

_NODE = "openstack baremetal node"
#: Verbs whose command has another name, or needs an argument.
_COMMANDS = {
    "active": "deploy",
    "deploy": "deploy",
    "deleted": "undeploy",
    "clean": "clean --clean-steps STEPS.json",
    "rescue": "rescue --rescue-password PASSWORD",
    "service": "service --service-steps STEPS.json",
}


def possible(node: Node) -> Iterator[tuple[str, str]]:
    """Yield what the service accepts in the node's state, and the command that asks for it.

    Nothing but maintenance can be changed while a conductor works on the node. The UUID needs no quotes in a shell.
    """
    if node.maintenance:
        yield "maintenance off", f"{_NODE} maintenance unset {node.uuid}"
    else:
        yield "maintenance on", f"{_NODE} maintenance set --reason REASON {node.uuid}"
    if node.reservation is not None:
        return
    for verb in state_machine.verbs_of(node.provision_state):
        command, *arguments = _COMMANDS.get(verb, verb).split(" ", 1)
        yield verb, " ".join([_NODE, command, *arguments, node.uuid])
    if node.provision_state in state_machine.STABLE:
        for power in ("on", "off"):
            if node.power_state != f"power {power}":
                yield f"power {power}", f"{_NODE} power {power} {node.uuid}"


@dataclass
class NodeParts:
    """The ports of a node (address and physical network), its firmware (component and version), and whether there is a
    hardware inventory. ``ports`` is None for a caller who may not list them. ``server_project``: the project of
    the compute API's server on the node, or None."""

    ports: list[tuple[str, str | None]] | None = None
    port_count: int = 0
    firmware: list[tuple[str, str | None]] = field(default_factory=list)
    has_inventory: bool = False
    server_project: str | None = None


def parts_of(session: Session, node: Node, *, with_ports: bool) -> NodeParts:
    """Return the parts of the node; one statement.

    SELECT 'port', address, physical_network, count(*) OVER () FROM ports … UNION ALL SELECT 'firmware', … UNION ALL …
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
    node_parts = NodeParts([] if with_ports else None)
    for kind, name, detail, number in session.execute(union_all(*(select(each) for each in selects))):
        if kind == "inventory":
            node_parts.has_inventory = True
        elif kind == "server":
            node_parts.server_project = name
        elif kind == "firmware":
            node_parts.firmware.append((name, detail))
        elif node_parts.ports is not None:
            node_parts.ports.append((name, detail))
            node_parts.port_count = number
    node_parts.firmware.sort()
    return node_parts
