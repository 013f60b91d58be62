"""The clock of the database is set while conductors work: nobody takes over what another one does, and a conductor that
dies then is replaced."""

import io
import json
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.conductor import claiming, database_clock, entry
from baremetal_sched.conductor.database_clock import DatabaseClock, HeartbeatsAhead
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import Node, NodeWork
from baremetal_sched.errors import DatabaseAway
from baremetal_sched.errors.baremetal import HostNameTaken
from tests.clocks import Clock
from tests.database_clock import SettableClock, settable
from tests.functional.baremetal.provisioning import LOG_STEP, WAIT_STEP, ask, enrol, put_into
from tests.functional.conductor.test_orphans import begin
from tests.functional.conductor.test_polling import Busy, busy
from tests.functional.conductor.test_who_works import node_id
from tests.restored import Rows
from tests.service import Service

__all__ = ["busy"]

pytestmark = pytest.mark.ci

EVENTS = {"allowed_hosts": "127.0.0.1"}

INTERVAL, TIMEOUT, WAIT = 10.0, 60.0, 1800.0
#: Seconds that the test itself may take.
SLACK = 600.0
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

    def add_active_nodes(self) -> None:
        """Nodes of both."""
        membership, owners, number = self.service.conductors["c1"]._host.membership(), set[str | None](), 0
        while owners != {"c1", "c2"}:
            uuid, number = self.service.add_node(f"active-{number}"), number + 1
            self.service.set_columns(uuid, provision_state="active")
            owners.add(membership.owner(uuid, "", "fake-hardware"))

    def begin_to_wait(self, uuid: str) -> None:
        """Let the node wait for its agent from now on."""

        def change(session: Session) -> None:
            node = session.scalars(select(Node).where(Node.uuid == uuid)).one()
            node.provision_state, node.target_provision_state = "deploying", "active"
            state_machine.move(node, state_machine.WAIT)

        self.service.database.write(change)

    def postpone(self, node: int, seconds: float) -> None:
        """Let the machine execute its last step by itself, about which it is asked in ``seconds``."""

        def change(session: Session) -> None:
            step = {**WAIT_STEP, "args": {"seconds": seconds}}
            arguments = {"step": step, "since": session.scalar(select(epoch())), "remembered": {}}
            values = {"kind": "poll", "claimed_by": None, "not_before": epoch() + seconds, "arguments": arguments}
            session.execute(update(NodeWork).where(NodeWork.node_id == node).values(values))

        self.service.database.write(change)

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

    def jump(self, seconds: float) -> None:
        """The same with one heartbeat of each in the end."""
        self.database.step(seconds)
        self.own.go_on(seconds)
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
    own, options = (
        Clock(),
        {"heartbeat_interval": INTERVAL, "heartbeat_timeout": TIMEOUT, "deploy_callback_timeout": WAIT},
    )
    for module in (database_clock, entry, conductors):
        monkeypatch.setattr(module, "time", own)
    with Service(database_url, conductor=options, events=EVENTS) as service, settable(service.database) as clock:
        yield Site(service, clock, own)


def test_no_node_changes_its_owner_when_the_clock_is_set(site: Site, row: Rows) -> None:
    """Neither before the first heartbeat by the new time, nor before the last one, nor later."""
    for number in range(4):
        uuid = site.service.add_node(f"n{number}")
        begin(site.service, uuid, f"c{1 + number % 2}", provision_state="deploying", target_provision_state="active")
    site.add_active_nodes()
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


def test_waits_are_measured_by_the_clock_of_the_database(
    site: Site, monkeypatch: pytest.MonkeyPatch, row: Rows
) -> None:
    """Whatever the clocks of hosts show, and however the clock of the database is set."""
    uuid = site.service.add_node("n1")
    for ahead in (0.0, -3600.0, 3600.0):
        for step in (0.0, *STEPS):
            with row(ahead, step):
                monkeypatch.setattr(state_machine, "utcnow", lambda ahead=ahead: utcnow() + timedelta(seconds=ahead))
                site.begin_to_wait(uuid)
                site.jump(60)
                site.database.step(step)
                site.beat()
                site.jump(WAIT - 60 - SLACK)
                assert site.nodes()["n1"][2] == "wait call-back"
                site.jump(max(0.0, -step) + SLACK)
                assert site.nodes()["n1"][2] == "deploy failed"


def test_an_earlier_release_writes_only_the_time_of_its_host(site: Site) -> None:
    """When it has heard of an agent, what this release wrote before counts no more."""
    uuid = site.service.add_node("n1")
    site.begin_to_wait(uuid)
    site.jump(WAIT - SLACK)
    site.service.set_columns(uuid, provision_updated_at=utcnow() + timedelta(seconds=site.database.ahead))
    site.jump(WAIT - SLACK)
    assert site.nodes()["n1"][2] == "wait call-back"
    site.jump(SLACK)
    assert site.nodes()["n1"][2] == "deploy failed"


def test_a_step_that_a_machine_executes_is_asked_for_in_time(site: Site, subtests: pytest.Subtests) -> None:
    """Whether its conductor goes on after the clock was put back, or dies."""
    for dies in (False, True):
        with subtests.test(dies=dies):
            site.living = ["c1", "c2"]
            site.beat()
            uuid = site.service.add_node(f"dies {dies}")
            begin(site.service, uuid, "c2", provision_state="cleaning", target_provision_state="available")
            number = node_id(site.service, uuid)
            site.postpone(number, 30)
            site.database.step(-3600)
            site.living = ["c1"] if dies else ["c1", "c2"]
            site.go_on(2 * TIMEOUT)
            reserved, _, state = site.nodes()[f"dies {dies}"]
            assert (reserved, state) == ("c1" if dies else "c2", "cleaning")
            due = claiming.take(site.service.database, site.service.app.settings, reserved or "", "p")
            assert "poll" in [work.kind for work in due if work.node_id == number]


def test_a_step_does_not_take_too_long_since_the_clock_was_set(site: Site, busy: Busy) -> None:
    """Nobody knows that the clock was set, before the machine is asked."""
    uuid = enrol(site.service)
    put_into(site.service, uuid, "manageable")
    ask(site.service, "clean", clean_steps=[LOG_STEP])
    site.service.work()
    for _ in range(2):
        site.database.step(20_000)
        site.service.work()
        assert site.service.node(uuid)["provision_state"] == "cleaning"
    assert len(busy.asked) == 2
    site.jump(20_000)
    site.service.work()
    assert site.service.node(uuid)["provision_state"] == "clean failed"


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


def test_a_host_whose_clock_is_wrong_is_noticed(site: Site, lines: io.StringIO) -> None:
    """Once an hour, and by the metric; it is negative, as the host is behind."""
    metric = "baremetal_sched_conductor_clock_difference_seconds"
    site.database.step(7200)
    for hours in range(2):
        site.beat()
        site.beat()
        warnings = [each for each in map(json.loads, lines.getvalue().splitlines()) if "of this host" in each["event"]]
        assert [each["conductor"] for each in warnings] == ["c1", "c2"] * (hours + 1)
        site.own.go_on(3600)
        entries = re.findall(rf'^{metric}{{conductor="(\w+)"}} (\S+)$', site.service.http.get("/metrics").text, re.M)
        behind = 7200.0 - 3600.0 * hours
        assert {(host, round(float(ahead), -2)) for host, ahead in entries} == {("c1", -behind), ("c2", -behind)}
