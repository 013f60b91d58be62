"""Whether cleaning or servicing a machine needs an agent, and whether one may be booted."""

from collections.abc import Sequence

from baremetal_sched.conductor import step_plans
from baremetal_sched.conductor.step_plans import WAIT, Planned
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import StepKind
from baremetal_sched.machines.machine import Machine


def is_needed(driver: Driver, kind: StepKind, steps: Sequence[Planned], *, disabled: bool) -> bool:
    """Return whether an agent must be booted for the steps that a client named.

    ``disabled``: the client forbids booting one; an agent that already runs may still be waited for. Raises
    InvalidValue if a step needs an agent and none may be used.
    """
    requiring = step_plans.requiring_agent(driver, kind, steps)
    if disabled:
        refused = [step for step in requiring if step["step"] != WAIT]
        _refuse(refused, "leave disable_ramdisk out, or these steps")
    elif driver.deploy.lacks_agent:
        _refuse(requiring, "the node's deploy interface boots none: leave these steps out")
    return bool(requiring) and not disabled


def _refuse(steps: Sequence[Planned], why: str) -> None:
    if steps:
        names = ", ".join(dict.fromkeys(step_plans.name_of(step) for step in steps))
        raise InvalidValue(message=f"{names} needs an agent on the machine (it requires booting a ramdisk): {why}.")


def require_automated(driver: Driver, machine: Machine, steps: Sequence[Planned]) -> None:
    """Raise InvalidValue unless the machine can be cleaned by its own steps.

    Without an agent, at least one step must work without it: a machine that no step cleans must not count as clean.
    """
    if not driver.deploy.lacks_agent or (steps and not step_plans.requiring_agent(driver, "clean", steps)):
        return
    raise InvalidValue(
        message=f"Node {machine.uuid} cannot be cleaned: automated cleaning needs an agent on the machine, and its "
        f"deploy interface '{machine.interfaces['deploy']}' boots none. To have the node made available without being "
        "cleaned, set its automated_clean to false (openstack baremetal node set --no-automated-clean), or "
        "[conductor] automated_clean for all nodes; then manage and provide it."
    )
