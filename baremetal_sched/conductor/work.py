"""Which work there is, and who does it."""

from collections.abc import Callable

from baremetal_sched.baremetal.power import KIND as POWER
from baremetal_sched.conductor import power
from baremetal_sched.conductor.job import Job

#: What does each kind of work: it does all of it, and ends with ``baremetal.work.finish``, whatever happens.
HANDLERS: dict[str, Callable[[Job], None]] = {POWER: power.do}


def do(job: Job) -> None:
    """Do a piece of work."""
    HANDLERS[job.kind](job)
