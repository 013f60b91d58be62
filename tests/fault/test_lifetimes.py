# tier: first
"""Things are made and deleted: the journal finds the planted contradictions, and nothing else."""

import pytest

from tests.fault.lifetimes import (
    ALLOCATION,
    CLAIM,
    DELETE,
    IMAGE,
    LOOK,
    MAINTAIN,
    MAKE,
    NODE,
    SERVER,
    Left,
    Lifetimes,
    Line,
    counts,
)

N, P, A, B = "n", "p", "a", "b"
NODE_MADE, IMAGE_MADE = Line(NODE, N, MAKE, 201, 1, 2), Line(IMAGE, P, MAKE, 201, 1, 2)
CLAIMED = Line(CLAIM, A, MAKE, 204, 3, 4, node=N)
#: What is left of them.
NODE_LEFT: Left = {(NODE, N): {"node": N, "provider": N}}
CLAIM_LEFT: Left = {**NODE_LEFT, (CLAIM, A): {"claim": N}}
IMAGE_LEFT: Left = {(IMAGE, P): {"image": P, "tag": P}}


def deleted(kind: str, uuid: str, sent: float, status: int = 204) -> Line:
    """A deletion that took a second."""
    return Line(kind, uuid, DELETE, status, sent, sent + 1)


RIGHT: dict[str, tuple[list[Line], Left]] = {
    "kept": ([NODE_MADE, IMAGE_MADE, CLAIMED], {**CLAIM_LEFT, **IMAGE_LEFT}),
    "released, then deleted": ([NODE_MADE, CLAIMED, deleted(CLAIM, A, 5), deleted(NODE, N, 5.5)], {}),
    "refused, as it is held": ([NODE_MADE, CLAIMED, deleted(NODE, N, 5, 409)], CLAIM_LEFT),
    "unknown deletion, which happened": ([IMAGE_MADE, deleted(IMAGE, P, 3, 503)], {}),
    "unknown deletion, which did not happen": ([IMAGE_MADE, deleted(IMAGE, P, 3, 0)], IMAGE_LEFT),
    "unknown deletion, seen later": ([IMAGE_MADE, deleted(IMAGE, P, 3, 0), deleted(IMAGE, P, 4, 404)], {}),
    "unknown creation, which happened": ([Line(IMAGE, P, MAKE, 0, 1, 2)], IMAGE_LEFT),
    "unknown creation, which happened late": ([Line(IMAGE, P, MAKE, 0, 1, 2), deleted(IMAGE, P, 2, 404)], IMAGE_LEFT),
    "refused creation": ([NODE_MADE, Line(CLAIM, A, MAKE, 409, 3, 4)], NODE_LEFT),
    "deleted with its claim": ([NODE_MADE, CLAIMED, Line(NODE, N, MAINTAIN, 202, 4, 5), deleted(NODE, N, 5)], {}),
    "claimed again": (
        [NODE_MADE, CLAIMED, deleted(CLAIM, A, 5), Line(CLAIM, B, MAKE, 204, 5.5, 6, node=N)],
        {**NODE_LEFT, (CLAIM, B): {"claim": N}},
    ),
    "booted before the image went": (
        [IMAGE_MADE, Line(SERVER, A, MAKE, 202, 3, 4, image=P), deleted(IMAGE, P, 3.5)],
        {(SERVER, A): {"server": "", "claim": ""}},
    ),
    "a server whose deletion takes its time": (
        [
            NODE_MADE,
            Line(SERVER, A, MAKE, 202, 3, 4),
            Line(SERVER, A, LOOK, 200, 5, 6, node=N),
            deleted(SERVER, A, 7, 202),
        ],
        {**NODE_LEFT, (SERVER, A): {"server": N, "claim": N}},
    ),
}

WRONG: dict[str, tuple[str, list[Line], Left]] = {
    "lost deletion of a node": ("is there", [NODE_MADE, deleted(NODE, N, 3)], NODE_LEFT),
    "lost deletion of an image": ("is there", [IMAGE_MADE, deleted(IMAGE, P, 3)], IMAGE_LEFT),
    "lost deletion of a claim": ("is there", [NODE_MADE, CLAIMED, deleted(CLAIM, A, 5)], CLAIM_LEFT),
    "back after it was not found": (
        "is there",
        [IMAGE_MADE, deleted(IMAGE, P, 3, 503), deleted(IMAGE, P, 5, 404)],
        IMAGE_LEFT,
    ),
    "lost creation": ("image p was made, and is not there", [IMAGE_MADE, deleted(IMAGE, P, 3, 409)], {}),
    "lost claim": ("claim a was made, and is not there", [NODE_MADE, CLAIMED], NODE_LEFT),
    "not found though there": ("nobody had deleted it", [IMAGE_MADE, deleted(IMAGE, P, 3, 404)], IMAGE_LEFT),
    "refused and done": ("was refused, and is there", [NODE_MADE, Line(CLAIM, A, MAKE, 409, 3, 4)], CLAIM_LEFT),
    "claimed after its deletion": (
        "when it was gone",
        [NODE_MADE, deleted(NODE, N, 2), Line(CLAIM, A, MAKE, 204, 5, 6, node=N), deleted(CLAIM, A, 7)],
        {},
    ),
    "deleted under a claim": ("under claim a", [NODE_MADE, CLAIMED, deleted(NODE, N, 5), deleted(CLAIM, A, 7)], {}),
    "deleted under a claim made meanwhile": ("under claim a", [NODE_MADE, CLAIMED, deleted(NODE, N, 3)], {}),
    "refused otherwise under a claim": ("status 400", [NODE_MADE, CLAIMED, deleted(NODE, N, 5, 400)], CLAIM_LEFT),
    "claim left on a node that went": (
        "left on node n",
        [NODE_MADE, CLAIMED, deleted(NODE, N, 5, 503), deleted(CLAIM, A, 5, 503)],
        {(CLAIM, A): {"claim": N}},
    ),
    "held twice": (
        "a held it",
        [NODE_MADE, CLAIMED, Line(ALLOCATION, B, MAKE, 201, 4, 5), Line(ALLOCATION, B, LOOK, 200, 5, 6, node=N)],
        {},
    ),
    "held by another in the end": (
        "holds node n, and is left with",
        [NODE_MADE, CLAIMED],
        {**NODE_LEFT, (NODE, "m"): {"node": "m"}, (CLAIM, A): {"claim": "m"}},
    ),
    "half of a node": ("by half", [Line(NODE, N, MAKE, 0, 1, 2)], {(NODE, N): {"node": None, "provider": N}}),
    "half of an image": ("by half", [IMAGE_MADE, deleted(IMAGE, P, 3, 0)], {(IMAGE, P): {"image": P, "tag": None}}),
    "booted from an image that was gone": (
        "which was gone",
        [IMAGE_MADE, deleted(IMAGE, P, 2), Line(SERVER, A, MAKE, 202, 4, 5, image=P), deleted(SERVER, A, 6)],
        {},
    ),
}


def test_what_can_be_is_not_found(subtests: pytest.Subtests) -> None:
    for case in RIGHT:
        with subtests.test(case=case):
            lines, left = RIGHT[case]
            assert Lifetimes(lines).findings(left) == []


def test_what_cannot_be_is_found(subtests: pytest.Subtests) -> None:
    for case in WRONG:
        with subtests.test(case=case):
            expected, lines, left = WRONG[case]
            assert any(expected in finding for finding in Lifetimes(lines).findings(left))


def test_outcomes_are_counted() -> None:
    found = counts([IMAGE_MADE, deleted(IMAGE, P, 3, 503), deleted(IMAGE, P, 5, 403)])
    assert {(act, str(outcome)): number for (_, act, outcome), number in found.items()} == {
        ("make", "acknowledged"): 1,
        ("delete", "unknown"): 1,
        ("delete", "refused"): 1,
    }
