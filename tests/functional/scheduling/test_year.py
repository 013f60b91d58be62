"""A year of a laboratory: 40 machines, and 2,000 claims from a seed, of which most have an end. Some hundreds of
them are under bookings, and each day a large group waits for its turn.

``laboratory`` and ``booked_year`` have what must be true at each moment; here is what happens. Each season is a test of
its own, so that they can run side by side; YEAR_SEED is the seed of another year.
"""

import logging
import os
import uuid as uuid_module
from random import Random
from typing import Any

import pytest

from tests.database_clock import settable
from tests.functional.compute.test_servers import add_flavor, add_image, boot
from tests.functional.scheduling.booked_year import BookedYear, Bookers
from tests.functional.scheduling.laboratory import AFTER, CLAIMS, DAY, HOUR, Use
from tests.service import Service

SEED = int(os.environ.get("YEAR_SEED", "61"))
#: How many there are of both, and how many seconds apart claims come on average: 40 machines are in use for most of it.
MACHINES = {"gold": 30, "silver": 10}
CLAIMS_OF_YEAR = 1_200
BOOKINGS_OF_YEAR = 500
HOLDS_OF_YEAR = 120
#: Parts of the year: each is a test, which must end within ten minutes on a busy machine.
SEASONS = 8
SEASON = 365 * DAY / SEASONS
#: How long machines are used on average.
MEAN = 150 * HOUR
#: Once a day somebody needs so many golden machines at once.
GROUP = 8
TELL_BEFORE = (DAY, HOUR)

OPTIONS = {"tell_before": "86400,3600", "gather": "ends"}

#: Who asks, and how often.
KINDS = {"claim": 82, "several": 6, "deployed": 4, "allocation": 4, "server": 4}
#: How it ends, and how often.
ENDS = {"until": 40, "for": 35, None: 25}
#: What users do before the end, and how often.
CHANGES = {"nothing": 65, "later": 15, "sooner": 7, "again for": 3, "no end": 2, "give back": 8}


class Users:
    """What users and operators of a laboratory do, by the dice."""

    def __init__(self, laboratory: BookedYear, random: Random) -> None:
        self.laboratory, self.service, self._random = laboratory, laboratory.service, random
        self.flavor, self.image = add_flavor(self.service), add_image(self.service)
        self._bookers = Bookers(laboratory, random, self._give_back)

    def plan(self) -> None:
        """Plan the arrivals of a season, and what operators do."""
        now, random = self.laboratory.now, self._random
        for _ in range(CLAIMS_OF_YEAR // SEASONS):
            self.laboratory.at(now + random.uniform(0, SEASON), self._ask)
        for day in range(int(SEASON / DAY)):
            self.laboratory.at(now + (day + random.random()) * DAY, self._ask_for_group)
        for _ in range(BOOKINGS_OF_YEAR // SEASONS):
            self.laboratory.at(now + random.uniform(0, SEASON), self._bookers.book)
        for _ in range(HOLDS_OF_YEAR // SEASONS):
            self.laboratory.at(
                now + random.uniform(0, SEASON), random.choice([self._lock, self._withhold, self._announce])
            )

    def _draw(self, choices: dict[Any, int]) -> Any:
        return self._random.choices([*choices], [*choices.values()])[0]

    # -- asking --------------------------------------------------------------------------------------------------------

    def _ask(self) -> bool:
        kind, now = self._draw(KINDS), self.laboratory.now
        lasts = round(self._random.expovariate(1 / MEAN) + HOUR / 2, 3)
        form = self._draw(ENDS)
        asked = {"until": {"until": now + lasts}, "for": {"seconds": lasts}, None: {}}[form]
        use = {"allocation": self._allocate, "server": self._boot}.get(kind, self._claim)(kind, asked)
        if use is None:
            return True
        self.laboratory.add(use)
        if asked:
            self.laboratory.at(now + self._random.uniform(0, 1.2 * lasts), self._change, use)
        else:
            self.laboratory.at(now + lasts, self._give_back, use)
        return True

    def _ask_for_group(self) -> bool:
        """A large group, for some hours, which gets its turn."""
        use = self._claim("group", {"seconds": round(self._random.uniform(2, 8) * HOUR, 3)})
        if use is not None:
            self.laboratory.add(use)
        return True

    def _members(self, asked: dict[str, float]) -> dict[str, Any]:
        """An end as requests name it."""
        if "until" in asked:
            return {"until": self.laboratory.words(asked["until"])}
        return {"for": asked["seconds"]} if asked else {}

    def _claim(self, kind: str, asked: dict[str, float]) -> Use | None:
        """One machine, or several; most of those who find none wait."""
        random = self._random
        count = {"several": random.randint(2, 4), "group": GROUP}.get(kind, 1)
        uuid = str(uuid_module.UUID(int=random.getrandbits(128), version=4))
        body = {
            "resource_class": "gold" if count > 1 else random.choices([*MACHINES], [*MACHINES.values()])[0],
            "consumer": {"uuid": uuid, "project_id": "p", "user_id": "u"},
            **self._members(asked),
            **({"wait": random.randint(1, 72 * 3600)} if random.random() < 0.7 else {}),
            **({"count": count} if count > 1 else {}),
        }
        answer = self.service.http.post_json(CLAIMS, body, status="*")
        assert answer.status_int in (201, 202, 409), answer
        if answer.status_int == 409:
            return None
        if kind == "deployed" and answer.status_int == 201:
            (node,) = answer.json["allocations"]
            self.service.patch(node, ("add", "/instance_uuid", uuid))
            self._deploy(node)
        return Use.of(uuid, "claim", asked, count)

    def _allocate(self, kind: str, asked: dict[str, float]) -> Use | None:
        """An allocation, whose node is deployed. It names a time in any case."""
        if asked:
            asked = {"until": asked.get("until") or self.laboratory.now + asked["seconds"]}
        headers = {"Prefer": f'allocation-until="{self.laboratory.words(asked["until"])}"'} if asked else {}
        answer = self.service.baremetal("POST", "/allocations", {"resource_class": "gold"}, headers=headers)
        uuid: str = answer.json["uuid"]
        found = self.service.baremetal("GET", f"/allocations/{uuid}").json
        if found["state"] != "active":
            self.service.baremetal("DELETE", f"/allocations/{uuid}")
            return None
        assert not asked or "allocation-until" in answer.headers["Preference-Applied"]
        self._deploy(found["node_uuid"])
        return Use.of(uuid, "allocation", asked)

    def _boot(self, kind: str, asked: dict[str, float]) -> Use | None:
        hints = {name: str(value) for name, value in self._members(asked).items()}
        uuid: str = boot(self.service, self.flavor, self.image, hints=hints).json["server"]["id"]
        if self.service.compute("GET", f"/servers/{uuid}").json["server"]["status"] == "ERROR":
            self.service.compute("DELETE", f"/servers/{uuid}")
            return None
        return Use.of(uuid, "server", asked)

    def _deploy(self, node: str) -> None:
        self.service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "active"})
        self.service.work()

    # -- changing ------------------------------------------------------------------------------------------------------

    def _change(self, use: Use) -> bool:
        """A holder thinks again."""
        what = self._draw(CHANGES)
        if what == "nothing" or not use.has or use.uuid not in self.laboratory.living:
            return False
        if what == "give back":
            return self._give_back(use)
        now, ends_at = self.laboratory.now, use.ends_at or 0.0
        lasts = round(self._random.expovariate(1 / MEAN) + 1, 3)
        body = {
            "later": {"until": self.laboratory.words(max(now, ends_at) + lasts)},
            "sooner": {"until": self.laboratory.words(now + 0.5 * max(0.0, ends_at - now) + 1)},
            "again for": {"for": lasts},
            "no end": {"until": None},
        }[what]
        is_over = ends_at <= now
        answer = self.service.http.patch_json(f"{CLAIMS}/{use.uuid}", body, status=409 if is_over else [200, 409])
        if answer.status_int == 409:
            assert ("has ended" if is_over else "later than") in answer.text, answer
            return True
        self.laboratory.know_end(use, answer.json["until"])
        if use.ends_at is None or use.ends_at > ends_at:
            self.laboratory.delayed |= use.has
        if use.ends_at is None:
            self.laboratory.at(now + lasts, self._give_back, use)
        return True

    def _give_back(self, use: Use) -> bool:
        """By its owner, as owners do."""
        if use.uuid not in self.laboratory.living:
            return False
        if any(self.laboratory.is_locked(each) for each in use.has):  # nobody can undeploy it now
            self.laboratory.at(self.laboratory.now + DAY, self._give_back, use)
            return False
        if use.kind == "server":
            self.service.compute("DELETE", f"/servers/{use.uuid}")
        else:
            for node in use.has:
                if self.service.node(node)["provision_state"] == "active":
                    self.service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "deleted"})
                    self.service.work()
            if use.kind == "claim":
                self.service.http.delete(f"{CLAIMS}/{use.uuid}", status="*")
        del self.laboratory.living[use.uuid]
        return True

    # -- operators -----------------------------------------------------------------------------------------------------

    def _lock(self) -> bool:
        """Nobody touches a machine for some days."""
        return self._hold("lockout")

    def _withhold(self) -> bool:
        return self._hold("operator_hold", drain=self._random.random() < 0.5)

    def _hold(self, kind: str, **more: Any) -> bool:
        node = self._random.choice([*self.laboratory.machines])
        answer = self._post_hold(node, {"type": kind, **more})
        if answer is not None:
            if kind == "lockout":
                self.laboratory.locked_until[node] = float("inf")
            later = self.laboratory.now + self._random.uniform(0.5, 5) * DAY
            self.laboratory.at(later, self._release_hold, node, answer["uuid"], kind)
        return True

    def _release_hold(self, node: str, uuid: str, kind: str) -> bool:
        self.service.http.delete(f"/scheduling/v1/nodes/{node}/holds/{uuid}")
        if kind == "lockout":
            self.laboratory.locked_until[node] = self.laboratory.now
        return True

    def _announce(self) -> bool:
        """A window is planned."""
        starts = self.laboratory.now + self._random.uniform(1, 20) * DAY
        ends = starts + self._random.uniform(0.2, 3) * DAY
        times = {"starts_at": self.laboratory.words(starts), "ends_at": self.laboratory.words(ends)}
        body = {"type": "window", "drain": self._random.random() < 0.5, **times}
        if self._post_hold(self._random.choice([*self.laboratory.machines]), body) is not None:
            for moment in (starts, ends):
                self.laboratory.at(moment + AFTER, self._sweep_holds)
        return True

    def _sweep_holds(self) -> bool:
        self.laboratory.sweep("holds")
        return True

    def _post_hold(self, node: str, body: dict[str, Any]) -> Any:
        """The hold; None if the machine has one of the same type."""
        answer = self.service.http.post_json(f"/scheduling/v1/nodes/{node}/holds", body, status="*")
        assert answer.status_int in (201, 409), answer
        if answer.status_int == 409:
            return None
        self.laboratory.delayed.add(node)
        return answer.json


@pytest.mark.parametrize("season", range(SEASONS))
def test_a_season_of_a_laboratory(database_url: str, season: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)  # each line costs as much as a statement
    years = {"heartbeat_timeout": 2 * 365 * DAY, "conductor_cleanup_timeout": 6 * 365 * DAY}
    with (
        Service(database_url, conductor=years, scheduling=OPTIONS) as service,
        settable(service.database) as clock,
    ):
        service.add_conductor("c1")
        laboratory = BookedYear(service, clock, TELL_BEFORE)
        for name, count in MACHINES.items():
            for number in range(count):
                laboratory.machines[service.add_node(f"{name}-{number}", resource_class=name)] = name
        Users(laboratory, Random(f"{SEED}, season {season}")).plan()
        laboratory.run()
        assert len(laboratory.ended) > CLAIMS_OF_YEAR / SEASONS / 4, laboratory.ended
        laboratory.check_events()
        laboratory.check_empty()
        assert laboratory.planned > laboratory.delays, (laboratory.planned, laboratory.delays)
