"""Servers that an action stops: named to callers who see them in the compute API, counted to others."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, and_, case, or_, select, true
from sqlalchemy.orm import Session

from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.db.models import Allocation, Consumer, GroupMember, Node, ResourceProvider, Server
from baremetal_sched.placement.waiting_requests import CLAIM
from baremetal_sched.scheduling.api.policies import ALL_CLAIMS
from baremetal_sched.ui.call import UiCall


@dataclass
class StoppedServers:
    """The machines that an action is about, and the servers on them.

    ``items``: the items that have machines which the caller may know of; ``named``: what is on the machines of each
    item, in words; ``machines``: their number; ``servers``: the number of those that are named; ``hidden``: that of the
    others.
    """

    machines: int = 0
    servers: int = 0
    hidden: int = 0
    items: frozenset[str] = frozenset()
    named: dict[str, list[str]] = field(default_factory=dict)


def of_nodes(call: UiCall, session: Session, nodes: Collection[str]) -> StoppedServers:
    """Return what is on these nodes (UUIDs), of those that the caller sees. One statement."""
    return _read(call, session, {uuid: uuid for uuid in nodes}, call.visible.conditions(), with_names=False)


def of_claims(call: UiCall, session: Session, claims: Collection[str]) -> StoppedServers:
    """Return what is on the machines of these claims (UUIDs), with the names of the machines, as far as the caller sees
    them. Two statements.

    SELECT p.uuid, coalesce(g.claim, c.uuid) FROM consumers c JOIN allocations a … JOIN resource_providers p …
    LEFT JOIN group_members g … WHERE c.uuid IN (…) OR g.claim IN (…)
    """
    query = select(ResourceProvider.uuid, GroupMember.claim, Consumer.uuid).select_from(Consumer)
    query = query.join(Allocation, Allocation.consumer_id == Consumer.id)
    query = query.join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
    query = query.outerjoin(GroupMember, GroupMember.consumer_id == Consumer.id)
    conditions = [or_(Consumer.uuid.in_(claims), GroupMember.claim.in_(claims)), Consumer.request_kind == CLAIM]
    if not call.allows(ALL_CLAIMS):
        conditions.append(Consumer.project_id == (call.caller.project_id or ""))
    rows = session.execute(query.where(*conditions))
    return _read(call, session, {node: claim or uuid for node, claim, uuid in rows}, (), with_names=True)


def _read(
    call: UiCall, session: Session, items: Mapping[str, str], seen: Collection[ColumnElement[bool]], *, with_names: bool
) -> StoppedServers:
    """``items``: the item of each node; ``seen``: conditions of the nodes that count.

    SELECT n.uuid, CASE WHEN <it is seen> THEN n.name END, s.name, s.uuid, s.project_id FROM nodes n
    LEFT JOIN servers s ON s.uuid = n.instance_uuid WHERE …
    """
    found = StoppedServers(items=frozenset(items.values()))
    name = case((and_(true(), *call.visible.conditions()), Node.name))
    query = select(Node.uuid, name, Server.uuid, Server.name, Server.project_id)
    query = query.outerjoin(Server, Server.uuid == Node.instance_uuid).where(Node.uuid.in_(items), *seen)
    sees_servers, viewer = call.compute.allows(name_of("servers", "index")), call.compute.viewer
    for node, known, server, called, project in session.execute(query.order_by(Node.name, Node.id)):
        found.machines += 1
        words = [known or node] if with_names else []
        if server is not None and sees_servers and viewer in (None, project):
            found.servers += 1
            words.append(f"server {called or server} of project {project}")
        elif server is not None:
            found.hidden += 1
        if words:
            found.named.setdefault(items[node], []).append(", ".join(words))
    return found
