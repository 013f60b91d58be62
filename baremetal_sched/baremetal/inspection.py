"""Inspections of nodes: their times, and what follows from what they find."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import inspection_rules, inventory, node_update, ports, traits
from baremetal_sched.baremetal.drivers.inspect import Finding
from baremetal_sched.baremetal.node_fields import FIELDS
from baremetal_sched.baremetal.ownership import Membership
from baremetal_sched.baremetal.rules import built_in, engine
from baremetal_sched.baremetal.rules.actions import ApiCall, Subject
from baremetal_sched.baremetal.schemas.inspection_rules import PHASES
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, Port
from baremetal_sched.db.types import dump_json
from baremetal_sched.settings import Settings

#: What rules may set on a node: what a client may, but for who is on it and how it is protected.
SETTABLE = tuple(
    name for name in FIELDS.patchable if name not in ("instance_uuid", "instance_name", "protected", "protected_reason")
)
#: What they see besides.
_READ_ONLY = (
    *("uuid", "provision_state", "target_provision_state", "power_state", "instance_uuid", "instance_name", "fault"),
    *("maintenance_reason", "protected", "boot_mode", "secure_boot", "driver_internal_info", "raid_config"),
)
#: What they may set on a port: all but to whom it belongs.
SETTABLE_ON_PORTS = tuple(
    name for name in ports.FIELDS.patchable if name not in ("address", "node_uuid", "portgroup_uuid")
)


@dataclass(frozen=True)
class Verdict:
    """What the rules make of what was found: fields of the node and of its ports (by id) that change, the traits that
    the node is to have, ``finding`` with the data that rules put there, and calls to be made."""

    finding: Finding
    fields: Mapping[str, Any]
    traits: Sequence[str]
    ports: Mapping[int, Mapping[str, Any]]
    calls: Sequence[ApiCall]


def begin(session: Session, node: Node) -> None:
    """The inspection begins now."""
    node.inspection_started_at, node.inspection_finished_at = utcnow(), None


def judge(session: Session, node: Node, finding: Finding, settings: Settings) -> Verdict:
    """Apply the rules to what was found in a node that is reserved for the caller. Nothing is changed.

    Raises RuleFailed, InvalidValue.
    """
    own = session.scalars(select(Port).where(Port.node_id == node.id)).all()
    subject = _subject(session, node, own, finding)
    before = _subject(session, node, own, finding)
    rules_in_files = built_in.load_file(settings.inspection_rules.built_in_rules)
    for phase in PHASES:
        rules = inspection_rules.in_order(session, phase, rules_in_files)
        engine.run(rules, subject, mask_secrets=settings.inspection_rules.mask_secrets)
    changed_ports = {port.id: _changes(before.ports[port.uuid], subject.ports[port.uuid]) for port in own}
    return Verdict(
        Finding(subject.inventory, subject.plugin_data),
        _changes(before.node, subject.node),
        subject.traits,
        {port_id: changed for port_id, changed in changed_ports.items() if changed},
        subject.calls,
    )


def finish(session: Session, node: Node, verdict: Verdict, membership: Membership) -> None:
    """The inspection of the node (its row locked) has ended, with this outcome.

    Everything that an inspection leads to happens here, in the transaction that ends it. Raises InvalidValue,
    InvalidNodeState, TooManyTraits, NoValidHost, …, if the rules want what cannot be.
    """
    if verdict.fields:
        node_update.set_fields(session, node, verdict.fields, membership)
    if sorted(verdict.traits) != traits.list_traits(session, node.id):
        traits.replace_traits(session, node, verdict.traits)
    for port_id, values in verdict.ports.items():
        ports.set_fields(session, session.get_one(Port, port_id), node, values)
    inventory.store(session, node, verdict.finding.inventory, verdict.finding.plugin_data)
    node.inspection_started_at, node.inspection_finished_at = None, utcnow()
    node.last_error = None


def _subject(session: Session, node: Node, own: Sequence[Port], finding: Finding) -> Subject:
    """Copies of everything, to be changed by rules."""
    copied = deepcopy(finding)
    return Subject(
        node=_copy(node_update.document_of(session, node), SETTABLE),
        traits=traits.list_traits(session, node.id),
        inventory=copied.inventory,
        plugin_data=copied.plugin_data,
        ports={port.uuid: _copy(ports.document_of(port, node), SETTABLE_ON_PORTS) for port in own},
        addresses={port.address: port.uuid for port in own},
        read_only={name: getattr(node, name) for name in _READ_ONLY},
    )


def _copy(document: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: deepcopy(document[name]) for name in names}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What is different in ``after``; to JSON, 1 and True are."""
    return {name: value for name, value in after.items() if dump_json(value) != dump_json(before[name])}
