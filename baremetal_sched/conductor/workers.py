"""The workers of a conductor: one thread for each work item; threads that hang are abandoned."""

from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from sqlalchemy import exists
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.provisioning import completion
from baremetal_sched.baremetal.provisioning.completion import FailureReason
from baremetal_sched.conductor import handlers
from baremetal_sched.conductor.job import Job
from baremetal_sched.conductor.questions import spawn
from baremetal_sched.db.models import Node, NodeWork

#: Seconds after which a driver call no longer occupies a worker, so that other work can begin.
_PATIENCE = 5.0

#: Maximum number of threads, slow ones included, for each worker.
_THREADS_PER_WORKER = 8


@dataclass(frozen=True)
class _Running:
    job: Job
    future: Future[None]

    @property
    def is_slow(self) -> bool:
        return self.job.calls.takes_longer_than(_PATIENCE)

    @property
    def hangs(self) -> bool:
        calls = self.job.calls
        return calls.is_silent_for(self.job.settings.conductor.driver_call_timeout + calls.extra_seconds)


class Workers:
    """Runs up to ``most`` work items concurrently, not counting those whose machines are slow."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running: dict[int, _Running] = {}

    @property
    def free(self) -> int:
        """Return how many work items may be begun."""
        self._forget_done()
        running = list(self._running.values())
        at_work = sum(not each.is_slow for each in running)
        return max(0, min(self._most - at_work, self._most * _THREADS_PER_WORKER - len(running)))

    @property
    def is_idle(self) -> bool:
        """Return whether no work is in progress."""
        return all(each.future.done() for each in self._running.values())

    def doing(self) -> Collection[int]:
        """Return the ids of the work in progress."""
        return list(self._running)

    def futures(self) -> list[Future[None]]:
        """Return the futures of the work in progress."""
        return [each.future for each in self._running.values()]

    def begin(self, job: Job, done: Callable[[Job], None]) -> None:
        """Begin a work item, and call ``done`` with it afterwards."""
        future = spawn(partial(handlers.do, job), "conductor-work")
        self._running[job.id] = _Running(job, future)
        future.add_done_callback(lambda _: done(job))

    def give_up_hung(self) -> None:
        """Fail the work whose driver does not return, and abandon its thread. Raises UnavailableError."""
        self._forget_done()
        for each in list(self._running.values()):
            if each.hangs and not each.future.done():
                _give_up(each.job)
                del self._running[each.job.id]

    def _forget_done(self) -> None:
        self._running = {work_id: each for work_id, each in self._running.items() if not each.future.done()}


def _give_up(job: Job) -> None:
    """Fail the work, unless it has ended, and its work on other nodes."""
    call = job.calls.current
    job.calls.give_up()
    name = call.name if call is not None else "a call"
    seconds = job.settings.conductor.driver_call_timeout + job.calls.extra_seconds
    reason = f"The machine does not answer: {name} of its driver was given up after {seconds:g} seconds."
    job.log.error("a driver does not come back", call=name, seconds=seconds)

    for work_id, node_id in ((job.id, job.node_id), *job.calls.reserved.items()):
        job.database.write(partial(_fail, work_id=work_id, node_id=node_id, job=job, reason=reason))
    job.database.write(partial(conductors.count_given_up_call, hostname=job.conductor))


def _fail(session: Session, work_id: int, node_id: int, job: Job, reason: str) -> None:
    mine = exists().where(NodeWork.node_id == Node.id, NodeWork.id == work_id, NodeWork.conductor == job.conductor)
    why = FailureReason(power=reason, provisioning=reason, event_type=job.kind)
    if completion.release_abandoned(session, node_id, mine, job.conductor, why):
        session.get_one(Node, node_id).last_error = reason
