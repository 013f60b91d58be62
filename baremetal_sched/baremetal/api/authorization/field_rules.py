"""Rules that depend on the fields which a request sets: of new and changed nodes, and of changed runbooks."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import select

from baremetal_sched.baremetal.api.authorization import access
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.provisioning import step_rules
from baremetal_sched.baremetal.api.resources import owners
from baremetal_sched.baremetal.api.resources.collection import parsed_patch
from baremetal_sched.baremetal.schemas.provisioning.provision import KEYS
from baremetal_sched.db.models import Node
from baremetal_sched.db.types import Reader
from baremetal_sched.documents.patch import Operation, root
from baremetal_sched.errors import NotAllowed, WrongScope
from baremetal_sched.errors.baremetal import InvalidNodeState
from baremetal_sched.machines import states
from baremetal_sched.machines.interface_types import INTERFACE_TYPES

_INSTANCE_INFO = "baremetal:node:update_instance_info"
_INTERFACES = "baremetal:node:update:driver_interfaces"

#: The rules for changes of fields. Other fields need what the route names.
_NODE_FIELDS = {
    "instance_info": _INSTANCE_INFO,
    "instance_name": _INSTANCE_INFO,
    "extra": "baremetal:node:update_extra",
    "driver": _INTERFACES,
    **{f"{kind}_interface": _INTERFACES for kind in INTERFACE_TYPES},
    "retired_reason": "baremetal:node:update:retired",
    **{
        field: f"baremetal:node:update:{field}"
        for field in (
            "driver_info",
            "properties",
            "chassis_uuid",
            "instance_uuid",
            "lessee",
            "owner",
            "network_data",
            "conductor_group",
            "name",
            "retired",
            "shard",
            "parent_node",
            "disable_power_off",
        )
    },
}
_RUNBOOK_FIELDS = {"owner": "baremetal:runbook:update:owner", "public": "baremetal:runbook:update:public"}

_BEFORE_SCOPES = "baremetal:allocation:create_pre_rbac"


def new_node(call: BaremetalCall, reader: Reader, rule: str) -> None:
    """A node that is to be created: administrators of a project may create their own, if the settings let them.

    Raises NotAllowed, WrongScope. See ``owners.owner_of_new_node`` for its owner.
    """
    if not owners.creates_own_nodes(call):
        call.require(rule)


def patched_node(call: BaremetalCall, reader: Reader, rule: str, ident: str) -> None:
    """A node that is to be changed: each field needs its rule.

    Raises NodeNotFound, NotAllowed; InvalidValue if the body is not a patch; InvalidNodeState for the owner of a node
    in use, which needs one more rule.
    """
    operations = parsed_patch(call)
    target = access.seen_node(call, reader, ident)
    for each in _rules(operations, rule):
        call.require(each, target)
    changes_owner = any(root(operation) == "owner" and operation["op"] != "remove" for operation in operations)
    if changes_owner and not call.allows("baremetal:node:update_owner_provisioned", target):
        uuid = call.node_uuid(reader, ident)
        if reader.scalar(select(Node.provision_state).where(Node.uuid == uuid)) == states.ACTIVE:
            raise InvalidNodeState(
                message=f'Cannot update owner of node "{uuid}" while it is in state "{states.ACTIVE}".'
            )


def _rules(operations: Iterable[Operation], general: str) -> list[str]:
    """The rules that a PATCH of a node needs, each once."""
    rules = [_rule(operation) or general for operation in operations] or [general]
    return list(dict.fromkeys(rules))


def _rule(operation: Operation) -> str | None:
    field = root(operation)
    if field == "automated_clean" and _is_false(operation.get("value")):
        return "baremetal:node:disable_cleaning"
    return _NODE_FIELDS.get(field)


def _is_false(value: Any) -> bool:
    """Return whether a client may mean false by it, in any of the spellings that Ironic takes."""
    return str(value).strip().lower() in ("false", "f", "no", "n", "off", "0")


def provisioned_node(call: BaremetalCall, reader: Reader, rule: str, ident: str) -> None:
    """A node whose provision state is to be changed: steps that the request names need additional rules. The view
    checks the steps of a runbook. Raises NodeNotFound, NotAllowed, StepsNotAllowed; InvalidValue for unknown
    arguments."""
    target = access.seen_node(call, reader, ident)
    call.require(rule, target)
    arguments = call.arguments(KEYS)
    if arguments.get("runbook"):
        return
    for name in ("clean_steps", "service_steps"):
        if arguments.get(name):
            call.require(f"{rule}:{name}", target)
    lists = [arguments.get(name) for name in ("deploy_steps", "clean_steps", "service_steps")]
    step_rules.require(call, [step for steps in lists if isinstance(steps, list) for step in steps], target)


def patched_runbook(call: BaremetalCall, reader: Reader, rule: str, ident: str) -> None:
    """A runbook that is to be changed: its owner and whether it is public need rules of their own.

    Raises RunbookNotFound, NotAllowed; InvalidValue if the body is not a patch.
    """
    rules = [_RUNBOOK_FIELDS.get(root(operation), rule) for operation in parsed_patch(call)] or [rule]
    for each in dict.fromkeys(rules):
        access.runbook(call, reader, each, ident)


def new_allocation(call: BaremetalCall, reader: Reader, rule: str) -> None:
    """An allocation that is to be created. Raises NotAllowed, WrongScope.

    With the older defaults in force, one without an owner needs a rule more. See ``owners.owner_of_new_allocation``.
    """
    body = call.body()
    owner = body.get("owner") if isinstance(body, dict) else None
    older = not call.settings.oslo_policy.enforce_new_defaults
    try:
        call.require(rule)
        if older and not owner:
            call.require(_BEFORE_SCOPES)
    except (NotAllowed, WrongScope):
        project = call.caller.project_id
        if project and owner and project != owner:
            raise
        if older and owner:
            call.require(_BEFORE_SCOPES)
        call.require(owners.ANY_OWNER)
