"""Servers without their API: the domain, as tests drive it."""

from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.compute import server_history
from baremetal_sched.compute.server_history import ServerRequester
from baremetal_sched.compute.servers import servers
from baremetal_sched.compute.servers.servers import NewServers
from baremetal_sched.db.models import Node, Server
from tests.service import Service

T = TypeVar("T")

REQUESTER = ServerRequester("p1", "u1", "req-1")
ZEROS = {"resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}


def flavor(**extra_specs: str) -> dict[str, Any]:
    """A server's copy of a flavor for one machine of class gold, with more extra specs; ``__`` stands for a colon."""
    specs = {
        "resources:CUSTOM_GOLD": "1",
        **ZEROS,
        **{key.replace("__", ":"): value for key, value in extra_specs.items()},
    }
    return {
        "id": "f1", "name": "bm.gold", "vcpus": 4, "ram": 2048, "disk": 20, "ephemeral": 0, "swap": 0,
        "extra_specs": specs,
    }  # fmt: skip


def image(**properties: str) -> dict[str, Any]:
    """A server's copy of an image with these properties; ``__`` stands for a colon."""
    named = {key.replace("__", ":"): value for key, value in properties.items()}
    return {
        "id": "11111111-1111-4111-8111-111111111111",
        "name": "i1",
        "min_ram": 0,
        "min_disk": 0,
        "properties": named,
    }


def within(service: Service, change: Callable[[MachineContext], T]) -> T:
    """Run ``change`` in a transaction that writes."""
    settings = service.app.settings
    return service.database.write(lambda session: change(MachineContext(session, settings)))


def create(service: Service, **asked: Any) -> list[str]:
    """Create servers; returns their UUIDs."""
    values = {"name": "s", "flavor": flavor(), "image": image(), "admin_password": "secret-1", **asked}
    return within(
        service, lambda context: [server.uuid for server in servers.create(context, NewServers(**values), REQUESTER)]
    )


def boot(service: Service, **asked: Any) -> dict[str, Any]:
    """Create a server; returns what became of it."""
    (uuid,) = create(service, **asked)
    return show(service, uuid)


def show(service: Service, uuid: str) -> dict[str, Any]:
    """The parts of a server that tests check; an empty dictionary if it is gone."""

    def read(session: Session) -> dict[str, Any]:
        server = session.scalars(select(Server).where(Server.uuid == uuid)).first()
        if server is None:
            return {}
        node = session.scalars(select(Node).where(Node.instance_uuid == uuid)).first()
        state = servers.state_of(server, node)
        return {
            "uuid": uuid,
            "name": server.name,
            "status": state.status,
            "task_state": state.task_state,
            "fault": (server.fault or {}).get("message"),
            "details": (server.fault or {}).get("details"),
            "node": None if node is None else node.uuid,
            "tried": server.tried_nodes,
            "actions": [
                (entry.action, [(event["result"], event["details"]) for event in entry.events])
                for entry in server_history.list_actions(session, server.id)
            ],
        }

    return service.database.read(read)


def delete(service: Service, uuid: str) -> None:
    """Delete a server."""
    within(
        service,
        lambda context: servers.delete(context, servers.find_for_change(context.session, uuid, None), REQUESTER),
    )


def held(service: Service, uuid: str) -> dict[str, dict[str, int]]:
    """The server's allocations in placement, by provider."""
    allocations = service.placement("GET", f"/allocations/{uuid}").json["allocations"]
    return {provider: amounts["resources"] for provider, amounts in allocations.items()}
