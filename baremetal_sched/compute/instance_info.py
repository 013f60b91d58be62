"""``instance_info`` of a node that is to become a server, as Nova writes it: numbers are strings, traits a list."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from baremetal_sched.baremetal.matching import capabilities
from baremetal_sched.compute.resource_request import FlavorSpec

#: Properties of an image, and the names that Ironic has for them in ``instance_info``.
IMAGE_FIELDS = {
    "image_checksum": "image_checksum",
    "image_os_hash_algo": "image_os_hash_algo",
    "image_os_hash_value": "image_os_hash_value",
    "kernel_id": "kernel",
    "ramdisk_id": "ramdisk",
}
#: The property of an image that is booted instead of being written to a disk, and its name in ``instance_info``.
BOOT_ISO = "boot_iso"


@dataclass(frozen=True)
class ImageSpec:
    """What a deployment has to know of an image. ``location`` is the URL that it was imported from."""

    id: str
    properties: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None
    disk_format: str | None = None

    @property
    def source(self) -> str:
        """Where the image lies: its property, or where it was imported from, or else its id."""
        return self.properties.get("image_source") or self.location or self.id


@dataclass(frozen=True)
class Owner:
    """Whose server it is."""

    project_id: str
    project_name: str
    user_id: str
    user_name: str


def build(
    flavor: FlavorSpec,
    image: ImageSpec,
    owner: Owner,
    *,
    display_name: str,
    flavor_name: str,
    host: str,
    node_properties: Mapping[str, Any],
    fixed_ips: Sequence[str] = (),
    floating_ips: Sequence[str] = (),
    boot_from_volume: bool = False,
    ephemeral_format: str | None = None,
    preserve_ephemeral: bool | None = None,
) -> dict[str, object]:
    """Return ``instance_info`` in Nova's order, and then what the image says of itself.

    ``host`` is the conductor. ``preserve_ephemeral`` is given by a rebuild only. A server that boots from a volume has
    no image to deploy, but ``image`` holds the properties that its volume has.
    """
    info = ({} if boot_from_volume else _source(image)) | {
        "root_gb": str(flavor.root_gb),
        "swap_mb": str(flavor.swap_mb),
        "display_name": display_name,
        "vcpus": str(flavor.vcpus),
        "nova_host_id": host,
        "memory_mb": str(flavor.memory_mb),
        "local_gb": str(node_properties.get("local_gb", 0)),
        "project_id": owner.project_id,
        "project_name": owner.project_name,
        "user_id": owner.user_id,
        "user_name": owner.user_name,
        "flavor_name": flavor_name,
        "fixed_ips": repr(list(fixed_ips)),
        "floating_ips": repr(list(floating_ips)),
    }
    info |= _ephemeral(flavor, ephemeral_format, preserve_ephemeral)
    if wanted := capabilities.wanted(flavor.extra_specs):
        info["capabilities"] = json.dumps(wanted)
    if traits := required_traits(flavor.extra_specs, image.properties):
        info["traits"] = traits
    return info if boot_from_volume else info | _about_image(image)


def _source(image: ImageSpec) -> dict[str, object]:
    """Where the image lies: one to be written to a disk, or one to be booted from, which runs from memory."""
    boot_iso = image.properties.get(BOOT_ISO)
    return {BOOT_ISO: boot_iso} if boot_iso else {"image_source": image.source}


def required_traits(extra_specs: Mapping[str, str], image_properties: Mapping[str, str]) -> list[str]:
    """Return the traits that flavor (in any group) and image require, in their order, duplicates included."""
    own = [key for key, value in extra_specs.items() if key.startswith("trait") and ":" in key and value == "required"]
    of_image = [key for key, value in image_properties.items() if key.startswith("trait:") and value == "required"]
    return [key.partition(":")[2] for key in own + of_image]


def _ephemeral(flavor: FlavorSpec, ephemeral_format: str | None, preserve: bool | None) -> dict[str, object]:
    found: dict[str, object] = {}
    if flavor.ephemeral_gb:
        found["ephemeral_gb"] = str(flavor.ephemeral_gb)
        if ephemeral_format:
            found["ephemeral_format"] = ephemeral_format
    if preserve is not None:
        found["preserve_ephemeral"] = str(preserve)
    return found


def _about_image(image: ImageSpec) -> dict[str, object]:
    found: dict[str, object] = {
        name: image.properties[given] for given, name in IMAGE_FIELDS.items() if image.properties.get(given)
    }
    if image.disk_format:
        found["image_disk_format"] = image.disk_format
    return found
