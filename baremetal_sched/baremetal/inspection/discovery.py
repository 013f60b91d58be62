"""Auto-discovery: an agent on a machine that is not enrolled reports what it found, and the machine becomes a node."""

import uuid as uuid_module
from collections.abc import Iterable, Mapping
from typing import Any

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.models import Node
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.baremetal import AgentNotKnown, MachineNotKnown, NoConductors
from baremetal_sched.machines import states
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: The kind of work that is to make ports and properties of what was found.
KIND = "discovery"
#: A flag in the plugin data of nodes that were enrolled by auto-discovery.
FLAG = "auto_discovered"


#: UUIDs of nodes follow from the addresses of their machines, within this name space.
_MACHINES = uuid_module.UUID("5b6f7a52-6a0f-4c53-9d4e-0f1c8a7d2e31")


def enrol(session: Session, addresses: Iterable[str], membership: Membership, settings: Settings) -> Node:
    """Return a node, to be managed when its settings are complete, for an unknown machine with these addresses.

    A machine that was enrolled before, but got no ports because its inspection failed, becomes the same node again.
    Raises AgentNotKnown if auto-discovery is off, and NoConductors, upon which agents try again, if a node cannot be
    enrolled.
    """
    if not settings.auto_discovery.enabled:
        raise MachineNotKnown(reason="no node that waits for an inspection has any of its addresses")
    uuid = str(uuid_module.uuid5(_MACHINES, " ".join(sorted(set(addresses)))))
    known = session.scalars(select(Node).where(Node.uuid == uuid).with_for_update()).first()
    if known is not None and known.provision_state != states.ENROLL:
        reason = f"its machine was discovered before, and the node is in provision state '{known.provision_state}'"
        raise AgentNotKnown(reason=reason, nodes=[uuid])
    return known or _create(session, uuid, membership, settings)


def _create(session: Session, uuid: str, membership: Membership, settings: Settings) -> Node:
    values = {"uuid": uuid, "driver": settings.auto_discovery.driver}
    try:
        node = nodes.create(session, values, initial_state=states.ENROLL, membership=membership, settings=settings)
    except SchedulerError as error:
        log.error("discovered a machine that cannot be enrolled", reason=str(error))
        raise NoConductors from None
    # What the database sets by default is not known before.
    session.flush()
    session.refresh(node)
    log.info("discovered a machine", node=node.uuid, driver=node.driver)
    return node


def examine(session: Session, node: Node, membership: Membership, data: Mapping[str, Mapping[str, Any]]) -> None:
    """Request work from the conductor of the node on ``data`` of an inspection: ``inventory`` and ``plugin_data``.

    Raises NodeLocked, NoValidHost, NoConductors.
    """
    owner = membership.require_owner(node.uuid, node.conductor_group, node.driver)
    nodes.require_unlocked(node)
    plugin_data = {**data["plugin_data"], FLAG: True}
    work_queue.request(session, node, owner, KIND, {**data, "plugin_data": plugin_data})
