"""Permissions for nodes: the guards of routes (see ``route.Route``).

A resource that the caller may not see is answered like one that does not exist. A resource that the caller may see, but
not change in this way, is answered with 403. Rows are locked before they are checked if the view is going to change
something, so the decision holds until then.
"""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.allocations import allocations
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.errors import ResourceNotFound
from baremetal_sched.baremetal.api.provisioning import provision
from baremetal_sched.baremetal.api.route import Guard
from baremetal_sched.baremetal.identifiers import is_logical_name
from baremetal_sched.baremetal.network import portgroups, ports, volume
from baremetal_sched.baremetal.provisioning import runbooks
from baremetal_sched.db.models import Node, NodeAllocation, Port, Portgroup, Runbook
from baremetal_sched.db.types import Reader
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import NotFoundError, SchedulerError
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.web.policy import Target

SEE_NODE = "baremetal:node:get"


def node(call: BaremetalCall, reader: Reader, rule: str, ident: str, **path: str) -> None:
    """Check access to the node that the path names. Raises NodeNotFound, NotAllowed, and the errors of views for
    invalid names."""
    _require(call, rule, seen_node(call, reader, ident))


def node_and_list(call: BaremetalCall, reader: Reader, rule: str, ident: str, **path: str) -> None:
    """The node that the path names, which the caller must see, and a list of what belongs to it."""
    seen_node(call, reader, ident)
    call.listed(_kind(rule))


def seen_node(call: BaremetalCall, reader: Reader, ident: str) -> Target:
    """Return the node that ``ident`` names, as a target of rules. Raises NodeNotFound if the caller may not see it."""
    try:
        if _changes(call) and isinstance(reader, Session):
            return seen(call, call.locked_node(reader, ident), ident)  # the view needs the whole node: it is read once
        row = call.found(ident, lambda each: _owners(call, reader, each))
    except NodeNotFound as error:
        raise error if call.stripped_json or canonical_uuid(ident) is None else _no_node(ident) from None
    return _seen(call, row, _no_node, ident)


def _owners(call: BaremetalCall, reader: Reader, ident: str) -> Row[Any]:
    row = _first(call, reader, select(Node.owner, Node.lessee).where(records.named(Node, ident)))
    if row is None:
        raise _no_node(ident)
    return row


def seen(call: BaremetalCall, node: Node, ident: str) -> Target:
    """Return the node, which was found as ``ident``, as a target. Raises NodeNotFound like ``seen_node``."""
    return _checked(call, (node.owner, node.lessee), _no_node, ident)


def _no_node(ident: str) -> SchedulerError:
    return NodeNotFound(node=ident)


def _first(call: BaremetalCall, reader: Reader, query: Any) -> Row[Any] | None:
    """The first row, with its node locked if the view is going to change something."""
    row: Row[Any] | None = reader.execute(query.with_for_update(of=Node) if _changes(call) else query).first()
    return row


def _changes(call: BaremetalCall) -> bool:
    return call.route is not None and call.route.writes and not call.evaluates_ahead


def _seen(call: BaremetalCall, row: Row[Any] | None, missing: Callable[[str], SchedulerError], ident: str) -> Target:
    """Return the node with this owner and lessee as a target. Raises the error of ``missing`` if it does not exist, or
    if the caller may not see it."""
    return _checked(call, None if row is None else (row.owner, row.lessee), missing, ident)


def _checked(
    call: BaremetalCall,
    owners: tuple[str | None, str | None] | None,
    missing: Callable[[str], SchedulerError],
    ident: str,
) -> Target:
    if owners is None:
        raise missing(ident)
    owner, lessee = owners
    target = call.target_of("node", owner=owner, lessee=lessee)
    if not call.allows(SEE_NODE, target):
        raise missing(ident)
    return target


def _require(call: BaremetalCall, rule: str, target: Target) -> None:
    if rule != SEE_NODE:
        call.require(rule, target)


def named_node(call: BaremetalCall, reader: Reader, rule: str) -> None:
    """The node that the query string names for GET /v1/nodes/validate. Raises as ``node`` does."""
    node(call, reader, rule, provision.named(call))


def refusal(call: BaremetalCall, reader: None, rule: str, **path: str) -> None:
    """No check: the view refuses all callers."""


def removable_node(call: BaremetalCall, reader: Reader, rule: str, ident: str) -> None:
    """A node that is to be deleted: the administrators of its owner may, if the settings let them. Raises as ``node``
    does."""
    target = seen_node(call, reader, ident)
    if call.settings.api.project_admin_can_manage_own_nodes and not call.allows(rule, target):
        rule = f"{rule}:self_owned_node"
    call.require(rule, target)


def behind_node(model: Any, missing: Callable[[str], SchedulerError], parameter: str = "ident") -> Guard:
    """Return the guard of what belongs to a node: a port, a portgroup, a volume connector or target."""

    def guard(call: BaremetalCall, reader: Reader, rule: str, **path: str) -> None:
        ident = path[parameter]
        if canonical_uuid(ident) is not None or (hasattr(model, "name") and is_logical_name(ident)):
            call.require(rule, _seen_behind(call, reader, model, missing, ident))

    return guard


def _names_something(ident: str) -> bool:
    """Return whether a thing can have this UUID or name. If not, the view says so."""
    return canonical_uuid(ident) is not None or is_logical_name(ident)


def _seen_behind(
    call: BaremetalCall, reader: Reader, model: Any, missing: Callable[[str], SchedulerError], ident: str
) -> Target:
    named = records.named(model, ident) if hasattr(model, "name") else model.uuid == canonical_uuid(ident)
    query = select(Node.owner, Node.lessee).join(model, model.node_id == Node.id).where(named)
    return _seen(call, _first(call, reader, query), missing, ident)


port = behind_node(Port, ports.missing)
portgroup = behind_node(Portgroup, portgroups.missing)
connector = behind_node(volume.CONNECTORS.model, volume.CONNECTORS.missing, "uuid")
target = behind_node(volume.TARGETS.model, volume.TARGETS.missing, "uuid")


def portgroup_and_list(call: BaremetalCall, reader: Reader, rule: str, ident: str) -> None:
    """The portgroup that the path names, whose node the caller must see, and a list of its ports."""
    if _names_something(ident):
        _seen_behind(call, reader, Portgroup, portgroups.missing, ident)
    call.listed(_kind(rule))


def on_node(*arguments: str) -> Guard:
    """Return the guard of a resource that is created on the node which one of the ``arguments`` in the body names.

    A node that the caller may not see is answered like one that does not exist: both have no owner to check.
    """

    def guard(call: BaremetalCall, reader: Reader, rule: str) -> None:
        body = call.body()
        named = [body[name] for name in arguments if name in body] if isinstance(body, dict) else []
        for ident in named or [None]:
            call.require(rule, _target_named(call, reader, ident))

    return guard


def _target_named(call: BaremetalCall, reader: Reader, ident: Any) -> Target:
    """Return the node that ``ident`` names as a target; if it does not exist, the target without a node."""
    if not isinstance(ident, str):
        return call.target
    found = _first(call, reader, select(Node.owner, Node.lessee).where(records.named(Node, ident)))
    return call.target if found is None else call.target_of("node", owner=found.owner, lessee=found.lessee)


def _kind(rule: str) -> str:
    """Return the kind of the members of a list, of its rule: "node" of "baremetal:node:list"."""
    return rule.split(":")[1]


def lists(call: BaremetalCall, reader: Reader, rule: str, **path: str) -> None:
    """A list, of everything or of what belongs to the caller's project. Raises NotAllowed, WrongScope."""
    call.listed(_kind(rule))


def allocation(call: BaremetalCall, reader: Reader, rule: str, ident: str) -> None:
    """The allocation that the path names. Raises AllocationNotFound, NotAllowed."""
    if not _names_something(ident):
        return
    query = select(NodeAllocation.owner).where(records.named(NodeAllocation, ident))
    found = reader.execute(query).first()
    target = None if found is None else call.target_of("allocation", owner=found.owner)
    if target is None or not call.allows("baremetal:allocation:get", target):
        raise allocations.missing(ident)
    call.require(rule, target)


def allocation_of_node(call: BaremetalCall, reader: Reader, rule: str, ident: str) -> None:
    """The allocation of the node that the path names. Raises NotAllowed; ResourceNotFound if the caller may not see the
    node. The view answers for a node without an allocation."""
    try:
        seen_node(call, reader, ident)
    except NotFoundError:
        raise ResourceNotFound from None
    node = select(Node.id).where(Node.uuid == call.node_uuid(reader, ident)).scalar_subquery()
    found = reader.execute(select(NodeAllocation.owner).where(NodeAllocation.node_id == node)).first()
    if found is not None:
        call.require(rule, call.target_of("allocation", owner=found.owner))


def runbook(call: BaremetalCall, reader: Reader, rule: str, ident: str, **path: str) -> None:
    """The runbook that the path names. Raises RunbookNotFound, NotAllowed."""
    found = _runbook(call, reader, ident)
    if found is not None:
        call.require(rule, call.target_of("runbook", owner=found.owner))


def readable_runbook(call: BaremetalCall, reader: Reader, rule: str, ident: str) -> None:
    """The runbook that the path names, for reading: one that is public is everyone's. Raises as ``runbook`` does."""
    found = _runbook(call, reader, ident)
    if found is not None and not found.public:
        call.require(rule, call.target_of("runbook", owner=found.owner))


def _runbook(call: BaremetalCall, reader: Reader, ident: str) -> Row[str | None, bool] | None:
    """Return the owner of the runbook and whether it is public; None if ``ident`` cannot name a runbook."""
    if not _names_something(ident):
        return None
    found = reader.execute(select(Runbook.owner, Runbook.public).where(records.named(Runbook, ident))).first()
    if found is None:
        raise runbooks.missing(ident)
    return found
