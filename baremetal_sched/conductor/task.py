"""A work item of provisioning in progress: the machine, and fenced writes to its node."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import history, state_machine
from baremetal_sched.baremetal.matching.node_explanation import Finding, withheld_by
from baremetal_sched.baremetal.provisioning import completion
from baremetal_sched.conductor.agent_client import AgentAnswer
from baremetal_sched.conductor.job import Job
from baremetal_sched.db.faults import described
from baremetal_sched.db.models import Node
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.errors import InvalidValue, SchedulerError, UnavailableError
from baremetal_sched.machines import agent_info
from baremetal_sched.machines.machine import Machine
from baremetal_sched.machines.states import AVAILABLE

#: A change of a node, made within a transaction.
Change = Callable[[Session, Node], None]


class WorkLost(Exception):
    """This conductor has lost the work: it must not write anything or begin a step."""


class Task:
    """The work, and ``machine`` as of the last write."""

    machine: Machine
    #: The agent's answer to the command that the work continues after.
    answer: AgentAnswer | None = None

    def __init__(self, job: Job) -> None:
        self.job = job
        self._added: list[Change] = []
        node = job.seen()
        if node is None:
            self.write()
        else:
            self.machine = Machine.of(node, job.settings)
        self.job.log.info("work begins", kind=job.kind)

    @property
    def driver(self) -> Driver:
        """Return the machine's interfaces."""
        return self.job.driver(self.machine)

    @property
    def state(self) -> str:
        """Return the node's provision state."""
        return self.machine.provision_state

    @property
    def has_instance(self) -> bool:
        """Return whether the node has an instance with a UUID, or may have one."""
        return self.job.has_instance

    def add(self, change: Change) -> None:
        """Change the node along with the next write, before which no driver may be called."""
        self._added.append(change)

    def write_added(self) -> None:
        """Write what was added, if anything was: a driver is called next. Raises like ``write``."""
        if self._added:
            self.write()

    def write(self, change: Change = lambda session, node: None) -> None:
        """Change the node, and its projection. Raises WorkLost; LastingConflict if it cannot be written."""
        self._keep(self.job.hold(self._write(change), gives_up=True))

    def postpone(self, seconds: float, arguments: Mapping[str, Any], change: Change) -> None:
        """Change the node, and return the work to be polled in ``seconds``, with these arguments.

        Raises WorkLost; LastingConflict if that cannot be written.
        """
        self._keep(self.job.postpone(seconds, arguments, self._write(change), gives_up=True))
        self.job.log.info("work is to be polled", seconds=seconds)

    def pause(self, change: Change) -> None:
        """Change the node, and free it while its machine continues by itself, which finishes the work; its provision
        state stays.

        Raises WorkLost; LastingConflict if that cannot be written.
        """
        self._keep(self.job.finish(self._write(change), gives_up=True))
        self.job.log.info("work pauses", provision_state=self.state)

    def end(self, event: str | None, change: Change | None = None) -> None:
        """Change the node, apply ``event``, if any, to its state, and free it, which finishes the work.

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
            withheld[:] = withheld_by(node) if node.provision_state == AVAILABLE else ()

        self._keep(self.job.finish(self._write(finish), gives_up=True))
        self.job.log.info("work done", provision_state=self.state)
        if withheld:
            reasons = [f"{each.reason} {each.remedy}" for each in withheld]
            self.job.log.warning("node is available, but not offered", reasons=reasons)

    def fail(self, reason: str) -> None:
        """Record that the work has failed, with retries until it is written. Raises WorkLost."""
        failed = partial(completion.fail, reason=reason, conductor=self.job.conductor)
        self._keep(self.job.finish(self._write(failed)))
        self.job.log.warning("work failed", provision_state=self.state, error=reason)

    def note(self, session: Session, node: Node, event: str, event_type: str, *, duration: float | None = None) -> None:
        """Add to the node's history. ``duration`` is in seconds."""
        conductor = self.job.conductor
        history.record(session, node, event, event_type=event_type, conductor=conductor, duration=duration)

    def _write(self, change: Change) -> Callable[[Session, Node], Machine]:
        changes, self._added = [*self._added, change], []

        def write(session: Session, node: Node) -> Machine:
            for each in changes:
                each(session, node)
            return Machine.of(node, self.job.settings)

        return write

    def _keep(self, machine: Machine | None) -> None:
        if machine is None:
            raise WorkLost
        self.machine = machine


@contextmanager
def saying(what: str) -> Iterator[None]:
    """Turn errors that are raised within into InvalidValue whose message begins with ``what``. Errors of an unavailable
    database stay as they are."""
    try:
        yield
    except UnavailableError:
        raise
    except SchedulerError as error:
        raise InvalidValue(message=f"{what}: {error}") from error


def handler(action: Callable[[Task], None]) -> Callable[[Job], None]:
    """Return a handler that runs ``action``; if that fails, the node fails.

    While the database is unavailable nothing is written: the work stays requested, and is begun again.
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
            except Exception as failure:  # a driver may raise anything; the node must report it and be freed
                job.log.exception("driver failed")
                task.fail(f"Unexpected error: {described(failure)}")
        except WorkLost:
            job.log.warning("work was taken away; nothing written")

    return do
