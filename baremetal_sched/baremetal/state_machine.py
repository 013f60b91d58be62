"""How a node gets from one provision state to another.

The table is Ironic's (common/states.py). What a client asks for is a verb, which stands for an event; other events come
from the conductor that works on the node: ``done``, ``wait`` (for an agent on the machine), ``resume``, ``hold``,
``fail``.
"""

from dataclasses import dataclass

from automaton.machines import FiniteMachine

from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import Node
from baremetal_sched.machines import states

DONE = "done"
WAIT = "wait"
RESUME = "resume"
#: The kind of work that gives the machine of an aborted service back to its instance.
ABORTED_SERVICE = "aborted service"
HOLD = "hold"
FAIL = "fail"
#: Cleaning ends, and the node does not become available: it was cleaned on request, or it is retired.
KEEP = "keep"
#: Deleting ends, and cleaning begins.
CLEAN = "clean"


@dataclass(frozen=True)
class Verb:
    """A verb that a client may request: its event, and the minor part of the first microversion that has it."""

    event: str
    since: int = 1


VERBS: dict[str, Verb] = {
    "active": Verb("deploy"),
    "deploy": Verb("deploy", 73),
    "deleted": Verb("delete"),
    # Ironic does not look at the version of this alias.
    "undeploy": Verb("delete"),
    "rebuild": Verb("rebuild"),
    "manage": Verb("manage", 4),
    "provide": Verb("provide", 4),
    "inspect": Verb("inspect", 6),
    "abort": Verb("abort", 13),
    "clean": Verb(CLEAN, 15),
    "adopt": Verb("adopt", 17),
    "rescue": Verb("rescue", 38),
    "unrescue": Verb("unrescue", 38),
    "unhold": Verb("unhold", 85),
    "service": Verb("service", 87),
}

#: Where nodes stay, with nothing to be done.
STABLE = frozenset({states.ENROLL, states.MANAGEABLE, states.AVAILABLE, states.ACTIVE, states.ERROR, states.RESCUE})

#: States in which a conductor is at work, with the state that it works towards by default. If the conductor is lost,
#: its progress is unknown: the node fails.
TRANSIENT: dict[str, str] = {
    states.VERIFYING: states.MANAGEABLE,
    states.CLEANING: states.AVAILABLE,
    states.INSPECTING: states.MANAGEABLE,
    states.ADOPTING: states.ACTIVE,
    states.DEPLOYING: states.ACTIVE,
    states.DELETING: states.AVAILABLE,
    states.RESCUING: states.RESCUE,
    states.UNRESCUING: states.ACTIVE,
    states.SERVICING: states.ACTIVE,
}

#: States in which the machine is at work until an agent on it reports, or until the time-out.
WAITING = frozenset({states.CLEANWAIT, states.INSPECTWAIT, states.DEPLOYWAIT, states.RESCUEWAIT, states.SERVICEWAIT})

#: States in which the work is held at a step ``hold`` until a client sends ``unhold``.
HELD = frozenset({states.CLEANHOLD, states.DEPLOYHOLD, states.SERVICEHOLD})

#: state: {event: next state}
TABLE: dict[str, dict[str, str]] = {
    states.ENROLL: {"manage": states.VERIFYING},
    states.VERIFYING: {DONE: states.MANAGEABLE, FAIL: states.ENROLL},
    states.MANAGEABLE: {
        "provide": states.CLEANING,
        CLEAN: states.CLEANING,
        "inspect": states.INSPECTING,
        "adopt": states.ADOPTING,
    },
    states.CLEANING: {
        DONE: states.AVAILABLE,
        KEEP: states.MANAGEABLE,
        WAIT: states.CLEANWAIT,
        HOLD: states.CLEANHOLD,
        FAIL: states.CLEANFAIL,
    },
    states.CLEANWAIT: {
        RESUME: states.CLEANING,
        HOLD: states.CLEANHOLD,
        FAIL: states.CLEANFAIL,
        "abort": states.CLEANFAIL,
    },
    states.CLEANHOLD: {"unhold": states.CLEANWAIT, FAIL: states.CLEANFAIL, "abort": states.CLEANFAIL},
    states.CLEANFAIL: {"manage": states.MANAGEABLE},
    states.INSPECTING: {DONE: states.MANAGEABLE, WAIT: states.INSPECTWAIT, FAIL: states.INSPECTFAIL},
    states.INSPECTWAIT: {
        DONE: states.MANAGEABLE,
        RESUME: states.INSPECTING,
        FAIL: states.INSPECTFAIL,
        "abort": states.INSPECTFAIL,
    },
    states.INSPECTFAIL: {"manage": states.MANAGEABLE, "inspect": states.INSPECTING},
    states.ADOPTING: {DONE: states.ACTIVE, FAIL: states.ADOPTFAIL},
    states.ADOPTFAIL: {"adopt": states.ADOPTING, "manage": states.MANAGEABLE},
    states.AVAILABLE: {"deploy": states.DEPLOYING, "manage": states.MANAGEABLE},
    states.DEPLOYING: {
        DONE: states.ACTIVE,
        WAIT: states.DEPLOYWAIT,
        HOLD: states.DEPLOYHOLD,
        FAIL: states.DEPLOYFAIL,
    },
    states.DEPLOYWAIT: {
        RESUME: states.DEPLOYING,
        HOLD: states.DEPLOYHOLD,
        FAIL: states.DEPLOYFAIL,
        "abort": states.DEPLOYFAIL,
        "delete": states.DELETING,
    },
    states.DEPLOYHOLD: {"unhold": states.DEPLOYWAIT, FAIL: states.DEPLOYFAIL, "abort": states.DEPLOYFAIL},
    states.DEPLOYFAIL: {"deploy": states.DEPLOYING, "rebuild": states.DEPLOYING, "delete": states.DELETING},
    states.ACTIVE: {
        "rebuild": states.DEPLOYING,
        "delete": states.DELETING,
        "rescue": states.RESCUING,
        "service": states.SERVICING,
    },
    states.ERROR: {"rebuild": states.DEPLOYING, "delete": states.DELETING},
    states.DELETING: {CLEAN: states.CLEANING, FAIL: states.ERROR},
    states.RESCUING: {DONE: states.RESCUE, WAIT: states.RESCUEWAIT, FAIL: states.RESCUEFAIL},
    states.RESCUEWAIT: {
        RESUME: states.RESCUING,
        FAIL: states.RESCUEFAIL,
        "abort": states.RESCUEFAIL,
        "delete": states.DELETING,
    },
    states.RESCUE: {"rescue": states.RESCUING, "unrescue": states.UNRESCUING, "delete": states.DELETING},
    states.RESCUEFAIL: {"rescue": states.RESCUING, "unrescue": states.UNRESCUING, "delete": states.DELETING},
    states.UNRESCUING: {DONE: states.ACTIVE, FAIL: states.UNRESCUEFAIL},
    states.UNRESCUEFAIL: {"rescue": states.RESCUING, "unrescue": states.UNRESCUING, "delete": states.DELETING},
    states.SERVICING: {
        DONE: states.ACTIVE,
        WAIT: states.SERVICEWAIT,
        HOLD: states.SERVICEHOLD,
        FAIL: states.SERVICEFAIL,
    },
    states.SERVICEWAIT: {
        RESUME: states.SERVICING,
        HOLD: states.SERVICEHOLD,
        FAIL: states.SERVICEFAIL,
        "abort": states.ACTIVE,
        "delete": states.DELETING,
    },
    states.SERVICEFAIL: {
        "service": states.SERVICING,
        "rescue": states.RESCUING,
        "abort": states.ACTIVE,
        "delete": states.DELETING,
    },
    states.SERVICEHOLD: {
        "service": states.SERVICING,
        "unhold": states.SERVICEWAIT,
        FAIL: states.SERVICEFAIL,
        "abort": states.ACTIVE,
    },
}

_MACHINE = FiniteMachine.build([{"name": state, "next_states": events} for state, events in TABLE.items()])
_MACHINE.freeze()


def _machine(state: str) -> FiniteMachine:
    machine = _MACHINE.copy(shallow=True)
    machine.initialize(state)
    return machine


def accepts(state: str, event: str) -> bool:
    """Return whether ``event`` leads to another state from ``state``."""
    return state in _MACHINE and _machine(state).is_actionable_event(event)


def verbs_of(state: str) -> list[str]:
    """Return the verbs that a client may ask for in ``state``, without aliases."""
    by_event = {known.event: verb for verb, known in reversed(VERBS.items()) if accepts(state, known.event)}
    return [verb for verb in VERBS if verb in by_event.values()]


def way_to_available(state: str) -> list[str]:
    """Return the fewest verbs, in order, that bring a node from ``state`` to ``available``, if all goes well.

    Empty if it is there already, or if nothing that a client may ask for leads there.
    """
    ways: dict[str, list[str]] = {state: []}
    for reached in (order := [state]):
        if reached == states.AVAILABLE:
            break
        for verb in verbs_of(reached):
            after = TABLE[reached][VERBS[verb].event]
            while after in TRANSIENT:
                after = TRANSIENT[after]
            if after not in ways:
                ways[after] = [*ways[reached], verb]
                order.append(after)
    return ways.get(states.AVAILABLE, [])


def move(node: Node, event: str, target: str | None = None) -> None:
    """Bring ``node`` to the state that ``event`` leads to.

    In a stable state it has no target. On entering a transient one its target is ``target``, or what that state works
    towards; while it stays in the same activity (waiting, held, failed) it keeps the target that it has.
    Raises automaton's NotFound if the event leads nowhere: ask ``accepts`` about what a client wants.
    """
    machine = _machine(node.provision_state)
    machine.process_event(event)
    after = machine.current_state
    assert after is not None  # noqa: S101 - the machine is initialized
    if after in STABLE:
        node.target_provision_state = None
    elif target is not None:
        node.target_provision_state = target
    elif after in TRANSIENT and event != RESUME:
        node.target_provision_state = TRANSIENT[after]
    node.provision_state = after
    node.provision_updated_at = utcnow()
    if after in WAITING:
        begin_to_wait(node)


def begin_to_wait(node: Node) -> None:
    """Note that the machine is at work from now on, or was heard of now."""
    node.provision_updated_at = node.waiting_since_of = utcnow()
    node.waiting_since = epoch()


def can_fail(state: str) -> bool:
    """Return whether a node in ``state`` is being worked on, and so can fail."""
    return accepts(state, FAIL)


def fail(node: Node, reason: str) -> None:
    """Move ``node`` to the failure state of its state, if there is one, and set ``reason`` as its last error."""
    if can_fail(node.provision_state):
        move(node, FAIL)
    node.last_error = reason
