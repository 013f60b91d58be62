"""The clock of the database is set while conductors work: nobody takes over what another one does, and a conductor that
dies then is replaced."""

from collections.abc import Iterator

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.conductor import database_clock, entry
from baremetal_sched.conductor.database_clock import DatabaseClock, HeartbeatsAhead
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db.models import Node
from baremetal_sched.errors import DatabaseAway
from baremetal_sched.errors.baremetal import HostNameTaken
from tests.clocks import Clock
from tests.database_clock import SettableClock, settable
from tests.functional.conductor.test_orphans import begin
from tests.restored import Rows
from tests.service import Service

INTERVAL, TIMEOUT = 10.0, 60.0
STEPS = (-3600.0, -20.0, 120.0, 3600.0)
#: What takes something over, or fails it.
TASKS = [task for task in PERIODIC_TASKS if task.name in ("orphans", "calls", "waiting", "agents", "local state")]
AHEAD = [task for task in PERIODIC_TASKS if task.name == "heartbeats ahead"]


class Site:
    """Two conductors, and time: by the clock of the database, and by the monotonic clock of their hosts."""

    def __init__(self, service: Service, database: SettableClock, own: Clock) -> None:
        self.service, self.database, self.own = service, database, own
        self.living = ["c1", "c2"]
        for host in self.living:
            service.add_conductor(host)
        self.beat()

    def beat(self) -> None:
        """Each sends a heartbeat, and does what there is to do then."""
        for host in self.living:
            self.service.conductors[host].beat()
            self.look(host)

    def look(self, host: str) -> None:
        for task in (*AHEAD, *TASKS):
            self.service.conductors[host].run_periodic_task(task)

    def go_on(self, seconds: float) -> None:
        """Let time go by, with heartbeats."""
        for _ in range(int(seconds / INTERVAL)):
            self.database.step(INTERVAL)
            self.own.go_on(INTERVAL)
            self.beat()

    def nodes(self) -> dict[str, tuple[str | None, str | None, str]]:
        """Who works on each node, and who has taken it over, and its state."""

        def read(session: Session) -> dict[str, tuple[str | None, str | None, str]]:
            columns = (Node.name, Node.reservation, Node.conductor_affinity, Node.provision_state)
            return {name: tuple(row) for name, *row in session.execute(select(*columns))}

        return self.service.database.read(read)

    def is_alive(self, host: str) -> bool:
        return bool(self.service.baremetal("GET", f"/conductors/{host}").json["alive"])


@pytest.fixture
def site(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    own, options = Clock(), {"heartbeat_interval": INTERVAL, "heartbeat_timeout": TIMEOUT}
    for module in (database_clock, entry):
        monkeypatch.setattr(module, "time", own)
    with Service(database_url, conductor=options) as service, settable(service.database) as clock:
        yield Site(service, clock, own)


def test_no_node_changes_its_owner_when_the_clock_is_set(site: Site, row: Rows) -> None:
    """Neither before the first heartbeat by the new time, nor before the last one, nor later."""
    for number in range(4):
        uuid = site.service.add_node(f"n{number}")
        begin(site.service, uuid, f"c{1 + number % 2}", provision_state="deploying", target_provision_state="active")
    for number in range(4, 8):
        site.service.set_columns(site.service.add_node(f"n{number}"), provision_state="active")
    site.beat()
    before = site.nodes()
    assert {affinity for _, affinity, _ in before.values()} == {None, "c1", "c2"}
    for step in STEPS:
        with row(step):
            site.database.step(step)
            for host in site.living:
                site.look(host)
                assert site.nodes() == before
                site.service.conductors[host].beat()
                site.look(host)
                assert site.nodes() == before
            site.go_on(TIMEOUT + 2 * INTERVAL)
            assert site.nodes() == before
            site.database.step(-step)
            site.go_on(TIMEOUT + 2 * INTERVAL)


def test_a_conductor_that_dies_after_the_clock_was_set_is_replaced(site: Site, subtests: pytest.Subtests) -> None:
    """Within two time-outs, whether it has sent a heartbeat by the new time or not. The other one lives."""
    for step in STEPS:
        for beats in (False, True):
            with subtests.test(step=step, beats=beats):
                site.living, name = ["c1", "c2"], f"after {step} {beats}"
                site.beat()
                uuid = site.service.add_node(name)
                begin(site.service, uuid, "c2", provision_state="deploying", target_provision_state="active")
                site.database.step(step)
                if beats:
                    site.beat()
                site.living = ["c1"]
                site.go_on(2 * TIMEOUT)
                assert (site.is_alive("c1"), site.is_alive("c2")) == (True, False)
                assert site.nodes()[name] == (None, None, "deploy failed")


def test_who_was_taken_for_dead_lives_again(site: Site) -> None:
    site.database.step(-3600)
    site.living = ["c1"]
    site.go_on(2 * TIMEOUT)
    assert not site.is_alive("c2")
    site.living = ["c1", "c2"]
    site.beat()
    assert site.is_alive("c2")


def test_a_heartbeat_that_was_not_committed_is_not_that_of_a_successor(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it is later than what the entry has, or earlier: the clock was put back in between."""
    c1, database = site.service.conductors["c1"], site.service.database
    for step in (-3600, 3600):
        site.database.step(step)
        with monkeypatch.context() as patch:
            patch.setattr(database, "write", lambda work, **_: database.read(work) and _away())
            with pytest.raises(DatabaseAway):
                c1.beat()
        c1.beat()
    database.write(lambda session: conductors.heartbeat(session, "c1"))
    with pytest.raises(HostNameTaken):
        c1.beat()


def _away() -> None:
    raise DatabaseAway


def test_a_look_that_takes_long_is_no_step(site: Site) -> None:
    """Nor is the time between two, however long; a step within a look is only noticed by as much as is certain."""
    clock = DatabaseClock(site.service.conductors["c1"]._settings)
    clock.note(1000.0 + site.own.monotonic(), site.own.monotonic())
    for seconds in (5.0, 300.0, 4000.0):
        began = site.own.monotonic()
        site.own.go_on(seconds)
        clock.note(1000.0 + began, began)
        assert clock.is_steady()
        clock.note(1000.0 + site.own.monotonic(), site.own.monotonic())
        assert clock.is_steady()
    clock.note(1000.0 + site.own.monotonic() + INTERVAL + 1, site.own.monotonic())
    assert not clock.is_steady()
    site.own.go_on(TIMEOUT)
    assert clock.is_steady()


def test_heartbeats_that_could_not_change_are_not_those_of_the_dead(site: Site) -> None:
    """Nobody could look at them, nor write them."""
    found = HeartbeatsAhead(TIMEOUT)
    seen = []
    for seconds in (0.0, 20.0, 40.0, 20.0, 20.0, 20.0):
        site.own.go_on(seconds)
        seen.append(found.dead({"c2": 1.0}))
    assert seen == [{}] * 5 + [{"c2": 1.0}]
    assert found.dead({"c2": 2.0}) == found.dead({}) == {}
