"""Switching the power of a machine, whatever its power interface."""

from dataclasses import replace
from datetime import UTC, datetime

from baremetal_sched.drivers.driver import Driver
from baremetal_sched.drivers.interfaces.power import PowerInterface
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.machines.states import REBOOT, SOFT_REBOOT


def switch(machine: Machine, target: str, timeout: int | None = None, *, power: PowerInterface | None = None) -> Effect:
    """``set_power_state`` of the machine's interface, or of ``power``, which stands for it; that its power changed, and
    when, is noted with the state.

    ``last_power_state_change`` in ``driver_internal_info`` is the time (UTC) when that began. To bring a machine to the
    state that it is in changes nothing; a reboot does.
    """
    began = datetime.now(UTC).replace(tzinfo=None).isoformat()
    done = (power or Driver(machine).power).set_power_state(machine, target, timeout)
    effect = done if isinstance(done, Effect) else Effect(fields={"power_state": done})
    if target in (REBOOT, SOFT_REBOOT) or effect.fields["power_state"] != machine.power_state:
        return replace(effect, internal={**effect.internal, "last_power_state_change": began})
    return effect
