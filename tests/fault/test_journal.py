# tier: first
"""The journal of the fault tests finds what it is made to find."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.fault.journal import Journal, Life

#: Second, event, fence: what two conductors log of one node.
Lines = list[tuple[float, str, int]]

WORK, STEP, END, LOST = "work begins", "step begins", "step ends", "work was taken away; nothing written"


def test_what_the_journal_finds(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for first, second, suspended, found in [
        ([(0, WORK, 1), (1, STEP, 1), (2, END, 1)], [(3, WORK, 2), (4, STEP, 2), (5, END, 2)], None, ""),
        # at the same machine at once
        ([(0, WORK, 1), (1, STEP, 1), (4, END, 1)], [(3, WORK, 2)], None, "began while"),
        ([(0, WORK, 1), (1, STEP, 1), (9, END, 1), (9, LOST, 1)], [(7, WORK, 2)], (2, 8), ""),
        # begun under a fence that was taken away
        ([(0, WORK, 1), (1, STEP, 1), (4, END, 1), (9, STEP, 1)], [(7, WORK, 2)], (5, 8), "2.000 s after"),
        ([(0, WORK, 1)], [(1, WORK, 1)], None, "was done by"),
        ([(0, WORK, 1), (1, LOST, 1)], [], None, "without having been suspended"),
    ]:
        with subtests.test(first=first):
            lives = []
            for name, lines in (("c1", first), ("c2", second)):
                life = Life(name, tmp_path / name)
                life.log.write_text("".join(f"{written(*line)}\n" for line in lines) + '{"half a li')
                lives.append(life)
            if suspended:
                lives[0].suspended.append(list(suspended))
            findings = Journal(lives).findings()
            assert len(findings) == bool(found), findings
            assert found in "".join(findings)


def written(second: float, event: str, fence: int) -> str:
    """A line of a log."""
    at = datetime.fromtimestamp(second, UTC).isoformat()
    return json.dumps({"timestamp": at, "level": "info", "event": event, "node": "n1", "work": fence})
