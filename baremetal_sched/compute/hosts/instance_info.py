"""The data that a node gets for a server: ``instance_info``, config drive and power."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.capabilities import required_capabilities
from baremetal_sched.compute.flavors.resource_request import FlavorSpec
from baremetal_sched.db.models import Node, Server
from baremetal_sched.documents.schema import decode_base64
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import states

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
    """The facts about an image that a deployment needs. ``location`` is the URL that it was imported from."""

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
    """The owner of a server."""

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
    """Return ``instance_info`` in Nova's order, followed by the properties of the image.

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
    if capabilities := required_capabilities(flavor.extra_specs):
        info["capabilities"] = json.dumps(capabilities)
    if traits := required_traits(flavor.extra_specs, image.properties):
        info["traits"] = traits
    return info if boot_from_volume else info | _about_image(image)


def _source(image: ImageSpec) -> dict[str, object]:
    """Return where the image is: it is either written to a disk, or booted as an ISO image and run from memory."""
    boot_iso = image.properties.get(BOOT_ISO)
    return {BOOT_ISO: boot_iso} if boot_iso else {"image_source": image.source}


def required_traits(extra_specs: Mapping[str, str], image_properties: Mapping[str, str]) -> list[str]:
    """Return the traits that flavor (in any group) and image require, in their order, duplicates included."""
    own = [key for key, value in extra_specs.items() if key.startswith("trait") and ":" in key and value == "required"]
    of_image = [key for key, value in image_properties.items() if key.startswith("trait:") and value == "required"]
    return [key.partition(":")[2] for key in own + of_image]


def _ephemeral(flavor: FlavorSpec, ephemeral_format: str | None, preserve: bool | None) -> dict[str, object]:
    info: dict[str, object] = {}
    if flavor.ephemeral_gb:
        info["ephemeral_gb"] = str(flavor.ephemeral_gb)
        if ephemeral_format:
            info["ephemeral_format"] = ephemeral_format
    if preserve is not None:
        info["preserve_ephemeral"] = str(preserve)
    return info


def _about_image(image: ImageSpec) -> dict[str, object]:
    info: dict[str, object] = {
        name: image.properties[property_name]
        for property_name, name in IMAGE_FIELDS.items()
        if image.properties.get(property_name)
    }
    if image.disk_format:
        info["image_disk_format"] = image.disk_format
    return info


def deployed_power(session: Session, node_id: int) -> str | None:
    """Return the power state in which the deployment of a node must end; None if no server is on it.

    It is on, unless a server that was off is rebuilt.
    """
    row = session.execute(
        select(Server.power_after_task).join(Node, Node.instance_uuid == Server.uuid).where(Node.id == node_id)
    ).first()
    return None if row is None else row[0] or states.POWER_ON


def build_config_drive(server: Server, node: Node, zone: str, admin_password: str | None) -> dict[str, Any]:
    """Return the config drive for ``server`` on ``node``. ``admin_password`` is kept nowhere else."""
    metadata: dict[str, Any] = {
        "uuid": server.uuid,
        "name": server.name,
        "hostname": server.hostname,
        "availability_zone": zone,
        "project_id": server.project_id,
        "launch_index": server.launch_index,
    }
    key = server.keypair
    if key and key["public_key"]:  # of a server that was imported it may not be known
        metadata["public_keys"] = {key["name"]: key["public_key"]}
        metadata["keys"] = [{"name": key["name"], "type": key["type"], "data": key["public_key"]}]
    if server.user_metadata:
        metadata["meta"] = dict(server.user_metadata)
    if admin_password is not None:
        metadata["admin_pass"] = admin_password
    drive: dict[str, Any] = {"meta_data": metadata}
    if server.user_data is not None:
        drive["user_data"] = decoded_config_drive(server.user_data)
    if node.network_data:
        drive["network_data"] = node.network_data
    return drive


def decoded_config_drive(user_data: str) -> str:
    """Return user data as text. Raises InvalidValue unless it is text in UTF-8, in base64."""
    try:
        content = decode_base64(user_data)
    except ValueError:
        raise InvalidValue(message="user_data is not base64, or not all of it.") from None
    try:
        text = content.decode()
    except ValueError:
        raise InvalidValue(message="user_data must be text in UTF-8, encoded in base64.") from None
    if "\x00" in text:
        raise InvalidValue(message="user_data must not contain the character NUL.")
    return text


#: The longest name of a host.
MOST = 63

_NOT_ALLOWED = re.compile(r"[^a-z0-9.-]+")
_EDGES = ".-"


def host_name_of(name: str, uuid: str, suffix: str = "") -> str:
    """Return the host name of a server: the letters, digits and hyphens of its name, with the suffix, or its UUID if
    none is left."""
    ascii_name = name.lower().encode("ascii", "ignore").decode()
    spaced = re.sub(r"[ _]+", "-", ascii_name)
    hostname = _NOT_ALLOWED.sub("", spaced).replace(".", "-").strip(_EDGES)
    hostname = hostname[: MOST - len(suffix)].rstrip(_EDGES)
    return f"{hostname}{suffix}" if hostname else f"server-{uuid}"
