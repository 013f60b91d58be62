"""How many roots are looked for at once."""

from collections.abc import Iterable
from itertools import islice

from baremetal_sched.placement.candidates.sql.anchors import PageSizer


def pages(limit: int | None, candidates: Iterable[int], first: int = 200) -> list[int]:
    """The pages that a search asks for where each row brings so many candidates, until it has enough."""
    pace, rows, sizes = PageSizer(limit, first), iter(candidates), []
    while limit is None or pace.found < limit:
        size = pace.next_size()
        sizes.append(size)
        page = list(islice(rows, size))
        pace.found += sum(page)
        if len(page) < size:
            break
    return sizes


def test_pages_grow_where_all_is_wanted() -> None:
    assert pages(None, [1] * 20_000) == [200, 800, 3200, 12800, 51200]


def test_no_more_is_looked_for_than_is_missing() -> None:
    sizes = pages(1000, [1, 2, 1, 1] * 1000)
    assert len(sizes) == 2
    assert 800 <= sum(sizes) <= 900
    assert pages(10, [2] * 1000) == [10]


def test_few_pages_whatever_they_bring() -> None:
    bringing = {
        "the second half names the same roots again": [2] * 495 + [0] * 495,
        "few rows bring much": [8] * 120 + [0] * 840,
        "the last ten are not there": [1] * 990 + [0] * 99_000,
        "the last one is not there": [1] * 999 + [0] * 99_000,
        "nothing is there": [0] * 99_000,
        "one of two hundred": ([1] + [0] * 199) * 500,
    }
    assert {name: found for name, each in bringing.items() if (found := len(pages(1000, each))) > 10} == {}
