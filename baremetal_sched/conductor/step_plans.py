"""Plans: which steps cleaning, deploying or servicing a machine consists of, and in which order.

A planned step is a JSON object, for it is stored with the node and shown: ``interface``, ``step``, ``args``,
``priority`` and ``abortable``; ``in_band`` if the agent executes it, and ``reboot_requested`` if the machine must
boot the agent again after it. Which steps an agent has is known only when it runs: until then the plan has the steps
that a client named, and no others of the agent.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from baremetal_sched.drivers.driver import Driver
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import Argument, Step, StepKind

Planned = dict[str, Any]

HOLD = "hold"
WAIT_STEP = "wait"
#: Steps of every machine, for any interface that a client names with them.
POWER_STEPS = {"power_on": "power on", "power_off": "power off", "reboot": "rebooting"}
RESERVED = (HOLD, WAIT_STEP, *POWER_STEPS)

#: In seconds.
_LONGEST_WAIT = 3600
_WAIT_ARGUMENTS = {"seconds": Argument("Seconds to wait; without it, until an agent reports.")}


def automated(driver: Driver, kind: StepKind) -> list[Planned]:
    """Return the steps that run without being requested."""
    return [_planned(step, {}, step.priority) for step in driver.steps(kind) if step.priority > 0]


def requested(driver: Driver, kind: StepKind, wanted: Sequence[Mapping[str, Any]]) -> list[Planned]:
    """Return the steps that a client named, in that order; those with ``order`` come first, sorted by it.

    Raises InvalidValue if the machine lacks one of them, or if one does not accept its arguments.
    """
    return [_find(driver, kind, each) for each in sorted(wanted, key=lambda each: int(each.get("order", 0)))]


def deployment(driver: Driver, *layers: Iterable[Mapping[str, Any]]) -> list[Planned]:
    """Return the machine's own deployment steps, overridden and extended by ``layers``; later layers take precedence.

    Steps with a priority of 0, and steps that the machine lacks, are left out, as in Ironic; whether its agent has them
    is decided later. Raises InvalidValue if a step does not accept its arguments.
    """
    known = {(step.interface, step.step): step for step in driver.steps("deploy")}
    plan = {key: _planned(step, {}, step.priority) for key, step in known.items()}
    for layer in layers:
        for each in layer:
            key = (each["interface"], each["step"])
            step = known.get(key)
            if step is None and each["step"] in RESERVED:
                step = Step(*key, abortable=True)
            arguments = each.get("args") or {}
            if step is None and driver.deploy.commands_agent:
                plan[key] = in_band(each, int(each["priority"]))
            elif step is not None:
                _check_arguments("deploy", step, arguments)
                plan[key] = _planned(step, arguments, int(each["priority"]))
    return sorted((each for each in plan.values() if each["priority"] > 0), key=lambda each: -each["priority"])


def requiring_agent(driver: Driver, kind: StepKind, steps: Iterable[Planned]) -> list[Planned]:
    """Return the ``steps`` of cleaning or servicing that need an agent on the machine."""
    known = {(step.interface, step.step): step.requires_ramdisk for step in driver.steps(kind)}
    return [step for step in steps if _requires_agent(step, known)]


def _requires_agent(step: Planned, known: Mapping[tuple[str, str], bool]) -> bool:
    if step["step"] in RESERVED:
        return step["step"] == WAIT_STEP and "seconds" not in step["args"]
    return known.get((step["interface"], step["step"]), True)


def in_band(wanted: Mapping[str, Any], priority: int) -> Planned:
    """Return the planned step of an agent, which a client or the agent has named.

    Whether it may be aborted is known when the agent has been asked.
    """
    arguments = dict(wanted.get("args") or {})
    step = {"interface": wanted["interface"], "step": wanted["step"], "args": arguments}
    return {**step, "priority": priority, "in_band": True}


def name_of(step: Planned) -> str:
    """Return the name of a step for messages."""
    return f"{step['interface']}.{step['step']}"


def _planned(step: Step, arguments: Mapping[str, Any], priority: int) -> Planned:
    return {
        "interface": step.interface,
        "step": step.step,
        "args": dict(arguments),
        "priority": priority,
        "abortable": step.abortable,
    }


def _find(driver: Driver, kind: StepKind, wanted: Mapping[str, Any]) -> Planned:
    arguments = wanted.get("args") or {}
    known = {(step.interface, step.step): step for step in driver.steps(kind)}
    step = known.get((wanted["interface"], wanted["step"]))
    if wanted["step"] in RESERVED:
        step = Step(wanted["interface"], wanted["step"], abortable=True)
    if step is None and driver.deploy.commands_agent:
        return in_band(wanted, 0)
    if step is None:
        raise InvalidValue(message=f"node does not support this {kind} step: {dict(wanted)}")
    _check_arguments(kind, step, arguments)
    return _planned(step, arguments, 0)


def _check_arguments(kind: StepKind, step: Step, arguments: Mapping[str, Any]) -> None:
    accepted = _WAIT_ARGUMENTS if step.step == WAIT_STEP else step.arguments
    surplus = sorted(set(arguments) - set(accepted))
    missing = sorted(name for name, argument in accepted.items() if argument.required and name not in arguments)
    if surplus:
        raise InvalidValue(message=f"{kind} step {step.step} has these unexpected arguments: {', '.join(surplus)}")
    if missing:
        raise InvalidValue(message=f"{kind} step {step.step} is missing these required arguments: {', '.join(missing)}")
    if step.step == WAIT_STEP and not _is_duration(arguments.get("seconds", 0)):
        raise InvalidValue(message=f"{kind} step wait: seconds must be a number from 0 to {_LONGEST_WAIT}")


def _is_duration(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LONGEST_WAIT
