"""What all interfaces have whose methods may be steps."""

from collections.abc import Mapping
from typing import Any, Protocol

from baremetal_sched.machines.machine import Effect, Machine


class PolledInterface(Protocol):
    """An interface whose steps may be busy on the machine after the call has returned."""

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        """Say how far the machine is with a step that has returned an ``Effect`` with ``poll_after``.

        ``step`` is the name of the method, ``remembered`` what that Effect had in ``remember``, after a way through
        JSON. Another Effect with ``poll_after`` means that the machine is still busy, any other that the step is done.
        Raises a SchedulerError, in words for people, if the step has failed.

        It is called by any conductor, and may be called once more after it has said that the step is done, if that
        conductor died: so it only asks, and changes nothing that cannot be changed twice.
        """
        raise machine.unsupported(step)
