"""The parts of statements of the candidate search, and their keys."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, Integer, Select, create_engine, func, literal, select

from baremetal_sched.db import compiled
from baremetal_sched.placement.candidates import fast_path
from baremetal_sched.placement.candidates.request.resolved_request import FrozenDict, Group, ResolvedRequest
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.placement.tables import PROVIDERS


@given(st.dictionaries(st.integers(), st.integers(), min_size=2), st.randoms(use_true_random=False))
def test_equal_dicts_are_one_key(values: dict[int, int], random: Random) -> None:
    items = list(values.items())
    random.shuffle(items)
    one, other = FrozenDict(values), FrozenDict(items)
    assert one == other
    assert hash(one) == hash(other)
    requests = {ResolvedRequest((Group("", each),), FrozenDict()) for each in (one, other)}
    assert len(requests) == 1


made = []


def _row(resolved: ResolvedRequest, limit: int | None, dialect: str) -> Select[tuple[str]]:
    """A statement with literals of its own, as small as what stands for the values of a request may be."""
    made.append(dialect)
    (group,) = resolved.groups
    ((class_id, amount),) = group.resources.items()
    literals = [literal(number, Integer) for number in (-2, -1, 0, 1, class_id, amount)]
    (name,) = resolved.trait_names.values()
    query = select(func.printf("%d %d %d %d %d %d %s", *literals, literal(name)))
    return query.limit(literal(limit, Integer))


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


numbers = st.integers(-3, 3)


@given(class_id=numbers, amount=numbers, name=st.sampled_from(["CUSTOM_A", "2", "%s", "'"]))
def test_only_values_of_the_request_are_replaced(connection: Connection, class_id: int, amount: int, name: str) -> None:
    resolved = ResolvedRequest((Group("", FrozenDict({class_id: amount})),), FrozenDict(), FrozenDict({5: name}))
    ((text,),) = fast_path.select_rows(connection, _row, resolved, 1)
    assert text == f"-2 -1 0 1 {class_id} {amount} {name}"


def test_requests_of_one_form_are_made_into_a_statement_once(connection: Connection) -> None:
    made.clear()
    fast_path._compiled.cache_clear()
    for class_id, amount, limit in [(101, 1, 5), (102, 3, 6), (1, 1, 1)]:
        asked = Group("", FrozenDict({class_id: amount}))
        resolved = ResolvedRequest((asked,), FrozenDict(), FrozenDict({class_id: f"CUSTOM_{class_id}"}))
        ((text,),) = fast_path.select_rows(connection, _row, resolved, limit)
        assert text.endswith(f"{class_id} {amount} CUSTOM_{class_id}")
    assert len(made) == 1


def test_ids_in_a_statement_are_integers(connection: Connection) -> None:
    with pytest.raises(TypeError):
        one_of(PROVIDERS.c.id, ["1) OR (1=1"])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        compiled.run(connection, select(PROVIDERS.c.id).where(PROVIDERS.c.id.in_([compiled.IDS])), {}, ["1) OR (1=1"])  # type: ignore[list-item]
