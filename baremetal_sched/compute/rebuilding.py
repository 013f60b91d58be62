"""Rebuilding: another image, or the same again, on the machine that the server has.

A new image is compared with what the server holds before anything is touched: the traits that it requires have to be
those of providers in the server's own allocation. A provider of the same tree that the server does not hold does not
count.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.provisioning import provision
from baremetal_sched.baremetal.provisioning.provision import Order
from baremetal_sched.compute import (
    availability_zones,
    booting,
    extra_specs,
    image_values,
    instance_info,
    server_history,
    server_states,
    servers,
)
from baremetal_sched.compute.booting import BootContext
from baremetal_sched.compute.resource_request import required_by_image
from baremetal_sched.compute.server_history import ServerRequester
from baremetal_sched.compute.server_operations import asked_of_machine
from baremetal_sched.compute.servers import Locked
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Server
from baremetal_sched.errors.compute import FlavorForbidsTraits, MachineLacksTraits
from baremetal_sched.image import properties as properties_of_images
from baremetal_sched.machines import states
from baremetal_sched.placement import allocations as claims


@dataclass(frozen=True)
class Rebuild:
    """What a request asks for. ``image`` is the copy that the server is to keep; ``changes`` are columns of the server
    that change too, such as its name."""

    image: Mapping[str, Any]
    admin_password: str
    preserve_ephemeral: bool | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)


def rebuild(context: BootContext, locked: Locked, asked: Rebuild, requester: ServerRequester) -> None:
    """Deploy an image on the server's machine. What is refused changes nothing.

    Raises ServerStateRefused; FlavorForbidsTraits, MachineLacksTraits, InvalidImageProperty and InvalidValue for an
    image that does not fit; MachineRefuses, NodeLocked, NoConductors and TooManyAtOnce if the machine cannot be
    deployed now.
    """
    node, server = locked.require_accepted("rebuild"), locked.server
    was_off = locked.state.vm_state == server_states.STOPPED
    if asked.image["id"] != server.image_id:
        _require_fit(context, server, asked.image)
    records.change(server, asked.changes)
    server.image, server.image_id = dict(asked.image), asked.image["id"]
    zone = availability_zones.zone_of(node.conductor_group, context.settings.compute.default_availability_zone)
    drive = instance_info.build_config_drive(server, node, zone, asked.admin_password)
    info = booting.instance_info_of(context, server, node, preserve_ephemeral=asked.preserve_ephemeral or False)
    node.instance_info = info | {"configdrive": drive}
    node.instance_name = server.name
    with asked_of_machine("rebuild", server):
        provision.request(context.session, node, Order("rebuild", checked=False), context.membership, context.settings)
    server.task, server.fault = server_states.REBUILDING, None
    server.power_after_task = states.POWER_OFF if was_off else states.POWER_ON
    server.updated_at = utcnow()
    server_history.begin(context.session, server, "rebuild", requester)


def _require_fit(context: BootContext, server: Server, image: Mapping[str, Any]) -> None:
    servers.require_room(server.flavor, image)
    properties_of_images.check(image["properties"])
    image_values.check(image["properties"])
    required = required_by_image(image["properties"])
    forbidden = required & extra_specs.forbidden_anywhere(server.flavor["extra_specs"])
    if forbidden:
        raise FlavorForbidsTraits(server=server.uuid, traits=", ".join(sorted(forbidden)))
    missing = required - claims.traits_held_by(context.session, server.uuid) if required else ()
    if missing:
        raise MachineLacksTraits(server=server.uuid, traits=", ".join(sorted(missing)))
