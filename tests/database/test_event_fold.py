"""A copy of the tables at a cursor, and all events after it, give the tables of now: after random operations."""

import os
import random
from typing import Any
from uuid import UUID

import pytest

from tests.event_copy import Copy
from tests.numbered import number_all
from tests.service import Service

#: EVENT_OPERATIONS=3000 for a long run.
OPERATIONS = int(os.environ.get("EVENT_OPERATIONS", "120"))
ANSWERS = "*"


class Operator:
    """Does things at random. Many are refused, and change nothing."""

    def __init__(self, service: Service, seed: int) -> None:
        self._service, self._random = service, random.Random(seed)
        self._nodes: list[str] = []
        self._consumers: list[str] = []
        self._holds: list[tuple[str, str]] = []

    def act(self) -> None:
        acts = [name for name in dir(self) if name.startswith("do_")]
        getattr(self, self._random.choice(acts))()

    def _uuid(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def _node(self) -> str:
        return self._random.choice(self._nodes or [self._uuid()])

    def do_enrol(self) -> None:
        if len(self._nodes) < 6:
            owner = self._random.choice((None, "anna"))
            self._nodes.append(self._service.add_node(f"n{len(self._nodes)}-{self._uuid()[:8]}", owner=owner))

    def do_change(self) -> None:
        field, value = self._random.choice(
            (("owner", "anna"), ("owner", "bert"), ("lessee", "carl"), ("description", self._uuid()), ("retired", True))
        )
        self._service.patch(self._node(), ("add", f"/{field}", value), status=ANSWERS)

    def do_remove_lessee(self) -> None:
        self._service.patch(self._node(), ("remove", "/lessee"), status=ANSWERS)

    def do_maintenance(self) -> None:
        method = self._random.choice(("PUT", "DELETE"))
        self._service.baremetal(method, f"/nodes/{self._node()}/maintenance", status=ANSWERS)

    def do_provision(self) -> None:
        target = self._random.choice(("manage", "provide", "provide", "clean", "active", "deleted", "inspect"))
        body: dict[str, Any] = {"target": target}
        self._service.baremetal("PUT", f"/nodes/{self._node()}/states/provision", body, status=ANSWERS)
        if self._random.random() < 0.8:
            self._service.work()

    def do_power(self) -> None:
        target = self._random.choice(("power on", "power off"))
        self._service.baremetal("PUT", f"/nodes/{self._node()}/states/power", {"target": target}, status=ANSWERS)
        self._service.work()

    def do_delete(self) -> None:
        if self._nodes and self._random.random() < 0.3:
            node = self._node()
            answer = self._service.baremetal("DELETE", f"/nodes/{node}", status=ANSWERS)
            if answer.status_int == 204:
                self._nodes.remove(node)

    def do_claim(self) -> None:
        self._consumers.append(self._uuid())
        self._service.claim(self._consumers[-1], self._node(), status=ANSWERS)

    def do_release(self) -> None:
        if self._consumers:
            consumer = self._random.choice(self._consumers)
            self._service.placement("DELETE", f"/allocations/{consumer}", status=ANSWERS)

    def do_wait(self) -> None:
        self._consumers.append(self._uuid())
        body = {"query": "resources=CUSTOM_GOLD:1", "wait": 600, "even_if_impossible": True}
        consumer = {"uuid": self._consumers[-1], "project_id": "anna", "user_id": "u"}
        self._service.http.post_json("/scheduling/v1/claims", {**body, "consumer": consumer}, status=ANSWERS)

    def do_withdraw(self) -> None:
        if self._consumers:
            path = f"/scheduling/v1/claims/{self._random.choice(self._consumers)}"
            self._service.http.delete(path, status=ANSWERS)

    def do_allocate(self) -> None:
        self._consumers.append(self._uuid())
        body = {"uuid": self._consumers[-1], "resource_class": "gold"}
        prefer = {"Prefer": "allocation-wait=600"} if self._random.random() < 0.5 else None
        self._service.baremetal("POST", "/allocations", body, status=ANSWERS, headers=prefer)

    def do_deallocate(self) -> None:
        if self._consumers:
            path = f"/allocations/{self._random.choice(self._consumers)}"
            self._service.baremetal("DELETE", path, status=ANSWERS)

    def do_hold(self) -> None:
        node, reason = self._node(), self._uuid()
        body: dict[str, Any] = {"type": self._random.choice(("window", "hardware_failure")), "reason": reason}
        if self._random.random() < 0.3:
            body["starts_at"] = "2050-01-01T00:00:00Z"
        answer = self._service.http.post_json(f"/scheduling/v1/nodes/{node}/holds", body, status=ANSWERS)
        if answer.status_int == 201:
            self._holds.append((node, answer.json["uuid"]))

    def do_change_hold(self) -> None:
        if self._holds:
            path = "/scheduling/v1/nodes/{}/holds/{}".format(*self._random.choice(self._holds))
            if self._random.random() < 0.5:
                self._service.http.patch_json(path, {"reason": self._uuid()}, status=ANSWERS)
            else:
                self._service.http.delete(path, status=ANSWERS)


@pytest.mark.parametrize("seed", range(2))
def test_a_copy_and_the_events_are_the_tables(service: Service, seed: int) -> None:
    operator = Operator(service, seed)
    path = "/scheduling/v1/events?after={}"
    cursor = service.http.get(path.format("now")).json["cursor"]
    copy, seen = Copy(service.database), set()
    for number in range(OPERATIONS):
        operator.act()
        if number % 10 and number != OPERATIONS - 1:
            continue
        number_all(service)
        events = [None]
        while events:
            answer = service.http.get(path.format(cursor)).json
            events, cursor = answer["events"], answer["cursor"]
            for event in events:
                copy.apply(event)
                seen.add(event["type"])
        assert copy.document() == Copy(service.database).document()
    assert len(seen) > 12, seen
