"""Servers: creating, finding, changing and deleting them."""

import secrets
import uuid as uuid_module
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.nodes.nodes import find as find_node
from baremetal_sched.compute import server_group_places, server_groups, server_history, server_states
from baremetal_sched.compute.availability_zones import zone_of
from baremetal_sched.compute.flavors import extra_specs
from baremetal_sched.compute.hosts import booting, instance_info, own_copies
from baremetal_sched.compute.hosts.node_changes import release_claim
from baremetal_sched.compute.server_history import Reason, ServerRequester
from baremetal_sched.compute.server_states import NodeState, ServerState
from baremetal_sched.compute.servers import follow_up, waiting_servers
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, Server, ServerGroup, ServerTag
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.errors.compute import PinRefused, ServerNotFound
from baremetal_sched.placement import ends, waiting_requests
from baremetal_sched.placement.ends import End

#: Most servers that one request may ask for.
MOST_AT_ONCE = 100

#: The most characters that the name of a server has.
LONGEST_NAME = 255


@dataclass(frozen=True)
class NewServers:
    """A request for servers. ``flavor`` and ``image`` are the copies that the servers keep (``own_copies``).

    ``node`` is the UUID or the name of the node that the server must be on, ``zone`` an availability zone. ``wait``:
    for how many seconds the server may wait for a machine; None: as the settings say. ``end``: that of each of them.
    ``group``: the row is locked.
    """

    name: str
    flavor: Mapping[str, Any]
    image: Mapping[str, Any]
    admin_password: str
    count: int = 1
    hostname: str | None = None
    description: str | None = None
    keypair: Mapping[str, Any] | None = None
    user_data: str | None = None
    config_drive: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    tags: Sequence[str] = ()
    security_groups: Sequence[str] = ("default",)
    scheduler_hints: Mapping[str, Any] = field(default_factory=dict)
    zone: str | None = None
    node: str | None = None
    wait: int | None = None
    end: End | None = None
    group: ServerGroup | None = None
    disk_config: str = "MANUAL"
    access_ip_v4: str | None = None
    access_ip_v6: str | None = None


def create(context: MachineContext, new: NewServers, requester: ServerRequester) -> list[Server]:
    """Create servers: each is on a machine and being deployed, or in error with a fault; all or none. A single one may
    wait for a machine instead.

    Raises InvalidValue and the errors of ``checked_request.build`` for invalid values, TooManyInServerGroup,
    CannotWait, TooManyServersWait and WaitingNotServed if a server cannot wait that is to, and StaleDataError if all
    machines that fit are being taken by other transactions.
    """
    _check(new)
    context = context.with_end(ends.at_once(context.session, new.end) if new.count > 1 else new.end)
    if new.group is not None:
        server_groups.require_room(context.session, new.group, new.count, context.settings.quota.server_group_members)
    node = _node(context.session, new.node)
    reservation = f"r-{secrets.token_hex(4)}"
    servers = [
        _new_server(new, number, node=node, reservation=reservation, requester=requester) for number in range(new.count)
    ]
    request = own_copies.machine_request(servers[0], context.settings, new.group)
    places = server_group_places.of_request(context, request)
    waiting_servers.set_deadline(servers, request, new.wait, context.settings)

    def wait(server: Server, why: Reason) -> None:
        waiting_servers.wait(context, server, request, why, new.admin_password)

    drive = waiting_servers.drive_of(context, new.admin_password)
    booting.boot(context, servers, request, drive, requester, wait, places)
    if new.group is not None:
        server_groups.add(context.session, new.group, servers)
    tags = [ServerTag(server_id=server.id, tag=tag) for server in servers for tag in dict.fromkeys(new.tags)]
    context.session.add_all(tags)
    return servers


def _check(new: NewServers) -> None:
    last = _suffix(new, new.count - 1)
    if len(new.name) + len(last) > LONGEST_NAME:
        raise InvalidValue(
            message=f"The name may have at most {LONGEST_NAME - len(last)} characters, since {new.count} servers are "
            f"requested, and '{last}' is added to the name of the last one."
        )
    if new.hostname and new.count > 1:
        raise InvalidValue(message="Unable to allocate a single hostname to multiple instances")
    flavor, image = new.flavor, new.image
    extra_specs.build_checked(own_copies.flavor_spec(flavor), own_copies.properties_of(image))
    own_copies.require_room(flavor, image)
    if new.user_data is not None:
        instance_info.decoded_config_drive(new.user_data)


def _suffix(new: NewServers, number: int) -> str:
    """Return what is added to the names of several servers; ``number`` counts from 0."""
    return "" if new.count == 1 else f"-{number + 1}"


def _node(session: Session, ident: str | None) -> str | None:
    """Return the UUID of a node that a request names."""
    if ident is None:
        return None
    try:
        return find_node(session, ident).uuid
    except NodeNotFound:
        raise InvalidValue(message=f"Compute host {ident} could not be found.") from None


def _new_server(
    new: NewServers, number: int, *, node: str | None, reservation: str, requester: ServerRequester
) -> Server:
    uuid, suffix = str(uuid_module.uuid4()), _suffix(new, number)
    return Server(
        uuid=uuid,
        name=new.name + suffix,
        hostname=new.hostname or instance_info.host_name_of(new.name, uuid, suffix),
        description=new.description,
        project_id=requester.project_id,
        user_id=requester.user_id,
        flavor=dict(new.flavor),
        flavor_id=new.flavor["id"],
        image=dict(new.image),
        image_id=new.image["id"],
        keypair=dict(new.keypair) if new.keypair else None,
        user_data=new.user_data,
        config_drive=new.config_drive,
        user_metadata=dict(new.metadata),
        security_groups=list(new.security_groups),
        scheduler_hints=dict(new.scheduler_hints),
        requested_zone=new.zone,
        requested_node=node,
        reservation_id=reservation,
        launch_index=number,
        disk_config=new.disk_config,
        access_ip_v4=new.access_ip_v4,
        access_ip_v6=new.access_ip_v6,
        locked=False,
        tried_nodes=[],
        created_at=utcnow(),
        updated_at=utcnow(),
    )


# -- finding -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Locked:
    """A server and its node, both rows locked; the node may be None."""

    server: Server
    node: Node | None

    @property
    def state(self) -> ServerState:
        """The state that the server is in."""
        return state_of(self.server, self.node)

    def require_accepted(self, action: str) -> Node:
        """Return the node. Raises ServerStateRefused unless ``action`` may be asked of the server now."""
        state = self.state
        server_states.require_accepted(action, self.server.uuid, state)
        if self.node is None:
            server_states.refuse(action, self.server.uuid, state)
        return self.node


def state_of(server: Server, node: Node | None) -> ServerState:
    """Return the state of a server that is on ``node``."""
    if node is None:
        return server_states.state_of(server.task, None, None)
    seen = NodeState(node.provision_state, node.power_state, node.target_power_state)
    return server_states.state_of(server.task, server.power_after_task, seen)


def find(session: Session, uuid: str, project: str | None) -> Server:
    """Return the server with this UUID, of the project if one is given. Raises ServerNotFound."""
    canonical = canonical_uuid(uuid)
    query = select(Server).where(Server.uuid == canonical)
    if project is not None:
        query = query.where(Server.project_id == project)
    server: Server | None = session.scalars(query).first() if canonical else None
    if server is None:
        raise ServerNotFound(server=uuid)
    return server


def find_for_change(session: Session, uuid: str, project: str | None) -> Locked:
    """Return the server and its node, locked until the transaction ends. Raises ServerNotFound.

    The node comes first, as everywhere; a server without one may have a claim that waits, which comes before it. Raises
    StaleDataError if the server has been given a node.
    """
    canonical = canonical_uuid(uuid) or ""
    if project is not None:
        find(session, canonical, project)  # without a lock, so that others are not blocked
    on = select(Node).where(Node.instance_uuid == canonical)
    node = session.scalars(on.with_for_update()).first()
    if node is None:
        waiting_requests.find(session, canonical, lock=True)
    query = select(Server).where(Server.uuid == canonical).with_for_update()
    server = session.scalars(query).first()
    if server is None:
        raise ServerNotFound(server=uuid)
    if node is None and session.scalars(on.with_only_columns(Node.id)).first() is not None:
        raise StaleDataError("the server was given a node")
    return Locked(server, node)


# -- changing and deleting ---------------------------------------------------------------------------------------------


def update(session: Session, server: Server, values: Mapping[str, Any]) -> None:
    """Set name, hostname, description, access addresses or the disk configuration."""
    records.change(server, values)


def pin(locked: Locked, zone: str | None, default_zone: str) -> None:
    """Pin the server to the zone that it is in, or to none.

    Nothing changes for a server that is in a zone, except where it may be deployed next. Raises PinRefused.
    """
    server, node = locked.server, locked.node
    pinned, current = server.requested_zone, None if node is None else zone_of(node.conductor_group, default_zone)
    if zone not in (None, pinned):
        if pinned is not None:
            reason = f"it is pinned to {pinned}. Unpin it first: set pinned_availability_zone to null."
            raise PinRefused(zone=zone, reason=reason)
        if zone != current:
            raise PinRefused(zone=zone, reason=f"it is in {current}." if current else "it has no machine yet.")
    records.change(server, {"requested_zone": zone})


def delete(context: MachineContext, locked: Locked, requester: ServerRequester) -> None:
    """Delete a server: at once if it has no machine, otherwise as soon as that is undeployed.

    Raises NodeProtected, and InvalidValue if the machine cannot be undeployed.
    """
    server, node = locked.server, locked.node
    if node is None:
        if server.task == server_states.SCHEDULING:
            waiting_requests.leave(context.session, server.uuid)
        release_claim(context.session, server)
        context.session.delete(server)
        return
    if locked.state.task_state == server_states.DELETING:
        return
    server_history.begin(context.session, server, "delete", requester)
    follow_up.begin_deletion(context, server, node)
