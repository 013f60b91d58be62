"""A whole site while a clock is set: that of the database, or that of a host."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from baremetal_sched.baremetal import state_machine
from baremetal_sched.db import clock as db_clock
from tests.functional.conductor.test_clocks import STEPS, TIMEOUT, Site, site
from tests.functional.conductor.test_who_works import node_id
from tests.functional.scheduling.test_webhook_deliveries import deliver
from tests.receiver import Receiver

__all__ = ["site"]

pytestmark = pytest.mark.ci


class Reader:
    """Follows the events."""

    def __init__(self, site: Site) -> None:
        self._get = site.service.http.get
        self.cursor = self._get("/scheduling/v1/events?limit=1").json["cursor"]

    def read(self) -> list[str]:
        """The ids of the events since."""
        found: list[str] = []
        while page := self._get(f"/scheduling/v1/events?after={self.cursor}").json:
            self.cursor = page["cursor"]
            if not page["events"]:
                break
            found += [each["id"] for each in page["events"]]
        return found


def deployments(site: Site, name: str) -> list[str]:
    """Six: two that are requested, two whose agents are awaited, and two whose machines are busy with a step."""
    uuids = [site.service.add_node(f"{name} {number}") for number in range(6)]
    for uuid in uuids[:2] + uuids[4:]:
        site.service.baremetal("PUT", f"/nodes/{uuid}/states/provision", {"target": "active"})
    for uuid in uuids[2:4]:
        site.begin_to_wait(uuid)
    for uuid in uuids[4:]:
        site.postpone(node_id(site.service, uuid), 30)
    return uuids


def owners(site: Site, uuids: list[str]) -> list[Any]:
    membership = site.service.conductors["c1"]._host.membership()
    reserved = [site.service.node(uuid)["reservation"] for uuid in uuids]
    return [reserved, [membership.owner(uuid, "", "fake-hardware") for uuid in uuids]]


def test_a_site_goes_on(
    site: Site, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """No node changes its owner, no deployment fails, the webhook and the reader get every event, and a conductor that
    is killed afterwards is replaced within two time-outs."""
    service, reader = site.service, Reader(site)
    service.http.post_json("/scheduling/v1/webhooks", {"url": receiver.url}, status=201)
    for whose in ("database", "host"):
        for step in STEPS:
            with subtests.test(whose=whose, step=step):
                site.living, name = ["c1", "c2"], f"{whose} {step}"
                site.beat()
                uuids = deployments(site, name)
                before = owners(site, uuids)
                number(site)
                deliver(service)
                if whose == "database":
                    site.database.step(step)
                else:
                    set_host(site, monkeypatch, step)
                for host in site.living:
                    site.look(host)
                    service.conductors[host].beat()
                    site.look(host)
                assert owners(site, uuids) == before
                service.add_node(f"{name} late")
                number(site)
                deliver(service)
                heard = reader.read()
                assert heard
                assert [each.id for each in receiver.received][-len(heard) :] == heard
                site.go_on(2 * TIMEOUT)
                service.work()
                states = [service.node(uuid)["provision_state"] for uuid in uuids]
                assert states == [*["active"] * 2, *["wait call-back"] * 2, *["active"] * 2]
                site.living = ["c1"]
                site.go_on(2 * TIMEOUT)
                assert not site.is_alive("c2")
                assert owners(site, uuids)[1] == ["c1"] * 6


def number(site: Site) -> None:
    """A conductor gives events their numbers."""
    while any(site.service.conductors[host].events._numbering.step() for host in site.living):
        pass


def set_host(site: Site, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the clock of the hosts, which is that of this process."""

    def utcnow() -> datetime:
        return db_clock.utcnow() + timedelta(seconds=seconds)

    monkeypatch.setattr(state_machine, "utcnow", utcnow)
    monkeypatch.setattr(site.own, "time", lambda: db_clock.utcnow().timestamp() + seconds)
