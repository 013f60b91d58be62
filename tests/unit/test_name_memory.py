"""The memory of names in a process, and how long it lasts."""

import pytest
from sqlalchemy import create_engine

from baremetal_sched.db.types import process_cache
from baremetal_sched.placement import name_memory


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(name_memory, "time", clock)
    return clock


def test_ids_for_searches_are_forgotten_all_at_once(clock: Clock) -> None:
    memory = name_memory.NameMemory()
    memory.searched_ids()["class", "CUSTOM_GOLD"] = (1, False)
    clock.now += 59
    memory.searched_ids()["trait", "CUSTOM_A"] = (2, True)
    assert len(memory.searched_ids()) == 2
    clock.now += 2
    assert memory.searched_ids() == {}


def test_trees_are_remembered_for_a_moment(clock: Clock) -> None:
    memory = name_memory.NameMemory()
    assert not memory.saw_trees()
    memory.note_trees()
    clock.now += 9
    assert memory.saw_trees()
    clock.now += 2
    assert not memory.saw_trees()


def test_only_a_process_that_remembers_finds_what_was_remembered() -> None:
    engine = create_engine("sqlite://")
    with engine.connect() as forgetful:
        name_memory.of(forgetful).note_trees()
        assert not name_memory.of(forgetful).saw_trees()
        assert process_cache(forgetful) is None
    cache: dict[object, object] = {}
    remembering = engine.execution_options(process_cache=cache)
    with remembering.connect() as one, remembering.connect() as other:
        name_memory.of(one).note_trees()
        assert name_memory.of(other).saw_trees()
        assert process_cache(other) is cache
        cache.clear()
        assert not name_memory.of(other).saw_trees()
    engine.dispose()
