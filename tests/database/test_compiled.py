"""Statements that are made once."""

from contextlib import closing
from datetime import datetime

import pytest
from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from baremetal_sched.db import compiled
from baremetal_sched.db.models import Trait, table_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.placement.names import ids_of
from tests.service import Service

_IDS = select(Trait.id).where(Trait.name == bindparam("name"))
_NAMES = select(Trait.name).where(Trait.id.in_([compiled.IDS])).order_by(Trait.name)
_TIMES = select(Trait.name, Trait.created_at).where(Trait.name.in_((bindparam("one"), bindparam("other"))))

_TRAITS = table_of(Trait)
_ADD = insert(_TRAITS)
_RENAME = update(_TRAITS).where(_TRAITS.c.name == bindparam("before")).values(name=bindparam("after"))
_REMOVE = delete(_TRAITS).where(_TRAITS.c.name == bindparam("name"))

#: In no order.
NAMES = ["HW_CPU_X86_VMX", "HW_CPU_X86_AVX", "COMPUTE_NODE"]


def test_each_run_has_its_own_values(service: Service) -> None:
    names = ["HW_CPU_X86_VMX", "HW_CPU_X86_AVX", "100%_of_nothing"]
    ids = service.database.read(lambda session: ids_of(session, Trait, names))
    found = [
        service.database.select(lambda connection, name=name: compiled.run(connection, _IDS, {"name": name}).scalar())
        for name in names
    ]
    assert found == [ids.get(name) for name in names]
    assert found[2] is None


def test_values_that_the_driver_does_not_know_are_what_they_always_are(service: Service) -> None:
    given = {"one": "HW_CPU_X86_VMX", "other": "HW_CPU_X86_AVX"}
    rows = service.database.select(lambda connection: compiled.run(connection, _TIMES, given).all())
    assert {name for name, _ in rows} == set(given.values())
    assert all(isinstance(created_at, datetime) for _, created_at in rows)


def test_each_run_has_its_own_ids(service: Service) -> None:
    ids = service.database.read(lambda session: ids_of(session, Trait, NAMES))
    for names in (NAMES[:1], NAMES):
        wanted = [ids[name] for name in names]
        found = service.database.select(
            lambda connection, wanted=wanted: compiled.run(connection, _NAMES, {}, wanted).all()
        )
        assert [name for (name,) in found] == sorted(names)


def test_rows_that_come_one_by_one_may_be_left_unread(service: Service) -> None:
    def first_then_all(connection: Connection) -> tuple[str, list[str]]:
        ids = connection.scalars(select(Trait.id)).all()
        with closing(compiled.run(connection, _NAMES, {}, ids, stream=True)) as result:
            first = next(result)[0]
        return first, compiled.run(connection, _NAMES, {}, ids, stream=True).scalars().all()

    first, names = service.database.select(first_then_all)
    assert first == names[0]
    assert len(names) > 100
    assert names == sorted(names)


def test_what_changes_rows_has_its_own_values_of_any_type(service: Service) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5)

    def change(connection: Connection) -> list[int]:
        for name in ("CUSTOM_100%", "CUSTOM_B"):
            compiled.change(connection, _ADD, {"name": name, "created_at": moment})
        given = [{"before": "CUSTOM_B", "after": "CUSTOM_C"}, {"before": "CUSTOM_NONE", "after": "CUSTOM_D"}]
        return [rows_changed(compiled.change(connection, _RENAME, each)) for each in given]

    assert service.database.change(change) == [1, 0]
    traits = select(_TRAITS.c.name, _TRAITS.c.created_at).where(_TRAITS.c.name.like("CUSTOM%"))
    found = service.database.select(lambda connection: connection.execute(traits).all())
    assert dict(map(tuple, found)) == {"CUSTOM_100%": moment, "CUSTOM_C": moment}


def test_a_parameter_that_a_change_does_not_have_is_left_out(service: Service) -> None:
    given = {"name": "CUSTOM_NONE", "another": 1}
    assert service.database.change(lambda connection: rows_changed(compiled.change(connection, _REMOVE, given))) == 0


def test_rows_have_names_and_errors_are_those_of_any_statement(service: Service) -> None:
    def add_twice(connection: Connection) -> None:
        given = {"name": NAMES[0], "created_at": datetime(2026, 1, 2)}
        assert compiled.run(connection, _IDS, {"name": NAMES[0]}).first().id > 0
        with pytest.raises(IntegrityError), connection.begin_nested():
            compiled.change(connection, _ADD, given)
        assert compiled.run(connection, _IDS, {"name": "CUSTOM_NONE"}).first() is None

    service.database.change(add_twice)


def test_a_change_is_all_or_nothing(service: Service) -> None:
    def fail(connection: Connection) -> None:
        assert rows_changed(compiled.change(connection, _REMOVE, {"name": NAMES[0]})) == 1
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        service.database.change(fail)
    assert service.database.read(lambda session: ids_of(session, Trait, NAMES[:1])).keys() == {NAMES[0]}
