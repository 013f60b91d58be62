"""A piece of provisioning work while it is done: the machine, and fenced writes to its node."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import agent_info, explanation, history, outcomes, state_machine
from baremetal_sched.baremetal.explanation import Finding
from baremetal_sched.baremetal.machine import Machine
from baremetal_sched.baremetal.states import AVAILABLE
from baremetal_sched.conductor.job import Job
from baremetal_sched.db.models import Node
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.errors import SchedulerError, UnavailableError

#: A change of a node, made in a transaction of its own.
Change = Callable[[Session, Node], None]


class WorkLost(Exception):
    """The work is no longer this conductor's: nothing may be written, and no step begun."""


class Task:
    """The work, and ``machine``, which is as it was after the last write."""

    machine: Machine

    def __init__(self, job: Job) -> None:
        self.job = job
        self.write(lambda session, node: None)
        self.job.log.info("work begins", kind=job.kind)

    @property
    def driver(self) -> Driver:
        """The machine's interfaces."""
        return self.job.driver(self.machine)

    @property
    def state(self) -> str:
        """The node's provision state."""
        return self.machine.provision_state

    def write(self, change: Change) -> None:
        """Change the node, and what scheduling sees of it. Raises WorkLost; LastingConflict if it cannot be written."""
        self._keep(self.job.hold(self._write(change), gives_up=True))

    def postpone(self, seconds: float, arguments: Mapping[str, Any], change: Change) -> None:
        """Change the node, and give the work back until it is polled, ``seconds`` from now, with these arguments.

        Raises WorkLost; LastingConflict if that cannot be written.
        """
        self._keep(self.job.postpone(seconds, arguments, self._write(change), gives_up=True))
        self.job.log.info("work is to be polled", seconds=seconds)

    def end(self, event: str | None, change: Change | None = None) -> None:
        """Change the node, move it on by ``event``, if there is one, and free it: the work is done.

        Raises WorkLost; LastingConflict if that cannot be written.
        """
        withheld: list[Finding] = []

        def finish(session: Session, node: Node) -> None:
            if event not in (state_machine.WAIT, state_machine.HOLD):
                agent_info.leave(node)
            if change is not None:
                change(session, node)
            if event is not None:
                state_machine.move(node, event)
            withheld[:] = explanation.withheld_by(node) if node.provision_state == AVAILABLE else ()

        self._keep(self.job.finish(self._write(finish), gives_up=True))
        self.job.log.info("work done", provision_state=self.state)
        if withheld:
            reasons = [f"{each.reason} {each.remedy}" for each in withheld]
            self.job.log.warning("node is available, but not offered", reasons=reasons)

    def fail(self, reason: str) -> None:
        """The work came to nothing, which is tried until it is written. Raises WorkLost."""

        def note(session: Session, node: Node) -> None:
            outcomes.fail(session, node, reason, conductor=self.job.conductor)

        self._keep(self.job.finish(self._write(note)))
        self.job.log.warning("work failed", provision_state=self.state, error=reason)

    def note(self, session: Session, node: Node, event: str, event_type: str, *, duration: float | None = None) -> None:
        """Add to the node's history. ``duration`` is in seconds."""
        conductor = self.job.conductor
        history.record(session, node, event, event_type=event_type, conductor=conductor, duration=duration)

    def _write(self, change: Change) -> Callable[[Session, Node], Machine]:
        def write(session: Session, node: Node) -> Machine:
            change(session, node)
            return Machine.of(node, self.job.settings)

        return write

    def _keep(self, machine: Machine | None) -> None:
        if machine is None:
            raise WorkLost
        self.machine = machine


def handler(action: Callable[[Task], None]) -> Callable[[Job], None]:
    """What does a kind of work, from ``action``: if that fails, so does the node.

    While the database is away nothing is written, not even that: the work stays requested, and is begun again.
    """

    def do(job: Job) -> None:
        try:
            task = Task(job)
            try:
                action(task)
            except (WorkLost, UnavailableError):
                raise
            except SchedulerError as failure:
                task.fail(str(failure))
            except Exception as failure:  # a driver may fail in any way; the node has to say so and be freed
                job.log.exception("driver failed")
                task.fail(f"Unexpected error: {failure!r}")
        except WorkLost:
            job.log.warning("work was taken away; nothing written")

    return do
