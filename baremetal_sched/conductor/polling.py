"""Polling: a step that a machine runs by itself occupies no worker; its driver is asked for the progress.

Meanwhile the node stays reserved, and the step is its current step. What the driver needs to remember is stored with
the work, so any conductor can poll.
"""

import time
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.conductor import step_plans
from baremetal_sched.conductor.step_plans import Planned, name_of
from baremetal_sched.conductor.task import Change, Task
from baremetal_sched.db.clock import epoch
from baremetal_sched.errors import InvalidValue, SchedulerError, UnavailableError
from baremetal_sched.machines.machine import NOTHING, Effect


@dataclass(frozen=True)
class Done:
    """A step, its effect, and the seconds that it has taken so far. ``since``: the start of a polled step."""

    step: Planned
    effect: Effect
    seconds: float
    since: float | None = None


def postpone(task: Task, done: Done, seconds: float, change: Change) -> None:
    """Change the node, and poll the step again in ``seconds``.

    Raises InvalidValue if the step has taken too long, WorkLost, and LastingConflict.
    """
    now = task.job.read(_now)
    since = now - done.seconds if done.since is None else done.since
    limit = task.job.settings.conductor.polled_step_timeout
    if limit and done.step["step"] != step_plans.WAIT:
        if now - since >= limit:
            raise InvalidValue(message=f"Step {name_of(done.step)} failed: it is not done after {limit:g} seconds.")
        seconds = min(seconds, since + limit - now)
    arguments = {"step": done.step, "since": since, "remembered": dict(done.effect.remember)}
    task.postpone(seconds, arguments, change)


def ask(task: Task) -> Done:
    """Ask for the progress of the polled step. Raises InvalidValue if the step has failed."""
    step, since = task.job.arguments["step"], task.job.arguments["since"]
    now, begun = task.job.read(_now), time.monotonic()
    effect = NOTHING if step["step"] == step_plans.WAIT else _poll(task, step)
    return Done(step, effect, now - since + time.monotonic() - begun, since)


def _poll(task: Task, step: Planned) -> Effect:
    interface = getattr(task.driver, step["interface"])
    try:
        effect: Effect = interface.poll(task.machine, step["step"], task.job.arguments["remembered"])
    except UnavailableError:
        raise
    except SchedulerError as error:
        raise InvalidValue(message=f"Step {name_of(step)} failed: {error}") from error
    return effect


def _now(session: Session) -> float:
    return session.scalar(select(epoch())) or 0.0
