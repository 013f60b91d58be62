"""Server groups as tests use them: their servers, and racks of machines."""

from collections import Counter
from typing import Any

from sqlalchemy import select

from baremetal_sched.baremetal.domains import domains, members
from baremetal_sched.db.models import Domain, DomainMember, Node
from tests.functional.compute.test_servers import add_flavor, add_image, boot, show
from tests.service import Service


def make(service: Service, policy: str = "anti-affinity", most: int | None = None, **more: Any) -> str:
    """A server group; returns its UUID."""
    rules = {} if most is None else {"rules": {"max_server_per_host": most}}
    body = {"server_group": {"name": "g", "policy": policy, **rules}}
    uuid: str = service.compute("POST", "/os-server-groups", body, **more).json["server_group"]["id"]
    return uuid


def get(service: Service, uuid: str, **more: Any) -> dict[str, Any]:
    document: dict[str, Any] = service.compute("GET", f"/os-server-groups/{uuid}", **more).json["server_group"]
    return document


def put(service: Service, rack: str, *nodes: str) -> None:
    """Put nodes (UUIDs) into a rack, which is made if need be."""

    def change(session: Any) -> None:
        found = session.scalars(select(Domain).where(Domain.name == rack)).first()
        domain = found or domains.create(session, rack, "rack")
        ids = session.scalars(select(Node.id).where(Node.uuid.in_(nodes)))
        members.place(session, {node: [domain] for node in ids}, members.PERSON)

    service.database.write(change)


def racks(service: Service, group: str) -> Counter[str | None]:
    """How many members of the group are in which rack; ``None``: in no rack."""
    inside = DomainMember.node_id == Node.id
    query = select(Node.instance_uuid, Domain.name).outerjoin(DomainMember, inside)
    query = query.outerjoin(Domain, Domain.id == DomainMember.domain_id)
    where = dict(map(tuple, service.database.read(lambda session: session.execute(query).all())))
    return Counter(where[uuid] for uuid in get(service, group)["members"] if uuid in where)


def fleet(service: Service, **sizes: int) -> dict[str, list[str]]:
    """Nodes in racks, as many as are said; in the rack ``no``: in none. Returns their UUIDs."""
    found = {rack: [service.add_node(f"{rack}-{number}") for number in range(size)] for rack, size in sizes.items()}
    for rack, nodes in found.items():
        if rack != "no":
            put(service, rack, *nodes)
    return found


class Cloud:
    """A service with a level, a flavor and an image."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.flavor, self.image = add_flavor(service), add_image(service)

    def boot(self, group: str | None, count: int = 1, **more: Any) -> str:
        """Boot servers in the group; returns what became of the first: its status, or its fault."""
        hints = more.pop("hints", {}) | ({"group": group} if group else {})
        asked = {"min_count": count, "max_count": count} if count > 1 else {}
        answer = boot(self.service, self.flavor, self.image, hints=hints, **asked, **more)
        found = show(self.service, answer.json["server"]["id"])
        fault: str = found.get("fault", {}).get("message", found["status"])
        return fault

    def boots(self, group: str, number: int) -> list[str]:
        return [self.boot(group) for _ in range(number)]
