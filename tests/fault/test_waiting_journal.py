# tier: first
"""The journal of claims that wait finds what cannot be true, and nothing else."""

import pytest

from tests.fault.waiting_journal import Waiter, WaitingJournal

FIRST = {"asked": 1.0, "until": 600.0, "known_since": 1.5}
LATER = {"asked": 2.0, "until": 600.0, "known_since": 2.5, "machine": "m", "claimed_at": 4.0}


def test_what_cannot_be_true(subtests: pytest.Subtests) -> None:
    for first, later, left, found in [
        ({**FIRST, "last_seen_waiting": 3.0}, LATER, {"a": ("waiting", ""), "b": ("claimed", "m")}, ""),
        ({**FIRST, "last_seen_waiting": 5.0}, LATER, {"a": ("waiting", ""), "b": ("claimed", "m")}, "b, asked for at"),
        ({**FIRST, "known_since": 2.2}, LATER, {"a": ("waiting", ""), "b": ("claimed", "m")}, ""),
        (FIRST, LATER, {"b": ("claimed", "m")}, "claim a waits until 600.0, and is gone"),
        (FIRST, LATER, {"a": ("timed_out", ""), "b": ("claimed", "m")}, "claim a waits until 600.0, and is timed_out"),
        (FIRST, LATER, {"a": ("waiting", ""), "b": ("claimed", "n")}, "claim b had machine m, and is claimed n"),
        ({**FIRST, "ended": 3.0, "gone": True}, LATER, {"a": ("waiting", ""), "b": ("claimed", "m")}, "was deleted"),
        ({**FIRST, "ended": 3.0}, {**LATER, "ended": 5.0}, {}, ""),
        (
            {**FIRST, "machine": "m", "claimed_at": 2.0, "ended": 5.0},
            LATER,
            {"b": ("claimed", "m")},
            "machine m was given to b",
        ),
        ({**FIRST, "machine": "m", "claimed_at": 2.0, "ended": 3.0}, LATER, {"b": ("claimed", "m")}, ""),
    ]:
        with subtests.test(first=first, later=later, left=left):
            journal = WaitingJournal([Waiter("a", "gold", **first), Waiter("b", "gold", **later)])  # type: ignore[arg-type]
            findings = list(journal.findings(left, 10.0))
            assert len(findings) == bool(found), findings
            assert all(found in each for each in findings)


def test_answers_that_contradict_each_other() -> None:
    waiter = Waiter("a", "gold", 1.0, 600.0)
    assert [*waiter.told("waiting", "", 1.0, 1.1), *waiter.told("claimed", "m", 2.0, 2.1)] == []
    assert [*waiter.told("waiting", "", 3.0, 3.1)] == ["claim a waits, and had machine m"]
    assert [*waiter.told("claimed", "n", 3.0, 3.1)] == ["claim a has machine n, and had m"]
