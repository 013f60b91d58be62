"""Errors of the compute API: flavors, key pairs, servers, and the choice of a machine."""

from baremetal_sched import commands
from baremetal_sched.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError, UnavailableError


class InvalidExtraSpec(InvalidError):
    """An extra spec is refused; ``reason`` is a sentence that says which values are accepted."""

    template = "Extra spec '{key}' is not valid: {reason}"


class TraitConflict(InvalidError):
    """The image requires a trait that the flavor forbids."""

    template = (
        "The image requires {traits}, which the flavor forbids. Use another image or another flavor, or remove "
        "'trait:NAME' from one of them."
    )


class NothingRequested(InvalidError):
    """The request names no resources where placement requires some."""


class FlavorNotFound(NotFoundError):
    template = "Flavor {flavor} could not be found."


class FlavorMarkerNotFound(InvalidError):
    template = "marker [{marker}] not found"


class FlavorNameTaken(ConflictError):
    template = "Flavor with name {name} already exists."


class FlavorIdTaken(ConflictError):
    template = "Flavor with ID {flavor} already exists."


class ExtraSpecNotFound(NotFoundError):
    template = "Flavor {flavor} has no extra specs with key {key}."


class FlavorIsPublic(NotFoundError):
    """Public flavors have no access list."""

    template = "Access list not available for public flavors."


class PublicFlavorNeedsNoAccess(ConflictError):
    template = "Can not add access to a public flavor."


class FlavorAccessExists(ConflictError):
    template = "Flavor access already exists for flavor {flavor} and project {project} combination."


class FlavorAccessNotFound(NotFoundError):
    template = "Flavor access not found for {flavor} / {project} combination."


class KeypairNotFound(NotFoundError):
    template = "Keypair {name} not found for user {user}"


class KeypairMarkerNotFound(InvalidError):
    template = "Marker {marker} could not be found."


class KeypairExists(ConflictError):
    template = "Key pair '{name}' already exists."


class InvalidKeypair(InvalidError):
    """A name or a key is not accepted; ``reason`` is a sentence that says why."""

    template = "Keypair data is invalid: {reason}"


class ServerGroupNotFound(NotFoundError):
    template = "Instance group {group} could not be found."


class ServerGroupsNotServed(UnavailableError):
    template = (
        "Server groups can be made when no earlier release can serve the database, because the release before this one "
        "has no server groups. When all its processes have ended, run: "
        f"{commands.FINISH_UPGRADE}"
    )


class ServerNotFound(NotFoundError):
    template = "Instance {server} could not be found."


class NetworkNotFound(NotFoundError):
    template = "Instance {server} is not a member of the network {network}."


class ServerMarkerNotFound(InvalidError):
    template = "marker [{marker}] not found"


class ServerStateRefused(ConflictError):
    template = "Cannot '{action}' instance {server} while it is in {attr} {value}"


class PinRefused(ConflictError):
    template = "The server cannot be pinned to availability zone {zone}: {reason}"


class ServerLocked(ConflictError):
    template = "Instance {server} is locked"


class MachineRefuses(ConflictError):
    """The server's machine does not allow the request; ``reason`` is the machine's message."""

    template = "Cannot '{action}' instance {server}: {reason}"


class ServerHasMachine(ConflictError):
    """A request to the bare metal API would separate a server from its machine, or give it another."""

    template = (
        "{server} is a server of the compute API, which alone assigns and removes its machine: delete the server "
        "there, or undeploy the node."
    )


class TooManyServerGroups(ForbiddenError):
    template = "Quota exceeded, too many server groups."


class TooManyInServerGroup(ForbiddenError):
    template = "Quota exceeded, too many servers in group"


class TooManyServersWait(ForbiddenError):
    """Clients know the words, and that 403 is about quotas, from Nova."""

    template = (
        "Quota exceeded for waiting servers: Requested 1, but already used {limit} of {limit} waiting servers "
        "([scheduling] most_waiting). No machine is free now."
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


class TooManyExplanations(UnavailableError):
    template = (
        "{limit} explanations are being worked on, which is the limit of this process, or half of them for your "
        "project. Try again in a moment."
    )


class ExplanationTookTooLong(UnavailableError):
    template = (
        "The explanation was not ready within {seconds} seconds and was stopped. Try again later, or ask for fewer "
        "conditions; the operator can lower [scheduling] explain_max_nodes, so that only a sample is examined, or "
        "raise explain_time_limit."
    )
