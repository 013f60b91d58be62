"""Errors of the bare metal API: nodes and their sub-resources, conductors, drivers."""

from baremetal_sched import commands
from baremetal_sched.errors import (
    AnswerTimeout,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    UnavailableError,
)


class NodeNotFound(NotFoundError):
    template = "Node {node} could not be found."


class HostNameTaken(ConflictError):
    template = (
        "Another conductor with the host name {host} is running and sends heartbeats. Stop it, or give each "
        "conductor a name of its own ([DEFAULT] host, or conductor --host)."
    )


class ForeignOwner(ForbiddenError):
    template = (
        "Cannot create allocation with an owner Project ID value {owner} not matching the requester Project ID "
        "{project}. Policy baremetal:allocation:create_restricted is required for this capability."
    )


class ChassisNotFound(NotFoundError):
    template = "Chassis {chassis} could not be found."


class AlreadyExists(ConflictError):
    """``value`` of ``key``, a UUID or another unique field, belongs to another ``thing``."""

    template = "{thing} with {key} {value} already exists."


class ChassisNotEmpty(InvalidError):
    template = "Cannot complete the requested action because chassis {chassis} contains nodes."


class PortNotFound(NotFoundError):
    template = "Port {port} could not be found."


class PortgroupNotFound(NotFoundError):
    template = "Portgroup {portgroup} could not be found."


class PortgroupNotEmpty(InvalidError):
    template = "Cannot complete the requested action because portgroup {portgroup} contains ports."


class PortgroupRefused(ConflictError):
    """A port cannot be in the portgroup; the caller supplies the message."""


class VolumeConnectorNotFound(NotFoundError):
    template = "Volume connector {connector} could not be found."


class VolumeTargetNotFound(NotFoundError):
    template = "Volume target {target} could not be found."


class VolumeConnectorExists(ConflictError):
    template = "A volume connector with type {type} and connector ID {connector} already exists."


class VolumeTargetExists(ConflictError):
    template = "A volume target with boot index '{boot_index}' for the same node already exists."


class VolumeInUse(InvalidError):
    template = (
        'The requested action "{action}" can not be performed on node "{node}" while it is in state "{state}": '
        "it must be powered off."
    )


class OperationNotPermitted(ForbiddenError):
    template = "Operation not permitted."


class StepsNotAllowed(ForbiddenError):
    """Policies do not allow the requested steps; the caller supplies the message."""


class InstanceAssociated(ConflictError):
    template = (
        "Instance {instance} is already associated with a node, it cannot be associated with this other node {node}"
    )


class InstanceWaits(ConflictError):
    template = "Instance {instance} waits for a machine, it cannot be associated with node {node}"


class NodeAssociated(ConflictError):
    template = "Node {node} is associated with instance {instance}."


class NodeAllocated(ConflictError):
    template = "Node {node} is allocated to consumer {consumer}; release that allocation first."


class NodeLocked(ConflictError):
    template = "Node {node} is locked by host {host}, please retry after the current operation is completed."


class SuitableNodesLocked(NodeLocked):
    template = "Could not reserve any of {count} suitable nodes: conductors are working on them. Try again in a moment."


class NodeBusy(NodeLocked):
    """The node is locked, and in a state that does not allow the request, so that retrying at once is useless."""


class NodeChanged(ConflictError):
    template = "Node {node} was changed during the driver call. Try again in a moment."


class NotBegun(UnavailableError):
    template = "Conductor {conductor} did not start the driver call in time, so nothing was done. Try again."


class ParentLocked(ConflictError):
    template = (
        "The parent {parent} of node {node} must be powered on first, but it is locked. Try again when it is unlocked."
    )


class ChildLocked(ConflictError):
    template = (
        "The child {child} of node {node} must be powered off first, but it is locked. Try again when it is unlocked."
    )


class NodeInMaintenance(InvalidError):
    template = "The {operation} operation can't be performed on node {node} because it's in maintenance mode."


class NodeKeptFree(InvalidError):
    """A hold of the node has started, and no conductor has set the flag yet."""

    template = (
        "The {operation} operation can't be performed on node {node}: a planned hold has started, and the node has no "
        "consumer."
    )


class ServiceInMaintenance(ConflictError):
    template = (
        "Node {node} is in maintenance: its failed service cannot be aborted. Clear the maintenance flag first: "
        + commands.UNSET_MAINTENANCE
    )


class NodeIsRetired(InvalidError):
    template = "The providing operation can't be performed on node {node} because it is retired."


class VerbRefused(InvalidError):
    template = (
        'The requested action "{verb}" can not be performed on node "{node}" while it is in state "{state}". {possible}'
    )


class TooManyAtOnce(UnavailableError):
    template = "{most} nodes are in state '{state}' already, which is the limit. Try again later."


class NodeProtected(ForbiddenError):
    template = "Node {node} is protected and cannot be undeployed, rebuilt or deleted"


class InvalidNodeState(ConflictError):
    """The node's provision state does not allow the change; the caller supplies the message."""


class TooManyTraits(InvalidError):
    template = (
        "Could not modify traits for node {node} as it would exceed the maximum number of traits per node "
        "({count} vs. {limit})"
    )


class NodeTraitNotFound(NotFoundError):
    template = "Node {node} doesn't have a trait '{trait}'"


class InvalidPowerTarget(InvalidError):
    template = (
        'The requested action "{target}" can not be performed on node "{node}" while it is in state "{state}". '
        "Power targets are: {known}."
    )


class PowerRefused(ConflictError):
    template = "Failed to set node power state to {target}."


class UnsupportedByDriver(InvalidError):
    template = "Driver {driver} does not support {extension} (disabled or not implemented)."


class MachineUnreachable(InvalidError):
    """Raised by drivers if the machine's address does not respond. The address is then not tried again for a while."""

    template = "The machine cannot be reached at {address}: {reason}"


class PowerNotReached(InvalidError):
    """A machine did not reach the requested power state. ``trouble`` is a sentence, or empty."""

    template = (
        "The machine is {found}, not in '{wanted}', {seconds:g} seconds after its controller was asked for "
        "'{asked}'.{trouble}"
    )


class CallGivenUp(InvalidError):
    """Raised to a driver whose call took too long: others may be working on the machine, so it must not touch it any
    more."""

    template = "The call was given up: it took too long, or another conductor has taken over the work on the node."


class ControllerError(InvalidError):
    """Raised by drivers if a management controller refuses a request or sends an invalid answer."""

    template = "The management controller at {address} {reason}"


class RaidNotSupported(NotFoundError):
    template = "Driver {driver} does not support raid (disabled or not implemented)."


class DeployTemplateNotFound(NotFoundError):
    template = "Deploy template {template} could not be found."


class RunbookNotFound(NotFoundError):
    template = "Runbook {runbook} could not be found."


class RunbookNotApproved(InvalidError):
    """The runbook cannot be used on the node; the caller supplies the message."""


class HistoryNotFound(NotFoundError):
    template = "Node history record {record} could not be found."


class BiosSettingNotFound(NotFoundError):
    template = "Node {node} doesn't have a BIOS setting '{name}'"


class InventoryNotFound(NotFoundError):
    template = "Node inventory record for node {node} could not be found."


class InspectionRuleNotFound(NotFoundError):
    template = "Rule {rule} could not be found."


class AgentNotKnown(NotFoundError):
    """The caller may not be an agent at all, so the message reveals nothing. ``reason``, and ``nodes`` (UUIDs) that it
    is about, are for the log."""

    template = "Resource could not be found."


class MachineNotKnown(AgentNotKnown):
    """No node matches the machine."""


class AgentsRefused(ForbiddenError):
    template = "Access was denied to the following resource: {path}"


class ConductorNotFound(NotFoundError):
    template = "Conductor {conductor} could not be found."


class DriverNotFound(NotFoundError):
    template = "Could not find the following driver(s) or hardware type(s): {driver}."


class NoValidHost(NotFoundError):
    template = (
        "No valid host was found. Reason: No conductor service registered which supports driver {driver} for conductor "
        'group "{group}". Ensure the driver is valid and enabled. {known}'
    )


class NoConductors(UnavailableError):
    template = "Resource temporarily unavailable, please retry."


class DriverTimeout(AnswerTimeout):
    """``subject`` is the node or driver that was called, ``method`` the method that was requested."""

    template = (
        "{subject} did not answer within {seconds} seconds to: {method}. It may have been completed, or may still "
        "be in progress: check before you ask again."
    )


class AllocationNotFound(NotFoundError):
    template = "Allocation {allocation} could not be found."


class NodeAllocationNotFound(NotFoundError):
    template = "Allocation for node {node} was not found"


class ConsumerHoldsOthers(ConflictError):
    template = "The consumer {uuid} holds allocations in placement already; an allocation needs a UUID of its own."


class UuidOfClaim(ConflictError):
    template = "The UUID {uuid} belongs to a {kind}; an allocation needs a UUID of its own."


class BackfillRefused(ConflictError):
    template = "Failed to process allocation {uuid}: Cannot backfill an allocation for node {node}: {reasons}."


class AllocationInUse(ConflictError):
    template = (
        "Cannot remove allocation {uuid} for node {node}, because the node is {state} (and maintenance mode is off)"
    )


class AllocationOwned(ConflictError):
    template = "Cannot change the owner of node {node} while its allocation {uuid} has the owner {owner}."
