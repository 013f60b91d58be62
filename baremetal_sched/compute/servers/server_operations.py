"""Operations on a server that has a machine: power, rescue and rebuilding, and locking the server."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.hardware import power
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.provisioning import provision
from baremetal_sched.baremetal.provisioning.provision import Order
from baremetal_sched.compute import availability_zones, server_history, server_states
from baremetal_sched.compute.flavors import extra_specs
from baremetal_sched.compute.flavors.resource_request import required_by_image
from baremetal_sched.compute.hosts import booting, instance_info, own_copies
from baremetal_sched.compute.server_history import ServerRequester
from baremetal_sched.compute.servers.servers import Locked
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Server
from baremetal_sched.errors import ForbiddenError, InvalidError, NotFoundError
from baremetal_sched.errors.compute import FlavorForbidsTraits, MachineLacksTraits, MachineRefuses, ServerLocked
from baremetal_sched.image import properties as properties_of_images
from baremetal_sched.machines import states
from baremetal_sched.placement import consumers


def require_unlocked(server: Server, *, is_admin: bool) -> None:
    """Raise ServerLocked if the server is locked and the caller is not an administrator."""
    if server.locked and not is_admin:
        raise ServerLocked(server=server.uuid)


@contextmanager
def refused_by_machine(action: str, server: Server) -> Iterator[None]:
    """Within this, a refusal by the bare metal side becomes MachineRefuses: the request itself was sound."""
    try:
        yield
    except (InvalidError, ForbiddenError, NotFoundError) as error:
        raise MachineRefuses(action=action, server=server.uuid, reason=str(error)) from error


def start(context: MachineContext, locked: Locked, requester: ServerRequester) -> None:
    """Switch the machine on. Raises ServerStateRefused, MachineRefuses, NodeLocked, NoConductors."""
    _switch(context, locked, requester, "start", states.POWER_ON, server_states.POWERING_ON)


def stop(context: MachineContext, locked: Locked, requester: ServerRequester) -> None:
    """Switch the machine off. Raises like ``start``."""
    _switch(context, locked, requester, "stop", states.POWER_OFF, server_states.POWERING_OFF)


def reboot(context: MachineContext, locked: Locked, requester: ServerRequester, *, hard: bool) -> None:
    """Restart the machine, or, if it is not ``hard``, ask its system to. Raises like ``start``."""
    if hard:
        _switch(context, locked, requester, "reboot_hard", states.REBOOT, server_states.REBOOTING_HARD)
    else:
        _switch(context, locked, requester, "reboot", states.SOFT_REBOOT, server_states.REBOOTING)


def _switch(
    context: MachineContext, locked: Locked, requester: ServerRequester, action: str, target: str, task: str
) -> None:
    node, server = locked.require_accepted(action), locked.server
    name = action.removesuffix("_hard")
    with refused_by_machine(name, server):
        power.request(context.session, node, target, None, context.membership)
    _note(context.session, server, name, requester, task)


def rescue(
    context: MachineContext, locked: Locked, requester: ServerRequester, *, password: str, hashed_password: str
) -> None:
    """Boot a rescue system in which root has the password ``password``. Raises like ``start``."""
    order = Order("rescue", rescue_password=password, hashed_rescue_password=hashed_password)
    _provision(context, locked, requester, order, server_states.RESCUING)


def unrescue(context: MachineContext, locked: Locked, requester: ServerRequester) -> None:
    """Boot the instance again. Raises like ``start``."""
    _provision(context, locked, requester, Order("unrescue"), server_states.UNRESCUING)


def _provision(context: MachineContext, locked: Locked, requester: ServerRequester, order: Order, task: str) -> None:
    node, server = locked.require_accepted(order.verb), locked.server
    with refused_by_machine(order.verb, server):
        provision.request(context.session, node, order, context.membership, context.settings)
    _note(context.session, server, order.verb, requester, task)


def _note(session: Session, server: Server, action: str, requester: ServerRequester, task: str) -> None:
    server.task = task
    server.updated_at = utcnow()
    server_history.begin(session, server, action, requester)


def lock(session: Session, server: Server, requester: ServerRequester, reason: str | None) -> None:
    """Lock the server: until it is unlocked only administrators change it."""
    server.locked, server.locked_reason = True, reason
    server_history.end(server_history.begin(session, server, "lock", requester))


def unlock(session: Session, server: Server, requester: ServerRequester) -> None:
    """Unlock the server."""
    server.locked, server.locked_reason = False, None
    server_history.end(server_history.begin(session, server, "unlock", requester))


# -- rebuilding --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rebuild:
    """A request to rebuild. ``image`` is the copy that the server is to keep; ``changes`` are columns of the server
    that change too, for example its name."""

    image: Mapping[str, Any]
    admin_password: str
    preserve_ephemeral: bool | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)


def rebuild(context: MachineContext, locked: Locked, request: Rebuild, requester: ServerRequester) -> None:
    """Deploy an image on the server's machine. A refused request changes nothing.

    A new image is compared with what the server holds before anything is touched: the traits that it requires must
    be those of providers in the server's own allocation. A provider of the same tree that the server does not hold does
    not count.

    Raises ServerStateRefused; FlavorForbidsTraits, MachineLacksTraits, InvalidImageProperty and InvalidValue for an
    image that does not fit; MachineRefuses, NodeLocked, NoConductors and TooManyAtOnce if the machine cannot be
    deployed now.
    """
    node, server = locked.require_accepted("rebuild"), locked.server
    was_off = locked.state.vm_state == server_states.STOPPED
    if request.image["id"] != server.image_id:
        _require_fit(context, server, request.image)
    records.change(server, request.changes)
    server.image, server.image_id = dict(request.image), request.image["id"]
    zone = availability_zones.zone_of(node.conductor_group, context.settings.compute.default_availability_zone)
    drive = instance_info.build_config_drive(server, node, zone, request.admin_password)
    info = booting.instance_info_of(context, server, node, preserve_ephemeral=request.preserve_ephemeral or False)
    node.instance_info = info | {"configdrive": drive}
    node.instance_name = server.name
    with refused_by_machine("rebuild", server):
        provision.request(context.session, node, Order("rebuild", checked=False), context.membership, context.settings)
    server.task, server.fault = server_states.REBUILDING, None
    server.power_after_task = states.POWER_OFF if was_off else states.POWER_ON
    server.updated_at = utcnow()
    server_history.begin(context.session, server, "rebuild", requester)


def _require_fit(context: MachineContext, server: Server, image: Mapping[str, Any]) -> None:
    own_copies.require_room(server.flavor, image)
    properties_of_images.check_bootable(image["properties"])
    required = required_by_image(image["properties"])
    forbidden = required & extra_specs.forbidden_anywhere(server.flavor["extra_specs"])
    if forbidden:
        raise FlavorForbidsTraits(server=server.uuid, traits=", ".join(sorted(forbidden)))
    missing = required - consumers.traits_held_by(context.session, server.uuid) if required else ()
    if missing:
        raise MachineLacksTraits(server=server.uuid, traits=", ".join(sorted(missing)))
