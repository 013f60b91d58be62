"""Places that requests share: half of them for one project at most, and a turn for everyone."""

import threading
from contextlib import ExitStack

from baremetal_sched.fair_places import FairPlaces
from tests.waiting import PATIENCE, wait_until


def test_a_project_has_half_of_them() -> None:
    places = FairPlaces(4)
    with ExitStack() as held:
        assert [held.enter_context(places.place(project)) for project in "aaab"] == [True, True, False, True]
        assert [held.enter_context(places.place(project)) for project in "cd"] == [True, False]
    with places.place("a") as is_free:
        assert is_free


def test_those_without_a_project_have_what_is_free() -> None:
    places = FairPlaces(2)
    with places.place(None) as one, places.place(None) as two, places.place(None) as three:
        assert (one, two, three) == (True, True, False)


def test_one_and_none() -> None:
    with FairPlaces(1).place("a") as is_free:
        assert is_free
    with FairPlaces(0).place("a") as is_free:
        assert not is_free


def test_who_waits_is_next_unless_its_project_has_half() -> None:
    """The second of a waits before b, which gets the place that a third project gives back."""
    places, order, give_back = FairPlaces(2), list[str](), {name: threading.Event() for name in "abc"}

    def work(project: str) -> None:
        with places.place(project, PATIENCE) as is_free:
            assert is_free
            order.append(project)
            give_back[project].wait(PATIENCE)

    threads = [threading.Thread(target=work, args=(project,)) for project in "acab"]
    for number, thread in enumerate(threads):
        thread.start()
        wait_until(lambda number=number: len(order) + len(places._queue) == number + 1, "it to work or wait")
    assert order == ["a", "c"]
    give_back["c"].set()
    wait_until(lambda: len(order) == 3, "b to have the place of c")
    assert order == ["a", "c", "b"]
    for event in give_back.values():
        event.set()
    for thread in threads:
        thread.join()
    assert order == ["a", "c", "b", "a"]


def test_who_waits_in_vain_is_not_in_the_way() -> None:
    places = FairPlaces(1)
    with places.place("a"):
        with places.place("b", 0.01) as is_free:
            assert not is_free
        with places.place("c", 0.01) as is_free:
            assert not is_free
    with places.place("d") as is_free:
        assert is_free
