"""Holds at any times: claims, flag, provider, closing time and audit, compared with a model of them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.holds import asserting, due, hold_audit, holds
from baremetal_sched.baremetal.holds.asserting import NewHold
from baremetal_sched.baremetal.holds.rules import INTERNAL
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.holds import HoldExists
from tests.examples import examples
from tests.passing_time import HOUR, go_by
from tests.service import Service

_TYPES = ("hardware_failure", "operator_hold", "window")
_TIMES = st.integers(0, 12)
_CONSUMER = "cccccccc-0000-4000-8000-000000000001"


@dataclass
class Planned:
    """A hold of the model: its interval, in hours after the beginning of the story."""

    type: str
    start: float
    end: float
    drain: bool
    begun: bool = False


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("assert"), st.sampled_from(_TYPES), st.none() | _TIMES, st.none() | _TIMES, st.booleans()),
        st.tuples(st.just("wait"), st.integers(0, 5)),
        st.tuples(st.just("release"), st.integers(0, 3)),
        st.tuples(st.just("claim")),
        st.tuples(st.just("give_back")),
    ),
    max_size=14,
)


@pytest.fixture
def served(service: Service) -> Iterator[Service]:
    service.add_conductor("c1")
    service.add_node("n1")
    yield service
    service.database.write(lambda session: session.execute(delete(Hold)) and None)


class Story:
    """A node with the holds that it should have."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.settings = service.app.settings
        self.uuid = service.node("n1")["uuid"]
        self.hour = 0.0
        self.beginning = service.database.read(holds.now)
        self.expected: list[Planned] = []
        self.is_claimed = False

    def seconds(self, hour: float | None) -> float | None:
        """By the clock of the database, which moves on by itself only; ``go_by`` moves all else."""
        return None if hour is None else self.beginning + (hour - self.hour) * HOUR

    def do(self, work: Any) -> Any:
        """Run ``work`` with the node in a transaction."""

        def with_node(session: Session) -> Any:
            return work(session, session.scalars(select(Node).with_for_update()).one())

        return self.service.database.write(with_node)

    @property
    def is_open(self) -> bool:
        """Whether the node may be claimed, if it is free."""
        return not any(each.begun or each.start <= self.hour for each in self.expected)

    def assert_hold(self, kind: str, start: float | None, end: float | None, drain: bool) -> None:
        new = NewHold(kind, starts_at=self.seconds(start), ends_at=self.seconds(end), drain=drain)
        first = self.hour if start is None else start
        planned = Planned(kind, first, math.inf if end is None else end, drain)
        planned.begun = first <= self.hour and not (drain and self.is_claimed)
        is_wrong = planned.end <= max(first, self.hour)
        meets = any(each.type == kind and each.start < planned.end and first < each.end for each in self.expected)
        try:
            self.do(lambda session, node: asserting.assert_hold(session, node, new, INTERNAL, self.settings) and None)
        except HoldExists:
            assert meets
        except SchedulerError:
            assert is_wrong
        else:
            assert not is_wrong
            assert not meets
            self.expected.append(planned)

    def wait(self, hours: int) -> None:
        """Let hours pass: claims follow at once, all else with the sweep."""
        self.hour += hours
        go_by(self.service, hours * HOUR)
        self.try_claim()
        settle = partial(due.settle_due, settings=self.settings)
        self.do(lambda session, node: settle(session, node.id))
        self.expected = [each for each in self.expected if each.end > self.hour]
        for each in self.expected:
            each.begun = each.begun or (each.start <= self.hour and not (each.drain and self.is_claimed))

    def release(self, number: int) -> None:
        def release(session: Session, node: Node) -> int | None:
            found = holds.of_node(session, node)
            if number < len(found):
                holds.release(session, node, found[number], INTERNAL, self.settings)
            return len(found)

        assert self.do(release) == len(self.expected)
        del self.expected[number : number + 1]

    def claim(self) -> None:
        if not self.is_claimed:
            self.is_claimed = self.try_claim(keep=True)

    def give_back(self) -> None:
        if self.is_claimed:
            self.service.placement("DELETE", f"/allocations/{_CONSUMER}")
            self.is_claimed = False

    def try_claim(self, *, keep: bool = False) -> bool:
        """Claim the node, unless that has been done, and give it back; check that all doors agree with the model."""
        if self.is_claimed:
            return True
        offered = {self.uuid} if self.is_open else set()
        assert self.service.candidates("resources=CUSTOM_GOLD:1") == offered
        assert self.service.candidates("resources1=CUSTOM_GOLD:1&resources2=CUSTOM_GOLD:1&group_policy=none") == set()
        assert self.service.candidates(f"resources1=CUSTOM_GOLD:1&in_tree1={self.uuid}") == offered
        self.service.claim(_CONSUMER, self.uuid, status=204 if self.is_open else 409)
        if self.is_open and not keep:
            self.service.placement("DELETE", f"/allocations/{_CONSUMER}")
        return self.is_open

    def check(self) -> None:
        """Compare what follows from the holds with the model."""
        node = self.do(lambda session, node: (node.maintenance, node.maintenance_reason, node.closes_at))
        begun = [each for each in self.expected if each.begun]
        others = [each.start for each in self.expected if not each.begun]
        assert node[0] == bool(begun)
        assert sorted((node[1] or "").split("; ")) == (sorted(each.type for each in begun) or [""])
        assert (node[2] is None) == (not others)
        assert node[2] is None or abs(node[2] - (self.seconds(min(others)) or 0)) < HOUR / 2
        assert (self.service.inventory(self.uuid)["CUSTOM_GOLD"]["reserved"] == 0) == (not begun)
        assert self.service.database.snapshot(lambda session: [*audit(session), *hold_audit.audit(session)]) == []
        self.try_claim()


@pytest.mark.ci
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=_STEPS)
def test_what_follows_from_holds_at_any_time(served: Service, steps: list[tuple[Any, ...]]) -> None:
    story = Story(served)
    served.placement("DELETE", f"/allocations/{_CONSUMER}", status="*")
    story.do(lambda session, node: holds.release_all(session, node, INTERNAL, story.settings))
    for name, *arguments in steps:
        method = "assert_hold" if name == "assert" else name
        getattr(story, method)(*arguments)
        story.check()
