"""Rules for single steps: who may name which, in requests about nodes and in runbooks."""

from collections.abc import Iterator
from typing import Any

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.policies.checks import step_rule
from baremetal_sched.errors.baremetal import StepsNotAllowed
from baremetal_sched.web.policy import Target


def require(call: BaremetalCall, steps: Any, target: Target | None = None) -> None:
    """Raise StepsNotAllowed if a rule refuses the caller one of ``steps``.

    ``target``: the node; None before it exists, so rules that ask for its owner or lessee refuse. What has not the
    form of a step is left to schemas.
    """
    refused = [
        f"insufficient privileges to execute step {step} on interface {interface}"
        for interface, step in dict.fromkeys(_named(steps))
        if not call.allows_optional(step_rule(interface, step), target)
    ]
    if refused:
        raise StepsNotAllowed(message="; ".join(refused))


def _named(steps: Any) -> Iterator[tuple[str, str]]:
    """The interface and the name of each step."""
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict):
            interface, name = step.get("interface"), step.get("step")
            if isinstance(interface, str) and isinstance(name, str):
                yield interface, name
