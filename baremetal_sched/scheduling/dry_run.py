"""Dry runs: the machine that a server of a flavor and an image would get, if it were created now."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.request import Amounts, MachineContext
from baremetal_sched.baremetal.matching.several import fitting_many
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.compute.flavors import extra_specs, flavors
from baremetal_sched.compute.hosts import own_copies
from baremetal_sched.compute.hosts.booting import no_valid_host
from baremetal_sched.errors import InvalidValue
from baremetal_sched.explain.explanations import explain_request
from baremetal_sched.image import images
from baremetal_sched.image.access import EVERYTHING, ImageRequester
from baremetal_sched.scheduling import machine_groups
from baremetal_sched.settings import Settings

_AMOUNTS = ("vcpus", "ram", "disk", "ephemeral", "swap")


def find_flavor(session: Session, flavor: str | Mapping[str, Any], viewer: str | None) -> dict[str, Any]:
    """Return the flavor: the one with this id, or the one that is written out; missing amounts are 0.

    ``viewer``: the project that must see it; None: all flavors are seen. Raises FlavorNotFound.
    """
    if isinstance(flavor, str):
        row = flavors.find(session, flavor, viewer)
        amounts = (row.vcpus, row.memory_mb, row.root_gb, row.ephemeral_gb, row.swap_mb)
        return dict(zip(_AMOUNTS, amounts, strict=True)) | {"extra_specs": dict(row.extra_specs)}
    extra_specs = {key: str(value) for key, value in flavor.get("extra_specs", {}).items()}
    return {name: flavor.get(name, 0) for name in _AMOUNTS} | {"extra_specs": extra_specs}


def find_image(session: Session, image: str | Mapping[str, Any] | None, viewer: str | None) -> dict[str, Any]:
    """Return the image: the one with this UUID, the one that is written out, or one without properties.

    Raises ImageNotFound, and InvalidValue if it cannot be booted.
    """
    if image is None or not isinstance(image, str):
        return {"properties": dict((image or {}).get("properties", {}))}
    row = images.get(session, image, EVERYTHING if viewer is None else ImageRequester(viewer))
    if row.status == images.DEACTIVATED:
        raise InvalidValue(message=f"Image {row.uuid} is deactivated and cannot be booted.")
    return {"properties": dict(row.properties), "min_ram": row.min_ram, "min_disk": row.min_disk}


@dataclass(frozen=True)
class DryRunRequest:
    """A flavor and an image, each by its id or written out, and how many candidates are wanted at most.
    ``several``: the group of the request.

    ``project``: the caller's. Flavors and images that it does not see, and nodes of other projects, do not exist for
    it. None: everything is visible.
    """

    flavor: str | Mapping[str, Any]
    image: str | Mapping[str, Any] | None
    boot_from_volume: bool
    limit: int
    project: str | None = None
    several: Several | None = None


@dataclass(frozen=True)
class DryRun:
    """The query of placement, and the nodes (UUIDs) that fit, each with the claim that would be made.

    ``reason`` says why no node fits; None if one does.
    """

    query: str
    candidates: list[tuple[str, Amounts]]
    reason: str | None


def machine_request(session: Session, request: DryRunRequest) -> TreeRequest:
    """Return the server's request. Raises FlavorNotFound, ImageNotFound, InvalidValue if the image cannot be booted or
    the flavor is too small for it, and the errors of ``checked_request.build``.
    """
    flavor = find_flavor(session, request.flavor, request.project)
    image = find_image(session, request.image, request.project)
    # What boots from a volume needs no disk of the machine.
    own_copies.require_room({**flavor, "disk": 0} if request.boot_from_volume else flavor, image)
    checked = extra_specs.build_checked(
        own_copies.flavor_spec(flavor),
        own_copies.properties_of(image),
        boot_from_volume=request.boot_from_volume,
        limit=request.limit,
    )
    specs, project = flavor["extra_specs"], request.project
    return TreeRequest(checked.query(), extra_specs=specs, project=project, several=request.several)


def run(session: Session, settings: Settings, request: DryRunRequest, consumer: str) -> DryRun:
    """Return the result for a project that is the ``consumer``, in random order; for several machines at once, those of
    one choice. Nothing is claimed, and nothing is locked.

    Raises the errors of ``machine_request`` and of the search. Classes and traits that no node has are not errors.
    """
    resolved = machine_groups.asked(session, consumer, machine_request(session, request), names_nodes=True)
    context = MachineContext.of_project(session, settings, request.project)
    if resolved.several is not None:
        hosts = fitting_many(context, resolved)
        why = None if hosts else explain_request(context, resolved).summary
        return DryRun(resolved.query, hosts, why)
    hosts = resolved.hosts(context, request.limit)
    reason = None if hosts else no_valid_host(context, resolved).message
    return DryRun(resolved.query, hosts, reason)
