"""Errors of holds, which Ironic's specification calls maintenance entries."""

from baremetal_sched import commands
from baremetal_sched.errors import ConflictError, ForbiddenError, NotFoundError, UnavailableError
from baremetal_sched.errors.baremetal import NodeInMaintenance


class HoldNotFound(NotFoundError):
    template = "Maintenance entry {hold} of node {node} could not be found."


class HoldExists(ConflictError):
    """One of the same type, scope and project, at the same time."""

    template = (
        "Node {node} has maintenance entry {uuid} of type {type} at {scope} scope by the same project at that time. "
        "Release it first, or choose another time."
    )


class HoldsRefused(ConflictError):
    """``reasons`` says of each node why it cannot be held."""

    template = "No node was held. {reasons}"


class HoldNotChangeable(ConflictError):
    template = "Maintenance entry {uuid} (type {type}) cannot be changed: {reason}."


class HoldsKept(ForbiddenError):
    """``reasons`` names each entry that the caller may not release."""

    template = "{reasons}"


class HoldsNotServed(UnavailableError):
    template = (
        "Only the maintenance flag can be used while a release before this one may serve the database, because that "
        f"release has no holds. When all its processes have ended, run: {commands.FINISH_UPGRADE}"
    )


class NodeLockedOut(NodeInMaintenance):
    """Nothing may touch the machine. The reason is for callers who may see the hold."""

    template = "Node {node} is locked out by hold {uuid}. Release the hold first."
