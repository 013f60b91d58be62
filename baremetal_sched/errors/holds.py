"""Errors of holds, which Ironic's specification calls maintenance entries."""

from baremetal_sched import commands
from baremetal_sched.errors import ConflictError, ForbiddenError, NotFoundError, UnavailableError
from baremetal_sched.errors.baremetal import NodeInMaintenance


class HoldNotFound(NotFoundError):
    template = "There is no hold {hold} of node {node}."


class HoldExists(ConflictError):
    """One of the same type, scope, project, person and reason, at the same time. ``by`` names the person, or is
    empty."""

    template = (
        "Node {node} has hold {uuid} of type {type}{by} for the same reason at that time. Give another reason, choose "
        "another time, or release it first."
    )


class HoldOfProjectExists(ConflictError):
    """One of the same type, scope and project, while an earlier release allows only one of these."""

    template = (
        "Node {node} has hold {uuid} of type {type}{by} at that time. While a release before this one may serve the "
        "database, a project can have only one hold of a type at a time. When all processes of that release have "
        f"ended, run: {commands.FINISH_UPGRADE}"
    )


class TooManyHolds(ConflictError):
    template = "Node {node} has {limit} holds of your project, and cannot have more. Release one first."


class HoldsRefused(ConflictError):
    """``reasons`` says of each node why it cannot be held."""

    template = "No node was held. {reasons}"


class HoldNotChangeable(ConflictError):
    template = "Hold {uuid} (type {type}) cannot be changed: {reason}."


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
