# tier: first
"""The journal of claims finds what it is made to find, and nothing else."""

from tests.fault.claim_journal import ClaimJournal, Record

M, CHILD = "machine", "child"
MACHINES = {M: M, CHILD: M}
CLAIM = {M: {"CUSTOM_GOLD": 1}}


def claimed(sent: float, answered: float, consumer: str, provider: str = M) -> Record:
    """The record of a client whose consumer got a machine, or a part of it."""
    record = Record(MACHINES)
    record.holds_now(sent, answered, {consumer: {provider: {"CUSTOM_GOLD": 1}}})
    return record


def found(*records: Record) -> str:
    """All findings."""
    return "; ".join(ClaimJournal(records).findings())


def test_a_machine_with_two_consumers_is_found() -> None:
    assert "a held it" in found(claimed(1, 2, "a"), claimed(3, 4, "b"))
    assert "a held it" in found(claimed(1, 2, "a", CHILD), claimed(3, 4, "b"))


def test_another_may_have_it_from_when_a_release_was_sent() -> None:
    first, second = claimed(1, 2, "a"), claimed(2.5, 4, "b")
    first.holds_now(3, 5, {"a": {}})
    assert found(first, second) == ""
    first = claimed(1, 2, "a")
    first.holds_now(4.5, 5, {"a": {}})
    assert "a held it" in found(first, second)


def test_a_machine_that_is_moved_is_held_by_one_at_a_time() -> None:
    record = claimed(1, 2, "a")
    record.holds_now(3, 4, {"a": {}, "b": CLAIM})
    assert found(record) == ""
    assert len(record.grants) == 1, "it was given out once"
    assert dict(ClaimJournal([record]).certain()) == {"a": {}, "b": CLAIM}
    assert "b held it" in found(record, claimed(5, 6, "c"))


def test_what_had_an_unknown_outcome_proves_nothing() -> None:
    first = claimed(1, 2, "a")
    first.unknown(3, "a")
    assert found(first, claimed(3.5, 4, "b")) == ""
    assert dict(ClaimJournal([first]).certain()) == {}


def test_a_machine_that_is_removed_is_held_until_then() -> None:
    first = claimed(1, 2, "a")
    other = Record(MACHINES)
    other.removing(M, 3, confirmed=True)
    assert found(first, other, claimed(3.5, 4, "b")) == ""
    assert dict(ClaimJournal([first, other]).certain()) == {}
    assert "a held it" in found(first, other, claimed(2, 2.5, "b"))


def test_a_machine_that_is_given_out_in_maintenance_is_found() -> None:
    keeper = Record(MACHINES)
    keeper.maintained(M, 1, 2, wanted=True)
    assert "in maintenance" in found(keeper, claimed(3, 4, "a"))
    assert found(keeper, claimed(1.5, 4, "a")) == "", "it was sent before"
    keeper.maintained(M, 3.5, None, wanted=False)
    assert found(keeper, claimed(3, 4, "a")) == "", "it may have ended before"
