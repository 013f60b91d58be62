"""The looks of a conductor at events: one statement asks what waits for a number, and what is due to webhooks."""

import threading
from typing import Any

import pytest
from sqlalchemy import select, update

from baremetal_sched.conductor import webhooks
from baremetal_sched.conductor.daemon import ConductorDaemon
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Webhook
from baremetal_sched.scheduling.webhooks.delivering import LEASE
from baremetal_sched.scheduling.webhooks.testing import WAITING
from tests import passing_time
from tests.clocks import StoppedClock
from tests.functional.scheduling import test_webhook_deliveries
from tests.functional.scheduling.happening import happen
from tests.functional.scheduling.test_webhook_deliveries import make
from tests.functional.scheduling.test_webhook_tests import ask
from tests.numbered import number_all
from tests.receiver import Receiver
from tests.service import Service
from tests.waiting import wait_until

service = test_webhook_deliveries.service

LEASED = select(Webhook.leased_until)


def look(conductor: ConductorDaemon, service: Service) -> list[str]:
    """Let the conductor look; returns its statements."""
    with service.statements() as seen:
        conductor.events.look(with_webhooks=True)
    return seen


def test_at_rest_a_look_is_one_statement(service: Service, receiver: Receiver) -> None:
    conductor = service.add_conductor("c1")
    make(service, receiver.url)
    number_all(service)
    for _ in range(3):
        (statement,) = look(conductor, service)
    assert all(table in statement for table in ("event_notes", "event_stream", "webhooks", "webhook_tests"))


def test_a_look_finds_what_time_makes_due(service: Service, receiver: Receiver, subtests: pytest.Subtests) -> None:
    """The end of a pause, and of the lease of a process that is gone."""
    conductor = service.add_conductor("c1")
    make(service, receiver.url)
    for title, column, seconds in (("pause", Webhook.retry_at, 600), ("lease", Webhook.leased_until, LEASE)):
        with subtests.test(title):
            number_all(service)
            soon = update(Webhook).values({column: epoch() + seconds - 1})
            service.database.write(lambda session, soon=soon: session.execute(soon) and None)
            happen(service, title)
            assert len(look(conductor, service)) == 1
            passing_time.go_by(service, seconds)
            assert len(look(conductor, service)) > 1
            wait_until(lambda title=title: title in receiver.subjects, "the delivery")
            # Until its end, the delivery writes the lease, too.
            wait_until(lambda: service.database.select(lambda found: found.scalar(LEASED)) == 0, "its end")


def test_a_look_finds_tests(service: Service, receiver: Receiver) -> None:
    conductor = service.add_conductor("c1")
    hook = make(service, receiver.url)
    number_all(service)
    asked = threading.Thread(target=lambda: ask(service, hook))
    asked.start()
    wait_until(lambda: service.database.select(lambda connection: connection.execute(WAITING).all()), "the test")
    look(conductor, service)
    asked.join()
    assert len(receiver.received) == 1


def test_a_look_that_numbers_an_event_sends_it(service: Service, receiver: Receiver) -> None:
    conductor = service.add_conductor("c1")
    make(service, receiver.url)
    uuid = service.add_node("n1")
    look(conductor, service)
    wait_until(lambda: uuid in receiver.subjects, "the delivery")


def test_when_webhooks_have_their_turn(
    database_url: str, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """Every ``webhooks_interval`` seconds until the conductor stops. Events have numbers four times a second while
    there are some, else once a second, and once a minute if none are written."""
    clock = StoppedClock()
    monkeypatch.setattr(webhooks, "time", clock)
    rows: list[tuple[str, dict[str, Any], set[float], int]] = [
        ("each second", {}, {0.25, 1.0}, 10),
        ("each tenth of a second", {"webhooks_interval": 0.1}, {0.1}, 100),
        ("each two seconds", {"webhooks_interval": 2}, {0.25, 1.0}, 5),
        ("never", {"webhooks_interval": 0}, {0.25, 1.0}, 0),
        ("no events", {"enabled": False}, {0.25, 60.0}, 2),
    ]
    for title, options, pauses, turns in rows:
        with subtests.test(title), Service(database_url, events=options) as service:
            events = service.add_conductor("c1").events
            number_all(service)
            events.step(delivers=True)
            begun, found, seen = clock.monotonic(), set[float](), list[str]()
            while clock.monotonic() < begun + 10:
                found.add(round(events.pause, 6))
                clock.go_on(events.pause)
                with service.statements() as looks:
                    events.step(delivers=True)
                seen += looks
            assert found == pauses
            assert sum("webhooks" in statement for statement in seen) == pytest.approx(turns, abs=1)
            clock.go_on(60)
            with service.statements() as looks:
                events.step(delivers=False)
            assert "webhooks" not in looks[0]
            assert events.pause > 0
