"""Claims that are lost, refused, or not answered."""

from collections.abc import Iterator
from typing import Any

import pytest
from keystoneauth1.exceptions import ConnectFailure
from osc_lib.exceptions import CommandError

from baremetal_sched.osc.claiming import Consumers, NothingFits, claim
from baremetal_sched.osc.client import RequestFailed

LOST = RequestFailed("Conflict", 409, "placement.concurrent_update")
BUSY = RequestFailed("Busy", 503)


class Placement:
    """A placement with ``nodes``, whose claims end with ``outcomes``, and well when these are used up.

    An outcome is what is raised, and whether the claim is made nevertheless.
    """

    def __init__(self, nodes: int, *outcomes: tuple[Exception, bool]) -> None:
        self.nodes = [f"node-{number}" for number in range(nodes)]
        self.held: dict[str, Any] = {}
        self.asked: list[Any] = []
        self.claims = 0
        self._outcomes: Iterator[tuple[Exception, bool]] = iter(outcomes)

    def get(self, service: str, path: str, parameters: Any = ()) -> Any:
        """Candidates, or what a consumer has."""
        if path != "/allocation_candidates":
            return {"allocations": self.held.get(path.rpartition("/")[2], {})}
        self.asked.append(parameters)
        allocations = [{node: {"resources": {"CUSTOM_GOLD": 1}}} for node in self.nodes]
        return {
            "allocation_requests": [{"allocations": each} for each in allocations],
            "provider_summaries": {node: {"root_provider_uuid": node} for node in self.nodes},
        }

    def request(self, service: str, method: str, path: str, body: Any) -> None:
        """A claim."""
        self.claims += 1
        error, is_done = next(self._outcomes, (None, True))
        if is_done:
            # As placement shows it: with the generation of the provider.
            self.held.update(
                {
                    consumer: {node: {**each, "generation": 2} for node, each in claim["allocations"].items()}
                    for consumer, claim in body.items()
                }
            )
        if error is not None:
            raise error


def claim_of(placement: Placement, count: int = 1, attempts: int = 5, are_new: bool = True) -> list[str]:
    """Claim, and return the nodes."""
    consumers = Consumers([f"consumer-{number}" for number in range(count)], are_new, "p", "u", "INSTANCE")
    pauses: list[float] = []
    found = claim(placement, "resources=CUSTOM_GOLD:1&limit=1", consumers, attempts, pauses.append)  # type: ignore[arg-type]
    assert len(pauses) == placement.claims - 1
    assert set(placement.held) == set(consumers.uuids)
    return sorted(each.node for each in found)


def test_several_at_once() -> None:
    placement = Placement(3)
    assert claim_of(placement, 3) == ["node-0", "node-1", "node-2"]
    assert placement.claims == 1
    assert placement.asked == [[("resources", "CUSTOM_GOLD:1"), ("limit", "12")]]


def test_claims_are_repeated(subtests: pytest.Subtests) -> None:
    for passing in [LOST, BUSY]:
        with subtests.test(passing=passing):
            placement = Placement(2, (passing, False), (passing, False))
            assert len(claim_of(placement)) == 1
            assert len(placement.asked) == placement.claims == 3


def test_attempts_are_bounded() -> None:
    placement = Placement(2, *[(LOST, False)] * 9)
    with pytest.raises(CommandError, match="Nothing is claimed in 4 attempts: others were faster"):
        claim_of(placement, attempts=4)
    assert (placement.claims, placement.held) == (4, {})


def test_the_cause_of_an_outage_is_said() -> None:
    placement = Placement(2, *[(BUSY, False)] * 9)
    with pytest.raises(CommandError, match=f"Nothing is claimed in 4 attempts: .* Its last answer: {BUSY}"):
        claim_of(placement, attempts=4)


def test_claims_that_were_made_without_an_answer(subtests: pytest.Subtests) -> None:
    for error in [BUSY, ConnectFailure("gone")]:
        with subtests.test(error=error):
            placement = Placement(2, (error, True))
            assert len(claim_of(placement, 2)) == 2
            assert placement.claims == 1


def test_a_claim_that_was_not_made_without_an_answer_is_repeated() -> None:
    placement = Placement(1, (ConnectFailure("gone"), False))
    assert claim_of(placement) == ["node-0"]
    assert placement.claims == 2


def test_a_claim_that_is_made_late_is_noticed() -> None:
    """It was not answered and not there, and is when the next one finds that the consumer has something."""
    placement = Placement(1, (ConnectFailure("gone"), False), (LOST, False))
    late = {"node-0": {"resources": {"CUSTOM_GOLD": 1}}}
    get = placement.get

    def get_late(service: str, path: str, parameters: Any = ()) -> Any:
        if placement.claims == 2:
            placement.held["consumer-0"] = late
        return get(service, path, parameters)

    placement.get = get_late  # type: ignore[method-assign]
    assert claim_of(placement) == ["node-0"]
    assert placement.claims == 2


def test_of_too_few_none_is_claimed() -> None:
    with pytest.raises(NothingFits, match="3 are wanted, and there are 2"):
        claim_of(Placement(2), 3)
    with pytest.raises(NothingFits, match="No machine fits"):
        claim_of(Placement(0))


def test_consumers_that_have_something_are_left_alone() -> None:
    placement = Placement(2, (LOST, False))
    placement.held["consumer-0"] = {"other": {"resources": {"VCPU": 1}}}
    with pytest.raises(CommandError, match="consumer-0 has allocations already"):
        claim_of(placement, are_new=False)
    assert placement.claims == 1


def test_refusals_are_passed_on() -> None:
    placement = Placement(2, (RequestFailed("Not allowed", 403), False))
    with pytest.raises(RequestFailed, match="Not allowed"):
        claim_of(placement)
    assert placement.claims == 1
