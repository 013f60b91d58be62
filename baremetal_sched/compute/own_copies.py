"""A server's own copies of its flavor and of its image, as documents, and what they mean for scheduling.

A flavor or an image that is changed or deleted later changes no server.
"""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.compute import resource_request
from baremetal_sched.compute.availability_zones import group_of
from baremetal_sched.compute.host_choice import HostRequest
from baremetal_sched.compute.instance_info import ImageSpec
from baremetal_sched.compute.resource_request import FlavorSpec
from baremetal_sched.db.models import Flavor, Server
from baremetal_sched.image.records import ImageRecord
from baremetal_sched.settings import Settings

Document = Mapping[str, Any]


def flavor_spec(flavor: Document) -> FlavorSpec:
    """Return what scheduling has to know of a server's copy of its flavor."""
    return FlavorSpec(
        vcpus=flavor["vcpus"],
        memory_mb=flavor["ram"],
        root_gb=flavor["disk"],
        ephemeral_gb=flavor["ephemeral"],
        swap_mb=flavor["swap"],
        extra_specs=flavor["extra_specs"],
    )


def image_spec(image: Document) -> ImageSpec:
    """Return what a deployment has to know of a server's copy of its image."""
    properties = image.get("properties", {})
    return ImageSpec(image.get("id", ""), properties, image.get("location"), image.get("disk_format"))


def properties_of(image: Document | None) -> dict[str, str]:
    """Return the properties of a server's copy of its image; none if it was booted without one."""
    return dict(image["properties"]) if image else {}


def host_request(server: Server, settings: Settings, on: str | None = None) -> HostRequest:
    """Return the server's own request; ``on``: for this node only. Its project may use its own nodes, and nodes without
    a project.

    Nodes that administrators name, and servers from before there were projects, are left to administrators.
    """
    flavor, zone = flavor_spec(server.flavor), server.requested_zone
    is_tenants = server.requested_node is None and server.project_id != settings.compute.project_id
    request = resource_request.build(flavor, properties_of(server.image), in_tree=on or server.requested_node)
    return HostRequest(
        request.query(),
        group=None if zone is None else group_of(zone, settings.compute.default_availability_zone),
        node=server.requested_node,
        extra_specs=flavor.extra_specs,
        excluded=server.tried_nodes,
        project=server.project_id if is_tenants else None,
    )


def copy_of_flavor(flavor: Flavor) -> dict[str, Any]:
    """Return a flavor as a server keeps it."""
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


def copy_of_image(image: ImageRecord) -> dict[str, Any]:
    """Return an image as a server keeps it."""
    return {
        "id": image.uuid,
        "name": image.name,
        "min_ram": image.min_ram,
        "min_disk": image.min_disk,
        "disk_format": image.disk_format,
        "location": image.location,
        "properties": dict(image.properties),
    }
