"""A laboratory with bookings: what happens in it, act by act, and what must be true then, in plain Python.

All that is checked is worked out here from the rows of nodes, holds, claims and bookings (``BookedRows``).
"""

import uuid as uuid_module
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tests.database_clock import SettableClock
from tests.functional.scheduling.booked_rows import BookedRows
from tests.functional.scheduling.laboratory import CLAIMS, HOUR, SWEEPS, Laboratory, Use
from tests.service import Service

BOOKINGS = "/scheduling/v1/bookings"
BEGIN = 1_800_000_000.0
MOMENTS = 12
#: There were at most so many bookings.
MOST_BOOKINGS = 5


class BookedLaboratory(Laboratory):
    """A laboratory with bookings, by UUID, of which there were at most five."""

    def __init__(self, service: Service, clock: SettableClock) -> None:
        super().__init__(service, clock, ())
        #: Those that were made, and what they and the claims asked for.
        self.bookings: list[str] = []
        self.asked: dict[str, Mapping[str, Any]] = {}
        self.happened = Counter[str]()

    # -- what happens --------------------------------------------------------------------------------------------------

    def tell(self, story: Iterable[tuple[int, tuple[Any, ...]]]) -> None:
        """Let a story happen, and the sweeps after each moment."""
        for number in range(MOMENTS):
            self.at(BEGIN + number * HOUR, lambda: True)
        for number, (name, *arguments) in story:
            self.at(BEGIN + number * HOUR, self._act, name, *arguments)
        self.run()

    def _act(self, name: str, *arguments: Any) -> bool:
        done = getattr(self, "_" + name.replace(" ", "_"))(*arguments)
        self.happened[name] += bool(done)
        return True

    def _book(self, wanted: Mapping[str, Any], count: int, placed: Mapping[str, Any], ahead: int, lasts: float) -> bool:
        if len(self.bookings) == MOST_BOOKINGS:
            return False
        starts_at = self.now + ahead * HOUR
        times = {"starts_at": self.words(starts_at) if ahead else None, "ends_at": self.words(starts_at + lasts)}
        uuid = str(uuid_module.uuid4())
        body = {**wanted, **placed, **times, "uuid": uuid, "count": count, "project_id": "p", "user_id": "u"}
        answer = self.service.http.post_json(BOOKINGS, body, status="*")
        assert answer.status_int in (201, 409), answer
        self.bookings += [uuid] * (answer.status_int == 201)
        self.asked[uuid] = body
        return answer.status_int == 201

    def _claim(self, wanted: Mapping[str, Any], lasts: float | None, waits: bool, is_moment: bool) -> bool:
        end = {} if lasts is None else {"until": self.now + lasts} if is_moment else {"seconds": lasts}
        named = {"until": self.words(end["until"])} if "until" in end else {"for": lasts} if end else {}
        return self._post_claim({**wanted, **named, **({"wait": 4 * 3600} if waits else {})}, end)

    def _claim_under(self, number: int, waits: bool) -> bool:
        rows = self._rows().bookings
        running = [uuid for uuid, row in rows.items() if row.starts_at <= self.now < row.ends_at]
        planned = [uuid for uuid, row in rows.items() if self.now < row.starts_at]
        booking = self._find(running or planned or [*rows], number)
        if booking is None:
            return False
        row = rows[booking]
        body = {"resource_class": self.asked[booking]["resource_class"], "booking": booking}
        return self._post_claim({**body, **({"wait": 3600} if waits else {})}, {"until": row.ends_at})

    def _post_claim(self, body: Mapping[str, Any], end: Mapping[str, float]) -> bool:
        uuid = str(uuid_module.uuid4())
        consumer = {"uuid": uuid, "project_id": "p", "user_id": "u"}
        answer = self.service.http.post_json(CLAIMS, {**body, "consumer": consumer}, status="*")
        assert answer.status_int in (201, 202, 409), answer
        if answer.status_int != 409:
            self.add(Use.of(uuid, "claim", end))
            self.asked[uuid] = body
        return answer.status_int != 409

    def _prolong(self, number: int, lasts: float | None) -> bool:
        use = self._find([each for each in self.living.values() if each.has], number)
        if use is None:
            return False
        body = {"until": None if lasts is None else self.words(self.now + lasts)}
        answer = self.service.http.patch_json(f"{CLAIMS}/{use.uuid}", body, status="*")
        assert answer.status_int in (200, 400, 409), answer
        if answer.status_int == 200:
            self.know_end(use, answer.json["until"])
        return answer.status_int == 200

    def _release(self, number: int) -> bool:
        use = self._find([*self.living.values()], number)
        if use is None or any(self.is_locked(each) for each in use.has):
            return False
        self.service.http.delete(f"{CLAIMS}/{use.uuid}", status="*")
        del self.living[use.uuid]
        return True

    def _cancel(self, number: int) -> bool:
        booking = self._find(self.bookings, number)
        if booking is None:
            return False
        answer = self.service.http.delete(f"{BOOKINGS}/{booking}", status="*")
        assert answer.status_int in (204, 404, 409), answer
        return answer.status_int == 204

    def _change(self, number: int, count: int, lasts: float | None) -> bool:
        booking = self._find(self.bookings, number)
        if booking is None:
            return False
        body = {"count": count, **({} if lasts is None else {"ends_at": self.words(self.now + lasts)})}
        before = self._rows().of_booking(booking)
        answer = self.service.http.patch_json(f"{BOOKINGS}/{booking}", body, status="*")
        assert answer.status_int in (200, 400, 404, 409), answer
        rows = self._rows()
        if answer.status_int != 200:
            assert rows.of_booking(booking) == before, (answer, "has changed something")
            return False
        for use in self.living.values():
            row = rows.claims.get(use.uuid)
            if row is not None and row.booking == booking:
                use.ends_at = row.ends_at
            elif use.until is not None and self.asked[use.uuid].get("booking") == booking:
                use.until = rows.bookings[booking].ends_at
        return True

    def _hold(self, number: int, ahead: int, lasts: float) -> bool:
        starts_at = self.now + ahead * HOUR
        times = {"ends_at": self.words(starts_at + lasts), **({"starts_at": self.words(starts_at)} if ahead else {})}
        for moment in (starts_at, starts_at + lasts):
            self.at(moment, lambda: True)
        return self._post_hold(number, {"type": "window", **times})

    def _lockout(self, number: int, lasts: float) -> bool:
        """Nobody touches a machine for a while: ends on it are late."""
        node = self._find([*self.machines], number)
        if node is None or not self._post_hold(number, {"type": "lockout"}):
            return False
        self.locked_until[node] = float("inf")
        self.at(self.now + lasts, self._unlock, node)
        return True

    def _unlock(self, node: str) -> bool:
        holds = f"/scheduling/v1/nodes/{node}/holds"
        for hold in self.service.http.get(holds, status="*").json.get("maintenance", ()):
            if hold["type"] == "lockout":
                self.service.http.delete(f"{holds}/{hold['uuid']}")
        self.locked_until[node] = self.now
        return True

    def _post_hold(self, number: int, body: Mapping[str, Any]) -> bool:
        node = self._find([*self.machines], number)
        if node is None:
            return False
        answer = self.service.http.post_json(f"/scheduling/v1/nodes/{node}/holds", body, status="*")
        assert answer.status_int in (201, 409), answer
        return answer.status_int == 201

    def _delete(self, number: int) -> bool:
        node = self._find([*self.machines], number)
        if node is None:
            return False
        if self.service.baremetal("GET", f"/nodes/{node}").json["maintenance"]:
            return False  # it would be deleted with what is claimed of it
        answer = self.service.baremetal("DELETE", f"/nodes/{node}", status="*")
        if answer.status_int == 204:
            del self.machines[node]
        return answer.status_int == 204

    def _traits(self, number: int, traits: set[str]) -> bool:
        node = self._find([*self.machines], number)
        if node is None:
            return False
        self.service.baremetal("PUT", f"/nodes/{node}/traits", {"traits": sorted(traits)})
        return True

    @staticmethod
    def _find(choices: list[Any], number: int) -> Any:
        return choices[number % len(choices)] if choices else None

    # -- what must be true ---------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let the conductors do all that is due, bookings included, and check what must be true."""
        others = [name for name in ("holds", "bookings") if name in SWEEPS]
        self.sweep(*others)
        self.sweep("ends", "claims")
        self.sweep(*others)  # what was freed fills bookings that are short
        super().settle()

    def check(self) -> None:
        super().check()
        assert [*self._rows().wrong()] == []

    def _check_waiting(self, queue: list[Any], held: dict[str, Any], machines: list[Any], now: float) -> None:
        """Nobody waits while a machine is free that they may have, and nobody longer than they said."""
        rows = self._rows()
        for row in queue:
            assert row.deadline > now - 1.0, (row, now, "waits for too long")
            fitting = rows.free_for(self.asked[row.uuid], self.uses[row.uuid])
            assert not fitting, (row, fitting, "waits in vain")

    def _rows(self) -> BookedRows:
        return self.service.database.select(lambda connection: BookedRows(connection, self.asked))
