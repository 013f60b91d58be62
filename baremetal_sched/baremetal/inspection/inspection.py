"""Inspections of nodes: their times, and what follows from what they find."""

import uuid as uuid_module
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.inspection import inspection_rules
from baremetal_sched.baremetal.inspection.hooks import registry
from baremetal_sched.baremetal.inspection.rules import engine
from baremetal_sched.baremetal.inspection.rules.actions import capabilities_of, set_capability
from baremetal_sched.baremetal.inspection.rules.limits import Budget
from baremetal_sched.baremetal.inspection.rules.subject import ApiCall, Subject
from baremetal_sched.baremetal.inspection.schemas import PHASES
from baremetal_sched.baremetal.network import ports
from baremetal_sched.baremetal.nodes import node_update, traits
from baremetal_sched.baremetal.nodes.node_fields import FIELDS
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeInventory, Port
from baremetal_sched.db.types import as_text, dump_json
from baremetal_sched.documents.schema import canonical_mac
from baremetal_sched.errors.baremetal import InventoryNotFound
from baremetal_sched.machines.machine import MachineFinding
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: The parts of an inventory.
PARTS = ("inventory", "plugin_data")


def store(session: Session, node: Node, inventory: dict[str, Any], plugin_data: dict[str, Any]) -> None:
    """Replace the stored inventory of ``node`` (its row locked)."""
    session.merge(
        NodeInventory(node_id=node.id, inventory=inventory, plugin_data=plugin_data, created_at=utcnow()),
    )


def last(session: Session, node_uuid: str) -> dict[str, Any] | None:
    """Return the inventory that the last inspection of a node found, or None."""
    found: dict[str, Any] | None = session.scalar(
        select(NodeInventory.inventory).join(Node).where(Node.uuid == node_uuid)
    )
    return found


def find(session: Session, node: Node) -> dict[str, str]:
    """Return what the last inspection of ``node`` found: each of PARTS as it is stored. Raises InventoryNotFound."""
    columns = [as_text(getattr(NodeInventory, name).expression) for name in PARTS]
    found = session.execute(select(*columns).where(NodeInventory.node_id == node.id)).first()
    if found is None:
        raise InventoryNotFound(node=node.uuid)
    return dict(zip(PARTS, found, strict=True))


#: Where an agent puts its logs.
LOGS = "logs"

#: Fields of a node that rules may set: all that clients may set, except for its instance and its protection.
SETTABLE = tuple(
    name for name in FIELDS.patchable if name not in ("instance_uuid", "instance_name", "protected", "protected_reason")
)
#: Fields that rules see in addition.
_READ_ONLY = (
    *("uuid", "provision_state", "target_provision_state", "power_state", "instance_uuid", "instance_name", "fault"),
    *("maintenance_reason", "protected", "boot_mode", "secure_boot", "driver_internal_info", "raid_config"),
)
#: Fields of a port that rules may set: all except the ones that say to which node or group it belongs.
SETTABLE_ON_PORTS = tuple(
    name for name in ports.FIELDS.patchable if name not in ("address", "node_uuid", "portgroup_uuid")
)


@dataclass(frozen=True)
class InspectionVerdict:
    """The result of hooks and rules: changed fields of the node and of its ports (by UUID), the traits that the node
    gets, ``finding`` with the data that they stored there, and HTTP calls to be made.

    ``added`` has the MAC addresses of new ports, by the UUID that each gets, ``removed`` the UUIDs of ports to delete.
    """

    finding: MachineFinding
    fields: Mapping[str, Any]
    traits: Sequence[str]
    added: Mapping[str, str]
    removed: Sequence[str]
    ports: Mapping[str, Mapping[str, Any]]
    calls: Sequence[ApiCall]


def begin(session: Session, node: Node, addresses: Iterable[str] = ()) -> None:
    """Begin an inspection of the node (its row locked). The node gets ports with these MAC addresses, if it lacks them,
    by which its agent will find it; invalid addresses are ignored."""
    node.inspection_started_at, node.inspection_finished_at = utcnow(), None
    for address in filter(None, map(canonical_mac, addresses)):
        ports.claim(session, node, str(uuid_module.uuid4()), address)


def judge(
    session: Session,
    node: Node,
    finding: MachineFinding,
    hooks: Sequence[str],
    settings: Settings,
    before: Mapping[str, Any] | None = None,
) -> InspectionVerdict:
    """Apply these hooks, and then the rules, to what was found in a node that is reserved for the caller. Nothing is
    stored. ``before`` is the previous inventory.

    Raises HookFailed, RuleFailed, InvalidValue.
    """
    own = session.scalars(select(Port).where(Port.node_id == node.id)).all()
    subject, untouched = (_subject(session, node, own, finding) for _ in range(2))
    subject.inventory_before = before
    _adopt_properties(subject, finding)
    registry.run(hooks, subject, settings)
    options = settings.inspection_rules
    subject.budget = Budget(options.max_size, options.time_limit)
    rules_in_files = engine.load_file(options.built_in_rules)
    for phase in PHASES:
        rules = inspection_rules.in_order(session, phase, rules_in_files)
        engine.run(rules, subject, mask_secrets=options.mask_secrets)
    changed_ports = {
        uuid: _changes(untouched.ports.get(uuid, subject.blank_port), port) for uuid, port in subject.ports.items()
    }
    # The agent's logs are large, and needed only to investigate a failure.
    plugin_data = {name: value for name, value in subject.plugin_data.items() if name != LOGS}
    return InspectionVerdict(
        MachineFinding(subject.inventory, plugin_data),
        _changes(untouched.node, subject.node),
        subject.traits,
        {uuid: address for address, uuid in subject.addresses.items() if uuid not in untouched.ports},
        [uuid for uuid in untouched.ports if uuid not in subject.ports],
        {uuid: changed for uuid, changed in changed_ports.items() if changed},
        subject.calls,
    )


def finish(session: Session, node: Node, verdict: InspectionVerdict, membership: Membership) -> None:
    """End the inspection of the node (its row locked) with this outcome.

    All its effects happen here, in the transaction that ends it. Raises InvalidValue, InvalidNodeState, TooManyTraits,
    NoValidHost, …, if hooks or rules ask for something invalid.
    """
    if verdict.fields:
        node_update.set_fields(session, node, verdict.fields, membership)
    if sorted(verdict.traits) != traits.list_traits(session, node.id):
        traits.replace_traits(session, node, verdict.traits)
    _settle_ports(session, node, verdict)
    store(session, node, verdict.finding.inventory, verdict.finding.plugin_data)
    node.inspection_started_at, node.inspection_finished_at = None, utcnow()
    node.last_error = None


def _settle_ports(session: Session, node: Node, verdict: InspectionVerdict) -> None:
    own = {port.uuid: port for port in session.scalars(select(Port).where(Port.node_id == node.id))}
    for uuid in verdict.removed:
        if uuid in own:
            session.delete(own.pop(uuid))
    session.flush()
    for uuid, address in verdict.added.items():
        port = ports.claim(session, node, uuid, address)
        if port is None:
            log.warning("an address that an inspection found is another port's", node=node.uuid, address=address)
        else:
            own[uuid] = port
    for uuid, values in verdict.ports.items():
        if uuid in own:
            ports.set_fields(session, own[uuid], node, values)


def _subject(session: Session, node: Node, own: Sequence[Port], finding: MachineFinding) -> Subject:
    """Return copies of the documents, for rules to change."""
    copied = deepcopy(finding)
    return Subject(
        node=_copy(node_update.document_of(session, node), SETTABLE),
        traits=traits.list_traits(session, node.id),
        inventory=copied.inventory,
        plugin_data=copied.plugin_data,
        ports={port.uuid: _copy(ports.document_of(port, node), SETTABLE_ON_PORTS) for port in own},
        addresses={port.address: port.uuid for port in own},
        blank_port=_copy(ports.FIELDS.defaults, SETTABLE_ON_PORTS),
        read_only={name: getattr(node, name) for name in _READ_ONLY},
    )


def _adopt_properties(subject: Subject, finding: MachineFinding) -> None:
    properties = subject.node["properties"]
    properties.update(deepcopy(finding.properties))
    known = {each.partition(":")[0] for each in capabilities_of(properties)}
    for name, value in finding.capabilities.items():
        if name not in known:
            set_capability(subject, name, value)


def _copy(document: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: deepcopy(document[name]) for name in names}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields whose values differ in ``after``. Unlike in Python, 1 and True are different values, as in
    JSON."""
    return {name: value for name, value in after.items() if dump_json(value) != dump_json(before[name])}
