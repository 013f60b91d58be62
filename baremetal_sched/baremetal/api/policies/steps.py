"""Rules for single steps, which only the operator's file can have."""

import re

from baremetal_sched.machines.interface_types import STEP_INTERFACES
from baremetal_sched.web.policy import OptionalRules

_PREFIX = "baremetal:step:execute:"

STEPS = OptionalRules(
    pattern=re.compile(rf"{re.escape(_PREFIX)}({'|'.join(STEP_INTERFACES)})\.\S+"),
    form=f"{_PREFIX}<interface>.<step>",
    description="Have a step done on a node, or put it into a runbook. Without a rule, a step is free to all who may "
    "name steps",
)


def step_rule(interface: str, step: str) -> str:
    """Return the name of the rule for a step."""
    return f"{_PREFIX}{interface}.{step}"
