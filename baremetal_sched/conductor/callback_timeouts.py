"""Time-outs of nodes that wait for an agent."""

from datetime import UTC, datetime
from functools import partial

import structlog
from sqlalchemy import and_, select

from baremetal_sched.baremetal.provisioning import releasing
from baremetal_sched.conductor.host import Host
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Node
from baremetal_sched.machines import states

log = structlog.get_logger(__name__)

#: State, the option with its time limit, and the operation in progress.
_WAITS = (
    (states.DEPLOYWAIT, "deploy_callback_timeout", "deploying the node"),
    (states.CLEANWAIT, "clean_callback_timeout", "cleaning the node"),
    (states.INSPECTWAIT, "inspect_wait_timeout", "inspecting the node"),
    (states.RESCUEWAIT, "rescue_callback_timeout", "rescuing the node"),
    (states.SERVICEWAIT, "service_callback_timeout", "servicing the node"),
)


def fail_late(host: Host) -> None:
    """Fail the nodes of this conductor that have been waiting for longer than the options allow."""
    now = host.database.read(lambda session: session.scalar(select(epoch())) or 0)
    for state, option, doing in _WAITS:
        timeout: float = getattr(host.settings.conductor, option)
        if not timeout:
            continue
        since = datetime.fromtimestamp(now - timeout, UTC).replace(tzinfo=None)
        late = and_(Node.provision_state == state, Node.reservation.is_(None), Node.provision_updated_at <= since)
        reason = (
            f"Timeout reached while {doing}: nothing was heard of the agent on the machine for {timeout:g} seconds."
        )
        for node_id in host.own(late):
            failed = host.database.write(
                partial(releasing.fail, node_id=node_id, condition=late, conductor=host.name, reason=reason)
            )
            if failed:
                log.warning("a node waited too long", conductor=host.name, node_id=node_id, state=state)
