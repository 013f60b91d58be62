"""The states of a server, derived from the node that it is on and from its task. Pure.

The names are Nova's: ``status`` is what users see, ``vm_state``, ``task_state`` and ``power_state`` say it in detail.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NoReturn

from baremetal_sched.errors.compute import ServerStateRefused
from baremetal_sched.machines import states

# Actions that were requested of a server and have not ended: values of its ``task``.
SPAWNING = "spawning"
SCHEDULING = "scheduling"
REBUILDING = "rebuilding"
DELETING = "deleting"
POWERING_ON = "powering-on"
POWERING_OFF = "powering-off"
REBOOTING = "rebooting"
REBOOTING_HARD = "rebooting_hard"
RESCUING = "rescuing"
UNRESCUING = "unrescuing"

#: Tasks that end with a power action of the node.
POWER_TASKS = frozenset({POWERING_ON, POWERING_OFF, REBOOTING, REBOOTING_HARD})

# Values of ``vm_state``.
BUILDING = "building"
ACTIVE = "active"
STOPPED = "stopped"
RESCUED = "rescued"
ERROR = "error"

_STATUSES = {BUILDING: "BUILD", ACTIVE: "ACTIVE", STOPPED: "SHUTOFF", RESCUED: "RESCUE", ERROR: "ERROR"}
_REBUILD_SPAWNING = "rebuild_spawning"

_NO_STATE, _RUNNING, _SHUTDOWN = 0, 1, 4
_POWER = {states.POWER_ON: _RUNNING, states.POWER_OFF: _SHUTDOWN}

#: States in which an image is being put on the machine.
BEING_DEPLOYED = frozenset({states.DEPLOYING, states.DEPLOYWAIT, states.DEPLOYHOLD})
#: States in which the machine is about to boot a rescue system.
BEING_RESCUED = frozenset({states.RESCUING, states.RESCUEWAIT})
#: States in which the instance is on the machine, which is on or off.
IN_USE = frozenset({states.ACTIVE, states.SERVICING, states.SERVICEWAIT, states.SERVICEHOLD, states.SERVICEFAIL})


@dataclass(frozen=True)
class NodeState:
    """The columns of a node that decide the state of its server."""

    provision_state: str
    power_state: str | None = None
    target_power_state: str | None = None


@dataclass(frozen=True)
class ServerState:
    """The state of a server, in Nova's words; ``power_state`` is 0 (unknown), 1 (running) or 4 (off)."""

    vm_state: str
    task_state: str | None = None
    power_state: int = _NO_STATE

    @property
    def status(self) -> str:
        """The states as users see them."""
        if self.task_state == _REBUILD_SPAWNING:
            return "REBUILD"
        if self.vm_state == ACTIVE and self.task_state in (REBOOTING, REBOOTING_HARD):
            return "REBOOT" if self.task_state == REBOOTING else "HARD_REBOOT"
        return _STATUSES[self.vm_state]


def state_of(task: str | None, power_after_task: str | None, node: NodeState | None) -> ServerState:
    """Return the state of a server on ``node``; without one, it waits for a machine, or is in error.

    ``power_after_task`` is the power state in which a rebuild leaves the machine.
    """
    if node is None and task == SCHEDULING:
        return ServerState(BUILDING, SCHEDULING)
    if node is None:
        return ServerState(ERROR, DELETING if task == DELETING else None)
    vm_state, task_state = _states(task, power_after_task, node)
    return ServerState(vm_state, task_state, _POWER.get(node.power_state or "", _NO_STATE))


def _states(task: str | None, power_after_task: str | None, node: NodeState) -> tuple[str, str | None]:
    state = node.provision_state
    if state == states.DELETING:
        return _by_power(node.power_state), DELETING
    being_built = task == SPAWNING and state in (states.AVAILABLE, states.DEPLOYFAIL)
    if being_built or state == states.ADOPTING:
        return BUILDING, SPAWNING
    if state in BEING_DEPLOYED:
        return _deployment(task, power_after_task)
    deleting = DELETING if task == DELETING else None
    if state in BEING_RESCUED:
        return ACTIVE, deleting or RESCUING
    if state == states.RESCUE:
        return RESCUED, deleting
    if state == states.UNRESCUING:
        return RESCUED, deleting or UNRESCUING
    if state in IN_USE:
        return _by_power(node.power_state), deleting or _power_task(task, node)
    return ERROR, deleting


def _deployment(task: str | None, power_after_task: str | None) -> tuple[str, str]:
    if task in (SPAWNING, DELETING):
        return BUILDING, task
    return _by_power(power_after_task), _REBUILD_SPAWNING


def _by_power(power_state: str | None) -> str:
    return STOPPED if power_state == states.POWER_OFF else ACTIVE


def _power_task(task: str | None, node: NodeState) -> str | None:
    """Return the task for a power action of the node: a reboot only if the compute API requested one."""
    if node.target_power_state is None:
        return None
    if task in POWER_TASKS:
        return task
    return POWERING_OFF if node.target_power_state == states.POWER_OFF else POWERING_ON


@dataclass(frozen=True)
class _Rule:
    """The states in which an action is allowed. ``task_states``: the tasks that do not forbid it."""

    vm_states: Collection[str]
    task_states: Collection[str] = ()


#: By action, as Nova has it.
_RULES = {
    "rebuild": _Rule((ACTIVE, STOPPED, ERROR)),
    "reboot": _Rule((ACTIVE,)),
    "reboot_hard": _Rule((ACTIVE, STOPPED, ERROR), (REBOOTING, REBOOTING_HARD)),
    "start": _Rule((STOPPED,)),
    "stop": _Rule((ACTIVE, ERROR)),
    "rescue": _Rule((ACTIVE, STOPPED, ERROR)),
    "unrescue": _Rule((RESCUED,)),
}

#: States in which metadata and tags may be changed.
_EDITABLE = frozenset({ACTIVE, STOPPED})


def require_accepted(action: str, server: str, state: ServerState) -> None:
    """Raise ServerStateRefused unless ``action`` may be asked of the server with UUID ``server`` in ``state``."""
    rule = _RULES[action]
    if state.vm_state not in rule.vm_states:
        refuse(action, server, state)
    if state.task_state is not None and state.task_state not in rule.task_states:
        raise ServerStateRefused(
            action=action.removesuffix("_hard"), server=server, attr="task_state", value=state.task_state
        )


def require_editable(doing: str, server: str, state: ServerState) -> None:
    """Raise ServerStateRefused unless metadata and tags of the server may be changed in ``state``."""
    if state.vm_state not in _EDITABLE:
        refuse(doing, server, state)
    if state.task_state is not None:
        raise ServerStateRefused(action=doing, server=server, attr="task_state", value=state.task_state)


def refuse(action: str, server: str, state: ServerState) -> NoReturn:
    """Raise ServerStateRefused for ``action``, because of the server's ``vm_state``."""
    raise ServerStateRefused(action=action.removesuffix("_hard"), server=server, attr="vm_state", value=state.vm_state)
