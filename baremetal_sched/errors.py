"""The domain's errors: what went wrong, in words for a person. No HTTP here; each API maps these to its own.

The base classes say what kind of trouble it is, and an API may map just those; the rest say which.
"""

from typing import Any


class SchedulerError(Exception):
    """Base of all. ``template`` is filled with the keyword arguments, which stay available in ``details``."""

    template = "Something went wrong."

    def __init__(self, **details: Any) -> None:
        self.details = details
        super().__init__(self.template.format(**details))


class NotFoundError(SchedulerError):
    """A thing that the request names is not there."""


class ConflictError(SchedulerError):
    """The request is sound, but the state of things does not allow it now."""


class InvalidError(SchedulerError):
    """The request makes no sense, whatever the state of things."""


class ForbiddenError(SchedulerError):
    """Not allowed to this caller, or at all."""


class UnavailableError(SchedulerError):
    """Cannot be done right now; worth another try soon."""


# -- the database -----------------------------------------------------------------------------------------------------


class DatabaseAway(UnavailableError):
    template = "The database cannot be reached. Try again in a moment."


class TooManyConflicts(UnavailableError):
    template = "The request lost {attempts} races against others for the same rows. Try again in a moment."


class SchemaTooNew(SchedulerError):
    template = (
        "The database is at schema {found}, which this release does not know; its newest is {known}. "
        "Run a newer release of baremetal-sched, or restore a backup from before the upgrade."
    )


class SchemaTooOld(SchedulerError):
    template = "The database is at schema {found}; this release needs {known}. Run: baremetal-sched db upgrade"


# -- values -----------------------------------------------------------------------------------------------------------


class InvalidValue(InvalidError):
    """A value that is wrong by itself; the caller says how."""

    template = "{message}"


# -- nodes ------------------------------------------------------------------------------------------------------------


class NodeNotFound(NotFoundError):
    template = "Node {node} could not be found."


class ChassisNotFound(NotFoundError):
    template = "Chassis {chassis} could not be found."


class NodeAlreadyExists(ConflictError):
    template = "A node with UUID {uuid} already exists."


class DuplicateNodeName(ConflictError):
    template = "A node with name {name} already exists."


class InstanceAssociated(ConflictError):
    template = (
        "Instance {instance} is already associated with a node, it cannot be associated with this other node {node}"
    )


class NodeAssociated(ConflictError):
    template = "Node {node} is associated with instance {instance}."


class NodeAllocated(ConflictError):
    template = "Node {node} is allocated to consumer {consumer}; release that allocation first."


class NodeLocked(ConflictError):
    template = "Node {node} is locked by host {host}, please retry after the current operation is completed."


class NodeProtected(ForbiddenError):
    template = "Node {node} is protected and cannot be undeployed, rebuilt or deleted"


class InvalidNodeState(ConflictError):
    """The node's provision state does not allow the change; the caller says why."""

    template = "{message}"


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


# -- conductors -------------------------------------------------------------------------------------------------------


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


# -- placement --------------------------------------------------------------------------------------------------------


class BadQuery(InvalidError):
    """A query string that Placement refuses; the caller says why."""

    template = "{message}"


class ProviderNotFound(NotFoundError):
    template = "No resource provider with uuid {provider} found"


class DuplicateProvider(ConflictError):
    template = "Conflicting resource provider {what} already exists."


class ProviderNotCreated(InvalidError):
    template = 'Unable to create resource provider "{name}", {provider}: Object action create failed because: {reason}'


class ProviderNotSaved(InvalidError):
    template = "Unable to save resource provider {provider}: Object action {action} failed because: {reason}"


class ProviderHasChildren(ConflictError):
    template = "Unable to delete parent resource provider {provider}: It has child resource providers."


class ProviderInUse(ConflictError):
    template = "Unable to delete resource provider {provider}: Resource provider has allocations."


class GenerationConflict(ConflictError):
    """The provider's generation is not the one that the client knows; the caller says so in the API's words."""

    template = "{message}"


class InventoryNotFound(NotFoundError):
    template = "No inventory of class {resource_class} for {provider}"


class InventoryNotFoundForDelete(NotFoundError):
    template = "No inventory of class {resource_class} found for delete: {reason}"


class InventoryExists(ConflictError):
    template = (
        "Update conflict: there is an inventory of class {resource_class} on resource provider {provider} already."
    )


class InventoryInvalid(InvalidError):
    """An inventory that cannot be; ``doing`` is "create" or "update"."""

    template = "Unable to {doing} inventory for resource provider {provider}: {reason}"


class NoInventoryRecord(InvalidError):
    template = (
        "No inventory record with resource class for resource provider {provider}: "
        "No inventory of class {resource_class} found."
    )


class UnknownClassInInventory(InvalidError):
    template = (
        "Unknown resource class in inventory for resource provider {provider}: No such resource class {resource_class}."
    )


class InventoryInUse(ConflictError):
    template = "update conflict: Inventory for '{resource_classes}' on resource provider '{provider}' in use."


class InventoryInUseOnDelete(ConflictError):
    template = "Inventory for '{resource_classes}' on resource provider '{provider}' in use."


class OneInventoryInUse(ConflictError):
    template = (
        "Unable to delete inventory of class {resource_class}: "
        "Inventory for '{resource_class}' on resource provider '{provider}' in use."
    )


class ResourceClassNotFound(NotFoundError):
    template = "No such resource class {resource_class}."


class ResourceClassExists(ConflictError):
    template = "Conflicting resource class already exists: {resource_class}"


class ResourceClassNameTaken(ConflictError):
    template = "Resource class already exists: {resource_class}"


class StandardResourceClass(InvalidError):
    """Standard classes stay as they are; the caller says what was tried."""

    template = "{message}"


class ResourceClassInUse(ConflictError):
    template = (
        "Error in delete resource class: Cannot delete resource class {resource_class}. Class is in use in inventory."
    )


class TraitNotFound(NotFoundError):
    template = "No such trait(s): {traits}."


class InvalidTrait(InvalidError):
    template = (
        "The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix "
        '"CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"'
    )


class UnknownTraits(InvalidError):
    template = "No such trait {traits}"


class StandardTrait(InvalidError):
    template = "Cannot delete standard trait {trait}."


class TraitInUse(ConflictError):
    template = "The trait {trait} is in use by a resource provider."


class NoAllocations(NotFoundError):
    template = "No allocations for consumer '{consumer}'"


class ConsumerConflict(ConflictError):
    template = "consumer generation conflict - expected {expected} but got {given}"


class UnknownProvider(InvalidError):
    template = "Allocation for resource provider '{provider}' that does not exist."


class UnknownClassInAllocation(InvalidError):
    """``where`` is how the API begins: it tells a client which of its requests it was."""

    template = "{where} No such resource class {resource_class}."


class InvalidInventory(ConflictError):
    template = (
        "Unable to allocate inventory: Inventory for '{resource_classes}' on resource provider '{providers}' invalid."
    )


class InventoryConstraint(ConflictError):
    template = (
        "Unable to allocate inventory: Unable to create allocation for '{resource_class}' on resource provider "
        "'{provider}'. The requested amount would violate inventory constraints."
    )


class CapacityExceeded(ConflictError):
    template = (
        "Unable to allocate inventory: Unable to create allocation for '{resource_class}' on resource provider "
        "'{provider}'. The requested amount would exceed the capacity."
    )


class ReshapedProviderNotFound(InvalidError):
    template = "Resource provider {provider} in inventories not found: No resource provider with uuid {provider} found"


# -- callers ----------------------------------------------------------------------------------------------------------


class NotAuthenticated(SchedulerError):
    template = "The request you have made requires authentication."


class NotAllowed(ForbiddenError):
    template = "Policy does not allow {policy} to be performed."


class WrongScope(ForbiddenError):
    template = "{policy}"
