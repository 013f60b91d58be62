"""Two conductors with one host name: the newcomer goes if the other is alive, and takes over if it is not."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.conductors.conductors import LastHeartbeat
from baremetal_sched.conductor import host
from baremetal_sched.conductor.daemon import ConductorDaemon
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.db.models import Conductor as ConductorEntry
from baremetal_sched.errors import CommitUnknown
from baremetal_sched.errors.baremetal import HostNameTaken
from tests.clocks import Clock, StoppedClock
from tests.service import Service
from tests.waiting import PATIENCE, wait_until

INTERVAL = 10.0


@pytest.fixture
def site(database_url: str) -> Iterator[Service]:
    with Service(database_url, conductor={"heartbeat_interval": INTERVAL}) as service:
        service.add_conductor("c1")
        yield service


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock by which the newcomer waits."""
    clock = StoppedClock()
    monkeypatch.setattr(host, "time", clock)
    return clock


class Waiting(threading.Event):
    """A stop that is not waited for: the time goes by at once, and ``meanwhile`` happens each time. ``asked`` has how
    long each wait would have been."""

    def __init__(self, clock: Clock, meanwhile: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self._clock = clock
        self._meanwhile = meanwhile
        self.asked: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.asked.append(timeout or 0)
        self._clock.go_on(timeout or 0)
        self._meanwhile()
        return self.is_set()


def newcomer(site: Service) -> ConductorDaemon:
    """Another process that has the name c1."""
    settings = site.conductors["c1"]._settings
    return ConductorDaemon(site.database, settings)


def test_a_newcomer_goes_if_the_heartbeat_of_the_other_goes_on(site: Service, clock: Clock) -> None:
    uuid = site.add_node("n1", power=False)
    site.set_columns(uuid, reservation="c1", target_power_state="power on")

    def live() -> None:
        if sum(stop.asked) > 1.5 * INTERVAL:  # late, as on a busy machine
            site.conductors["c1"].beat()

    stop = Waiting(clock, live)
    with pytest.raises(HostNameTaken, match="Another conductor with the host name c1 is running"):
        newcomer(site).start(stop)
    # What the other works on is still its own.
    assert site.node(uuid)["reservation"] == "c1"


def test_a_newcomer_takes_over_from_one_that_was_killed(site: Service, clock: Clock) -> None:
    uuid = site.add_node("n1", power=False)
    site.set_columns(uuid, reservation="c1", target_power_state="power on")
    newcomer(site).start(stop := Waiting(clock))
    assert sum(stop.asked) == pytest.approx(2 * INTERVAL)
    assert site.node(uuid)["reservation"] is None


@pytest.mark.parametrize("left", ["signed off", "long ago", "gone"])
def test_it_does_not_wait_if_there_is_no_doubt(site: Service, left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(*arguments: object) -> None:
        raise AssertionError("it waits")

    def leave(session: Session) -> None:
        if left == "signed off":
            conductors.sign_off(session, "c1")
        else:
            session.execute(update(ConductorEntry).values(heartbeat_at=1.0))
        if left == "gone":
            conductors.forget_gone(session, 1)

    site.database.write(leave)
    monkeypatch.setattr(host, "_await", wait)
    newcomer(site).start()
    assert site.baremetal("GET", "/conductors/c1").json["alive"] is True


@pytest.mark.parametrize("entry", ["offline", "none"])
def test_of_two_that_start_together_one_stays(database_url: str, entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have seen that there is no other."""
    monkeypatch.setattr(host, "_INTERVALS", 200)  # more time than the one may need for a heartbeat
    look, barrier, looked = host._look, threading.Barrier(2), threading.local()

    def look_together(host: ConductorHost) -> LastHeartbeat | None:
        seen = look(host)
        if not hasattr(looked, "once"):
            looked.once = True
            barrier.wait(PATIENCE)
        return seen

    def leave(session: Session) -> None:
        session.execute(update(ConductorEntry).values(heartbeat_at=1.0))
        if entry == "none":
            conductors.forget_gone(session, 1)

    with Service(database_url, conductor={"heartbeat_interval": 0.1}) as site:
        site.add_conductor("c1")
        site.database.write(leave)
        monkeypatch.setattr(host, "_look", look_together)
        stop = threading.Event()

        def live(_: int) -> str:
            try:
                newcomer(site).run(stop)
            except HostNameTaken:
                stop.set()
                return "went"
            return "stayed"

        with ThreadPoolExecutor(2) as pool:
            lives = [pool.submit(live, number) for number in range(2)]
            try:
                wait_until(stop.is_set, "one of them to go")
            finally:
                stop.set()
            assert sorted(future.result() for future in lives) == ["stayed", "went"]


def test_a_stop_ends_the_wait_and_leaves_the_other_alone(database_url: str) -> None:
    with Service(database_url, conductor={"heartbeat_interval": 3600, "heartbeat_timeout": 7200}) as service:
        service.add_conductor("c1")
        uuid = service.add_node("n1", power=False)
        service.set_columns(uuid, reservation="c1", target_power_state="power on")
        stop = threading.Event()
        threading.Timer(0.05, stop.set).start()
        newcomer(service).run(stop)
        assert service.baremetal("GET", "/conductors/c1").json["alive"] is True
        assert service.node(uuid)["reservation"] == "c1"


def test_a_name_is_claimed_once(site: Service) -> None:
    def claim_twice(session: Session) -> list[bool]:
        seen = session.execute(select(ConductorEntry.heartbeat_at)).scalar_one()
        return [conductors.claim(session, "c1", seen) is not None for _ in range(2)]

    assert site.database.write(claim_twice) == [True, False]


def test_a_conductor_that_was_replaced_leaves_the_name_to_its_successor(site: Service, clock: Clock) -> None:
    """Its heartbeats came later than the successor waited."""
    old, successor = site.conductors["c1"], newcomer(site)
    successor.start(Waiting(clock))
    for action in (old.beat, old.sign_off, old.register):
        with pytest.raises(HostNameTaken, match="c1"):
            action()
    assert site.baremetal("GET", "/conductors/c1").json["alive"] is True
    successor.beat()
    successor.sign_off()
    assert site.baremetal("GET", "/conductors/c1").json["alive"] is False


def test_a_starting_conductor_that_was_replaced_does_not_register(site: Service, clock: Clock) -> None:
    first, second = newcomer(site), newcomer(site)
    register = first.register

    def be_slow() -> None:
        second.start(Waiting(clock))
        register()

    first.register = be_slow  # type: ignore[method-assign]
    with pytest.raises(HostNameTaken):
        first.start(Waiting(clock))
    second.beat()


def test_a_heartbeat_whose_commit_is_in_doubt_is_its_own(site: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    write, conductor = site.database.write, site.conductors["c1"]

    def lose_reply(*arguments: Any, **named: Any) -> None:
        write(*arguments, **named)
        raise CommitUnknown

    with monkeypatch.context() as patch:
        patch.setattr(site.database, "write", lose_reply)
        with pytest.raises(CommitUnknown):
            conductor.beat()
    conductor.beat()


def test_a_running_conductor_that_was_replaced_ends_and_hands_nothing_over(database_url: str) -> None:
    with Service(database_url, conductor={"heartbeat_interval": 0.1}) as site:
        site.add_conductor("other")
        site.add_conductor("c1")
        uuid = site.add_node("n1", power=False)
        site.set_columns(uuid, reservation="c1", target_power_state="power on")

        def replace() -> None:
            site.database.write(lambda session: conductors.heartbeat(session, "c1"))
            site.set_columns(uuid, reservation="c1", target_power_state="power on")

        stop = threading.Event()
        with pytest.raises(HostNameTaken, match="c1"):
            newcomer(site).run(stop, started=replace)
        assert stop.is_set()
        assert site.node(uuid)["reservation"] == "c1"
        assert site.baremetal("GET", "/conductors/c1").json["alive"] is True
