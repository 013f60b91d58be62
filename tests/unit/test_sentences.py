"""The result of a request, in one sentence."""

import pytest

from baremetal_sched.baremetal.matching.conditions import (
    LOCK,
    Condition,
    Kind,
    availability_conditions,
    of_forbidden,
    of_traits,
)
from baremetal_sched.baremetal.matching.sentences import failing, of_parts, sentence, together
from baremetal_sched.baremetal.provider import availability
from tests.unit.test_masks import of

GOLD = Condition("class:gold", "is of resource class gold")
NVME = of_traits(frozenset(["CUSTOM_NVME"]))
OLD = of_forbidden("CUSTOM_OLD")
ANY = of_traits(frozenset(["CUSTOM_A", "CUSTOM_B"]))
CHECKS = {each.id: each for each in availability_conditions()}
MAINTENANCE = CHECKS["availability:maintenance"]
INSTANCE = CHECKS["availability:instance"]
SERVED = Condition("served", "", Kind.SERVICE, failure=("has no live conductor", "have no live conductor"))
LOCKED = Condition(LOCK, "no conductor is working on it", Kind.AVAILABILITY, counts=False)
ALL = [GOLD, NVME, OLD, MAINTENANCE, INSTANCE, SERVED, LOCKED]

LACKS = NVME.id
HAS_OLD = OLD.id
MAINTAINED = MAINTENANCE.id
IN_USE = INSTANCE.id


#: Which conditions the machines fail, how many are wanted, and what is said of that.
SENTENCES: list[tuple[list[str], int, str]] = [
    ([], 1, "There are no nodes."),
    ([""], 1, "1 of 1 node matches."),
    (["", "", LACKS], 1, "2 of 3 nodes match."),
    (["", LACKS], 2, "Only 1 node can be had. Of 2 nodes, 1 lacks CUSTOM_NVME; 2 would match if nodes that lack "
                     "CUSTOM_NVME were accepted."),
    ([""], 2, "Only 1 node can be had."),
    # Each machine counts for the first condition that it fails, and the two strongest are named.
    ([f"{GOLD.id} {LACKS}", GOLD.id, LACKS, LACKS, HAS_OLD], 1,
     "No node matches. Of 5 nodes, 2 are not of resource class gold, 2 lack CUSTOM_NVME and 1 fails other "
     "conditions; 2 would match if nodes that lack CUSTOM_NVME were accepted."),
    ([f"{LACKS} {HAS_OLD}"], 1,
     "No node matches. Of 1 node, 1 lacks CUSTOM_NVME; 1 would match if nodes that lack CUSTOM_NVME or have "
     "CUSTOM_OLD were accepted."),
    ([f"{GOLD.id} {LACKS} {HAS_OLD}"], 1,
     "No node matches. Of 1 node, 1 is not of resource class gold; 1 would match without 3 of the conditions."),
    # Of the machines that match otherwise it counts the reasons that hold them back. Conditions that do not count are
    # left out.
    ([IN_USE, f"{IN_USE} {MAINTAINED}", LACKS, f"{LACKS} {IN_USE}", f"{IN_USE} {LOCK}"], 1,
     "No node that matches is free. Of 3 nodes, 1 is in maintenance and 2 are in use by instances; 1 would match "
     "if nodes that lack CUSTOM_NVME were accepted."),
    ([SERVED.id, SERVED.id, IN_USE], 1,
     "No node that matches can be used. Of 3 nodes, 1 is in use by an instance and 2 have no live conductor."),
]  # fmt: skip


def test_sentences(subtests: pytest.Subtests) -> None:
    for machines, wanted, said in SENTENCES:
        with subtests.test(said):
            assert sentence(of(ALL, *machines, wanted=wanted)) == said


def test_a_class_is_not_asked_for() -> None:
    """Machines without it are not accepted, as nothing of it would be given then."""
    offers = Condition("class:CUSTOM_X", "offers CUSTOM_X")
    gives = Condition("class:VCPU", "can give 4 of VCPU")
    conditions = [GOLD, NVME, offers, gives]
    assert sentence(of(conditions, offers.id)).endswith("; 1 would match without asking for CUSTOM_X.")
    both = of(conditions, f"{offers.id} {gives.id}")
    assert sentence(both).endswith("; 1 would match without asking for CUSTOM_X and VCPU.")
    mixed = of(conditions, f"{LACKS} {gives.id}")
    assert sentence(mixed).endswith(
        "; 1 would match without asking for VCPU if nodes that lack CUSTOM_NVME were accepted."
    )


def test_what_the_machines_are() -> None:
    found = of(ALL, *[LACKS] * 1200)
    assert "Of 1,200 nodes that the project may use, 1,200 lack" in sentence(found, of_project=True)
    assert "Of 1,200 of 1,000,000 nodes that were looked at, 1,200 lack" in sentence(found, of_all=10**6)
    assert sentence(of(ALL), of_project=True) == "There are no nodes that the project may use."
    assert sentence(found, {"CUSTOM_NVME": "CUSTOM_NVM"}).endswith("; did you mean CUSTOM_NVM instead of CUSTOM_NVME?")


def test_several_parts() -> None:
    assert together(1) == "No node matches. 1 node meets each of the conditions, but not all of them together."
    assert "2,000 nodes meet" in together(2000)
    assert of_parts("short", 3, {}) == "Only 3 can be had."
    assert of_parts("fits", 3, {}) == "3 can be had."
    assert of_parts("impossible", 0, {"resources1": "No node."}) == "resources1 cannot be met: No node."
    assert of_parts("combination", 0, {}).startswith("Each part of the request can be met, but")


def test_every_condition_has_words_for_its_failure() -> None:
    assert {each.failure for each in availability_conditions()} == {
        each.failure for each in availability.CONDITIONS
    } | {("is kept free for a planned hold", "are kept free for planned holds"), ("is booked", "are booked")}
    assert failing(ANY) == ("lacks CUSTOM_A or CUSTOM_B", "lack CUSTOM_A or CUSTOM_B")
    assert failing(Condition("x", "can give 1 of X")) == ("cannot give 1 of X", "cannot give 1 of X")
    assert failing(Condition("x", "is not in aggregate X")) == ("is in aggregate X", "are in aggregate X")
    assert failing(Condition("x", "did not fail to deploy")) == ("failed to deploy", "failed to deploy")
    assert failing(Condition("x", "spins")) == ("does not meet 'spins'", "do not meet 'spins'")
    (one, several) = failing(of_traits(frozenset(f"CUSTOM_{number}" for number in range(500))))
    assert (len(one), one[-1], len(several)) == (120, "…", 120)
