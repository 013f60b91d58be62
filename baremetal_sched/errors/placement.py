"""Errors of placement. Their messages are part of its API."""

from baremetal_sched.errors import ConflictError, InvalidError, NotFoundError, UnavailableError


class BadQuery(InvalidError):
    """A query string that Placement refuses; the caller supplies the message."""


class DuplicateQueryKey(BadQuery):
    """A parameter is repeated that may occur only once."""


class BadQueryValue(BadQuery):
    """A parameter contradicts itself or another one."""


class MissingQueryValue(BadQuery):
    """The query requests nothing."""


class UnknownClassInQuery(InvalidError):
    template = "Invalid resource class in resources parameter: No such resource class {resource_class}."


class SearchTookTooLong(UnavailableError):
    template = (
        "The search for allocation candidates did not end within {seconds} seconds and was stopped. "
        "Narrow the request: {advice}."
    )


class TooManyCandidates(UnavailableError):
    template = "There are more allocation candidates than one answer can hold. Narrow the request: {advice}."


class ProviderNotFound(NotFoundError):
    template = "No resource provider with uuid {provider} found"


class ProviderNotFoundForDelete(ProviderNotFound):
    template = "No resource provider with uuid {provider} found for delete"


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


class RaceLost(ConflictError):
    """Every attempt at a write lost a race against other writes."""


class GenerationConflict(ConflictError):
    """The provider's generation differs from the client's; the caller supplies the message, in the words of the API."""


class InventoryNotFound(NotFoundError):
    template = "No inventory of class {resource_class} for {provider}"


class InventoryNotFoundForDelete(NotFoundError):
    template = "No inventory of class {resource_class} found for delete: {reason}"


class InventoryExists(ConflictError):
    template = (
        "Update conflict: there is an inventory of class {resource_class} on resource provider {provider} already."
    )


class InventoryInvalid(InvalidError):
    """An invalid inventory; ``doing`` is "create" or "update"."""

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
    """Standard resource classes cannot be changed; the caller supplies the message."""


class ResourceClassInUse(ConflictError):
    template = (
        "Error in delete resource class: Cannot delete resource class {resource_class}. Class is in use in inventory."
    )


class ResourceClassOfNodes(ConflictError):
    template = (
        "Cannot rename resource class {resource_class}: nodes have that class, and their resource_class determines "
        "its name. "
        "Change resource_class of these nodes instead."
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


class ConsumerWaits(ConflictError):
    """The UUID belongs to a request that waits for a machine, of the ``kind``."""

    template = "The {kind} {consumer} waits for a machine under this UUID. Use a new UUID."


class UnknownProvider(InvalidError):
    template = "Allocation for resource provider '{provider}' that does not exist."


class UnknownClassInAllocation(InvalidError):
    """``where`` is the beginning of the message, which tells the client which of its consumers was wrong."""

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
    """``why`` is empty or, for the single unit of a machine, a blank and a sentence that says which consumer has it."""

    template = (
        "Unable to allocate inventory: Unable to create allocation for '{resource_class}' on resource provider "
        "'{provider}'. The requested amount would exceed the capacity.{why}"
    )


class TreeHeld(CapacityExceeded):
    """A provider that mirrors a node, and all providers below it, can belong to only one consumer at a time."""

    template = (
        "Unable to allocate inventory: Resource provider '{provider}' and all below it belong to one consumer at a "
        "time.{why}"
    )


class MirrorsNode(ConflictError):
    """The write would change a part of the provider that its node determines; ``what`` names the part."""

    template = (
        "Resource provider {provider} mirrors the bare metal node with this UUID, which determines its {what}. "
        "Change the node instead."
    )


class ReshapedProviderNotFound(InvalidError):
    template = "Resource provider {provider} in inventories not found: No resource provider with uuid {provider} found"


#: What a claim raises if a part of it was taken after it had been found.
TAKEN_MEANWHILE = (CapacityExceeded, InvalidInventory, TreeHeld)
