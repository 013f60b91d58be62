"""A server's own copies of the flavor, image and key pair of its request, and their meaning for scheduling.

A flavor or an image that is changed or deleted later changes no server.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.compute import keypairs
from baremetal_sched.compute.availability_zones import group_of
from baremetal_sched.compute.flavors import flavors, resource_request
from baremetal_sched.compute.flavors.resource_request import FlavorSpec
from baremetal_sched.compute.hosts.instance_info import ImageSpec
from baremetal_sched.db.models import Server, ServerGroup
from baremetal_sched.errors import InvalidValue, NotFoundError
from baremetal_sched.image import images
from baremetal_sched.image.access import ImageRequester
from baremetal_sched.settings import Settings

Document = Mapping[str, Any]


def flavor_spec(flavor: Document) -> FlavorSpec:
    """Return the facts about a server's copy of its flavor that scheduling needs."""
    return FlavorSpec(
        vcpus=flavor["vcpus"],
        memory_mb=flavor["ram"],
        root_gb=flavor["disk"],
        ephemeral_gb=flavor["ephemeral"],
        swap_mb=flavor["swap"],
        extra_specs=flavor["extra_specs"],
    )


def image_spec(image: Document) -> ImageSpec:
    """Return the facts about a server's copy of its image that a deployment needs."""
    properties = image.get("properties", {})
    return ImageSpec(image.get("id", ""), properties, image.get("location"), image.get("disk_format"))


def properties_of(image: Document | None) -> dict[str, str]:
    """Return the properties of a server's copy of its image; none if it was booted without one."""
    return dict(image["properties"]) if image else {}


def require_room(flavor: Mapping[str, Any], image: Mapping[str, Any]) -> None:
    """Raise InvalidValue if the flavor has less memory or disk than the image needs. A disk of 0 has any size."""
    if flavor["ram"] < (image.get("min_ram") or 0):
        raise InvalidValue(message="Flavor's memory is too small for requested image.")
    if 0 < flavor["disk"] < (image.get("min_disk") or 0):
        raise InvalidValue(
            message=f"Flavor's disk is smaller than the minimum size specified in image metadata. Flavor disk is "
            f"{flavor['disk']} GiB, minimum size is {image['min_disk']} GiB."
        )


def machine_request(server: Server, settings: Settings, group: ServerGroup | None = None) -> TreeRequest:
    """Return the request for a machine of a server that is in ``group``. Its project may use its own nodes, and nodes
    without a project.

    Nodes that administrators name, and servers from before there were projects, are left to administrators.
    """
    flavor, zone = flavor_spec(server.flavor), server.requested_zone
    is_tenants = server.requested_node is None and server.project_id != settings.compute.project_id
    request = resource_request.build(flavor, properties_of(server.image), in_tree=server.requested_node)
    return TreeRequest(
        request.query(),
        group=None if zone is None else group_of(zone, settings.compute.default_availability_zone),
        node=server.requested_node,
        extra_specs=flavor.extra_specs,
        excluded=server.tried_nodes,
        project=server.project_id if is_tenants else None,
        server_group=None if group is None else group.uuid,
    )


# -- made of what a request names --------------------------------------------------------------------------------------


def copy_of_flavor(session: Session, flavor_id: str, project: str | None) -> dict[str, Any]:
    """Return a flavor as a server keeps it. Raises InvalidValue if the project sees none with this id."""
    try:
        flavor = flavors.find(session, flavor_id, project)
    except NotFoundError as error:
        raise InvalidValue(message=str(error)) from None
    return {
        "id": flavor.flavorid,
        "name": flavor.name,
        "vcpus": flavor.vcpus,
        "ram": flavor.memory_mb,
        "disk": flavor.root_gb,
        "ephemeral": flavor.ephemeral_gb,
        "swap": flavor.swap_mb,
        "extra_specs": dict(flavor.extra_specs),
    }


def copy_of_image(session: Session, image_id: str, requester: ImageRequester) -> dict[str, Any]:
    """Return an image as a server keeps it. Raises InvalidValue if the requester sees none, or it cannot be booted."""
    try:
        image = images.get(session, image_id, requester)
    except NotFoundError:
        raise InvalidValue(message=f"Image {image_id} could not be found.") from None
    if image.status not in (images.QUEUED, images.ACTIVE):
        raise InvalidValue(message=f"Image {image_id} is not active: its status is '{image.status}'.")
    return {
        "id": image.uuid,
        "name": image.name,
        "min_ram": image.min_ram,
        "min_disk": image.min_disk,
        "disk_format": image.disk_format,
        "location": image.location,
        "properties": dict(image.properties),
    }


def copy_of_keypair(session: Session, user_id: str, name: str | None) -> dict[str, Any] | None:
    """Return a key pair of a user as a server keeps it. Raises InvalidValue for an unknown name."""
    if name is None:
        return None
    try:
        pair = keypairs.find(session, user_id, name)
    except NotFoundError:
        raise InvalidValue(message=f"Invalid key_name provided: there is no key pair '{name}'.") from None
    return {"name": pair.name, "type": pair.type, "public_key": pair.public_key}
