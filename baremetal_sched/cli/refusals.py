"""One-line messages for expected failures."""

import sys

from oslo_config import cfg

from baremetal_sched.errors import SchedulerError


def refusal_of(error: Exception) -> str | None:
    """Return the message for ``error``; None if it is a defect, which needs its traceback."""
    if isinstance(error, SchedulerError | cfg.Error | ValueError):
        return _with_cause(error)
    if "sqlalchemy" not in sys.modules:
        return None
    # Imported here because commands without a database start faster without it.
    from baremetal_sched.db.faults import Fault, classify, unavailable

    fault = classify(error)
    if fault is Fault.BUG:
        return None
    refusal = unavailable(error, fault)
    refusal.__cause__ = error
    return _with_cause(refusal)


def _with_cause(error: Exception) -> str:
    cause = f" ({str(error.__cause__).splitlines()[0]})" if error.__cause__ else ""
    return f"{error}{cause}"
