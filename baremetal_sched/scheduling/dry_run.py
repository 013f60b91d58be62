"""What a server of a flavor and an image would be given, if it were created now."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.request import Amounts, MachineContext
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.compute.flavors import extra_specs, flavors
from baremetal_sched.compute.hosts import no_valid_host, own_copies
from baremetal_sched.errors import InvalidValue
from baremetal_sched.image import images
from baremetal_sched.image.access import EVERYTHING, ImageRequester
from baremetal_sched.settings import Settings

_AMOUNTS = ("vcpus", "ram", "disk", "ephemeral", "swap")


def find_flavor(session: Session, given: str | Mapping[str, Any], viewer: str | None) -> dict[str, Any]:
    """Return the flavor: the one with this id, or the one that is written out; amounts that lack are 0.

    ``viewer``: the project that has to see it; None: all flavors are seen. Raises FlavorNotFound.
    """
    if isinstance(given, str):
        found = flavors.find(session, given, viewer)
        amounts = (found.vcpus, found.memory_mb, found.root_gb, found.ephemeral_gb, found.swap_mb)
        return dict(zip(_AMOUNTS, amounts, strict=True)) | {"extra_specs": dict(found.extra_specs)}
    extra_specs = {key: str(value) for key, value in given.get("extra_specs", {}).items()}
    return {name: given.get(name, 0) for name in _AMOUNTS} | {"extra_specs": extra_specs}


def find_image(session: Session, given: str | Mapping[str, Any] | None, viewer: str | None) -> dict[str, Any]:
    """Return the image: the one with this UUID, the one that is written out, or one without properties.

    Raises ImageNotFound, and InvalidValue if it cannot be booted.
    """
    if given is None or not isinstance(given, str):
        return {"properties": dict((given or {}).get("properties", {}))}
    found = images.get(session, given, EVERYTHING if viewer is None else ImageRequester(viewer))
    if found.status == images.DEACTIVATED:
        raise InvalidValue(message=f"Image {found.uuid} is deactivated and cannot be booted.")
    return {"properties": dict(found.properties), "min_ram": found.min_ram, "min_disk": found.min_disk}


@dataclass(frozen=True)
class DryRunRequest:
    """A flavor and an image, each by its id or written out, and how many candidates are wanted at most.

    ``project``: who asks; flavors and images that it does not see, and nodes of other projects, are not there then.
    None: everything is there.
    """

    flavor: str | Mapping[str, Any]
    image: str | Mapping[str, Any] | None
    boot_from_volume: bool
    limit: int
    project: str | None = None


@dataclass(frozen=True)
class DryRun:
    """The query that placement is asked, and the nodes (UUIDs) that fit, each with the claim that would be made.

    ``reason`` says why no node fits; None if one does.
    """

    query: str
    candidates: list[tuple[str, Amounts]]
    reason: str | None


def machine_request(session: Session, asked: DryRunRequest) -> TreeRequest:
    """Return what the server would ask for.

    Raises FlavorNotFound, ImageNotFound, InvalidValue if the image cannot be booted or the flavor is too small for it,
    and what ``checked_request.build`` raises.
    """
    flavor = find_flavor(session, asked.flavor, asked.project)
    image = find_image(session, asked.image, asked.project)
    # What boots from a volume needs no disk of the machine.
    own_copies.require_room({**flavor, "disk": 0} if asked.boot_from_volume else flavor, image)
    request = extra_specs.build_checked(
        own_copies.flavor_spec(flavor),
        own_copies.properties_of(image),
        boot_from_volume=asked.boot_from_volume,
        limit=asked.limit,
    )
    return TreeRequest(request.query(), extra_specs=flavor["extra_specs"], project=asked.project)


def run(session: Session, settings: Settings, asked: DryRunRequest) -> DryRun:
    """Return the result, in random order. Nothing is claimed, and nothing is locked.

    Raises the errors of ``machine_request`` and of the search. Classes and traits that no node has are not errors.
    """
    request, context = machine_request(session, asked), MachineContext(session, settings)
    found = request.hosts(context, asked.limit)
    reason = None if found else no_valid_host.explain(context, request).message
    return DryRun(request.query, found, reason)
