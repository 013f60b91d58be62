"""How long a conductor continues trying to write down what it did."""

from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from sqlalchemy.exc import IntegrityError, OperationalError

from baremetal_sched.baremetal.conductors.work_queue import HeldWork
from baremetal_sched.conductor.database_clock import DatabaseClock
from baremetal_sched.conductor.job import Job
from baremetal_sched.errors import DatabaseAway, LastingConflict, SchedulerError, SchemaTooNew, TooManyConflicts

CLASH = IntegrityError("INSERT", {}, Exception("this name is taken"))
DEADLOCK = OperationalError("UPDATE", {}, Exception("deadlock"))


class Options:
    """All settings that are needed."""

    conductor: "Options"
    work_interval = 0.001
    heartbeat_interval, heartbeat_timeout = 10, 60


def lost(cause: Exception) -> TooManyConflicts:
    error = TooManyConflicts(attempts=5)
    error.__cause__ = cause
    return error


class Troubled:
    """A database on which these errors come one after the other; then it is fine again."""

    def __init__(self, *troubles: SchedulerError) -> None:
        self.troubles: Iterator[SchedulerError] = iter(troubles)
        self.written = False

    def write(self, transaction: Any) -> str:
        for trouble in self.troubles:
            raise trouble
        self.written = True
        return "written"


def job(database: Any) -> Job:
    settings: Any = Options()
    settings.conductor = settings
    return Job(
        HeldWork(1, 1, "c1"), "", "cleaning", {}, database, settings, DatabaseClock(settings), structlog.get_logger()
    )


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baremetal_sched.conductor.job.MOST_CLASHES", 3)


def test_a_change_that_clashes_for_ever_is_given_up() -> None:
    database = Troubled(*[lost(CLASH)] * 3)
    with pytest.raises(LastingConflict, match="3 rounds of attempts, because") as caught:
        job(database).write(lambda session: None, gives_up=True)
    assert "this name is taken" not in str(caught.value)  # the database's own words
    assert not database.written


def test_whatever_may_pass_is_waited_for(subtests: pytest.Subtests) -> None:
    for troubles, gives_up in [
        ([lost(CLASH)] * 2, True),
        ([lost(CLASH)] * 9, False),
        ([lost(DEADLOCK)] * 9, True),
        ([DatabaseAway()] * 9, True),
        ([SchemaTooNew(found="0002", known="0001")] * 9, True),
        ([lost(CLASH), lost(CLASH), DatabaseAway(), lost(CLASH), lost(DEADLOCK), lost(CLASH), lost(CLASH)], True),
    ]:
        with subtests.test(troubles=troubles, gives_up=gives_up):
            database = Troubled(*troubles)
            assert job(database).write(lambda session: None, gives_up=gives_up) == "written"
            assert database.written
