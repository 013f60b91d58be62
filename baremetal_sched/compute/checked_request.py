"""The request that a flavor and an image make, refused if no server can satisfy it."""

from collections.abc import Mapping

from baremetal_sched.compute import extra_specs, image_properties, image_values, resource_request
from baremetal_sched.compute.resource_request import FlavorSpec, ResourceRequest
from baremetal_sched.errors.compute import NothingRequested
from baremetal_sched.image import properties as properties_of_images


def build(
    flavor: FlavorSpec,
    properties: Mapping[str, str],
    *,
    boot_from_volume: bool = False,
    limit: int | None = None,
) -> ResourceRequest:
    """Return the request of this flavor and the properties of this image.

    Raises InvalidExtraSpec, InvalidImageProperty, TraitConflict, and NothingRequested if the flavor asks for nothing,
    or for resources in groups with a suffix only, while there are traits that belong to no such group.
    """
    extra_specs.check(flavor.extra_specs)
    properties_of_images.check(properties)
    image_values.check(properties)
    image_properties.check_together(flavor.extra_specs, properties)
    request = resource_request.build(flavor, properties, boot_from_volume=boot_from_volume, limit=limit)
    if not request.groups:
        raise NothingRequested(
            message="The flavor asks for nothing. Add resources:CUSTOM_NAME=1, where CUSTOM_NAME is the resource class "
            "of the nodes that it is for."
        )
    unsuffixed = request.groups.get("")
    if unsuffixed is not None and not unsuffixed.resources:
        traits = ", ".join(sorted(unsuffixed.required | unsuffixed.forbidden))
        raise NothingRequested(
            message=f"{traits}: traits without a suffix, and those of an image, need resources without a suffix. Add "
            "resources:CUSTOM_NAME=1 to the flavor, where CUSTOM_NAME is the resource class of the nodes."
        )
    return request
