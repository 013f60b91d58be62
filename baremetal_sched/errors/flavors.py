"""Errors of flavors, their extra specs, and access to them."""

from baremetal_sched.errors import ConflictError, InvalidError, NotFoundError


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
