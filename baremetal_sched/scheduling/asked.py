"""The flavor and the image of a dry run, named or written out, as a server would keep them (``compute.own_copies``)."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.compute import flavors
from baremetal_sched.errors import InvalidValue
from baremetal_sched.image import images
from baremetal_sched.image.access import EVERYTHING, Requester

_AMOUNTS = ("vcpus", "ram", "disk", "ephemeral", "swap")


def flavor(session: Session, given: str | Mapping[str, Any], viewer: str | None) -> dict[str, Any]:
    """Return the flavor: the one with this id, or the one that is written out; amounts that lack are 0.

    ``viewer``: the project that has to see it; None: all flavors are seen. Raises FlavorNotFound.
    """
    if isinstance(given, str):
        found = flavors.find(session, given, viewer)
        amounts = (found.vcpus, found.memory_mb, found.root_gb, found.ephemeral_gb, found.swap_mb)
        return dict(zip(_AMOUNTS, amounts, strict=True)) | {"extra_specs": dict(found.extra_specs)}
    extra_specs = {key: str(value) for key, value in given.get("extra_specs", {}).items()}
    return {name: given.get(name, 0) for name in _AMOUNTS} | {"extra_specs": extra_specs}


def image(session: Session, given: str | Mapping[str, Any] | None, viewer: str | None) -> dict[str, Any]:
    """Return the image: the one with this UUID, the one that is written out, or one without properties.

    Raises ImageNotFound, and InvalidValue if it cannot be booted.
    """
    if given is None or not isinstance(given, str):
        return {"properties": dict((given or {}).get("properties", {}))}
    found = images.get(session, given, EVERYTHING if viewer is None else Requester(viewer))
    if found.status == images.DEACTIVATED:
        raise InvalidValue(message=f"Image {found.uuid} is deactivated and cannot be booted.")
    return {"properties": dict(found.properties), "min_ram": found.min_ram, "min_disk": found.min_disk}
