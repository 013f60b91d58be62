"""Errors of servers."""

from baremetal_sched.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError


class ServerNotFound(NotFoundError):
    template = "Instance {server} could not be found."


class NetworkNotFound(NotFoundError):
    template = "Instance {server} is not a member of the network {network}."


class ServerMarkerNotFound(InvalidError):
    template = "marker [{marker}] not found"


class ServerStateRefused(ConflictError):
    template = "Cannot '{action}' instance {server} while it is in {attr} {value}"


class ServerLocked(ConflictError):
    template = "Instance {server} is locked"


class MachineRefuses(ConflictError):
    """The server's machine does not allow the request; ``reason`` is the machine's message."""

    template = "Cannot '{action}' instance {server}: {reason}"


class ServerHasMachine(ConflictError):
    """The bare metal API was asked to separate a server from its machine, or to give it another."""

    template = (
        "{server} is a server of the compute API, which alone assigns and removes its machine: delete the server "
        "there, or undeploy the node."
    )


class MachineLacksTraits(ConflictError):
    template = (
        "The image requires traits that the machine of instance {server} does not have among the resources that the "
        "instance holds: {traits}"
    )


class FlavorForbidsTraits(InvalidError):
    template = "The image requires traits that the flavor of instance {server} forbids: {traits}"


class FlavorWithoutDisk(ForbiddenError):
    template = "Servers of flavors with a disk of 0 are for administrators."


class TagNotFound(NotFoundError):
    template = "Server {server} has no tag '{tag}'"


class TooManyTags(InvalidError):
    template = "The number of tags exceeded the per-server limit {limit}"


class TooMuchMetadata(ForbiddenError):
    template = "Maximum number of metadata items exceeds {limit}"


class MetadataItemNotFound(NotFoundError):
    template = "Metadata item was not found"


class ActionNotFound(NotFoundError):
    template = "Action for request_id {request_id} on instance {server} not found"
