"""Operations on a server that has a machine: power, rescue, and locking the server."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.hardware import power
from baremetal_sched.baremetal.provisioning import provision
from baremetal_sched.baremetal.provisioning.provision import Order
from baremetal_sched.compute import server_history, server_states
from baremetal_sched.compute.booting import BootContext
from baremetal_sched.compute.server_history import ServerRequester
from baremetal_sched.compute.servers import Locked
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Server
from baremetal_sched.errors import ForbiddenError, InvalidError, NotFoundError
from baremetal_sched.errors.compute import MachineRefuses, ServerLocked
from baremetal_sched.machines import states


def require_unlocked(server: Server, *, is_admin: bool) -> None:
    """Raise ServerLocked if the server is locked and the caller is not an administrator."""
    if server.locked and not is_admin:
        raise ServerLocked(server=server.uuid)


@contextmanager
def asked_of_machine(action: str, server: Server) -> Iterator[None]:
    """Within this, what the bare metal side refuses is MachineRefuses: the request itself was sound."""
    try:
        yield
    except (InvalidError, ForbiddenError, NotFoundError) as error:
        raise MachineRefuses(action=action, server=server.uuid, reason=str(error)) from error


def start(context: BootContext, locked: Locked, requester: ServerRequester) -> None:
    """Switch the machine on. Raises ServerStateRefused, MachineRefuses, NodeLocked, NoConductors."""
    _switch(context, locked, requester, "start", states.POWER_ON, server_states.POWERING_ON)


def stop(context: BootContext, locked: Locked, requester: ServerRequester) -> None:
    """Switch the machine off. Raises like ``start``."""
    _switch(context, locked, requester, "stop", states.POWER_OFF, server_states.POWERING_OFF)


def reboot(context: BootContext, locked: Locked, requester: ServerRequester, *, hard: bool) -> None:
    """Restart the machine, or, if it is not ``hard``, ask its system to. Raises like ``start``."""
    if hard:
        _switch(context, locked, requester, "reboot_hard", states.REBOOT, server_states.REBOOTING_HARD)
    else:
        _switch(context, locked, requester, "reboot", states.SOFT_REBOOT, server_states.REBOOTING)


def _switch(
    context: BootContext, locked: Locked, requester: ServerRequester, action: str, target: str, task: str
) -> None:
    node, server = locked.require_accepted(action), locked.server
    name = action.removesuffix("_hard")
    with asked_of_machine(name, server):
        power.request(context.session, node.uuid, target, None, context.membership)
    _note(context.session, server, name, requester, task)


def rescue(
    context: BootContext, locked: Locked, requester: ServerRequester, *, password: str, hashed_password: str
) -> None:
    """Boot a rescue system in which ``password`` is that of root. Raises like ``start``."""
    order = Order("rescue", rescue_password=password, hashed_rescue_password=hashed_password)
    _provision(context, locked, requester, order, server_states.RESCUING)


def unrescue(context: BootContext, locked: Locked, requester: ServerRequester) -> None:
    """Boot the instance again. Raises like ``start``."""
    _provision(context, locked, requester, Order("unrescue"), server_states.UNRESCUING)


def _provision(context: BootContext, locked: Locked, requester: ServerRequester, order: Order, task: str) -> None:
    node, server = locked.require_accepted(order.verb), locked.server
    with asked_of_machine(order.verb, server):
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
