"""Statements that are made once."""

from contextlib import closing
from datetime import datetime

from sqlalchemy import Connection, bindparam, select

from baremetal_sched.db import kept
from baremetal_sched.db.models import Trait
from baremetal_sched.placement.names import ids_of_traits
from tests.service import Service

_IDS = select(Trait.id).where(Trait.name == bindparam("name"))
_NAMES = select(Trait.name).where(Trait.id.in_([kept.IDS])).order_by(Trait.name)
_TIMES = select(Trait.name, Trait.created_at).where(Trait.name.in_((bindparam("one"), bindparam("other"))))

#: In no order.
NAMES = ["HW_CPU_X86_VMX", "HW_CPU_X86_AVX", "COMPUTE_NODE"]


def test_each_run_has_its_own_values(service: Service) -> None:
    names = ["HW_CPU_X86_VMX", "HW_CPU_X86_AVX", "100%_of_nothing"]
    ids = service.database.read(lambda session: ids_of_traits(session, names))
    found = [
        service.database.select(lambda connection, name=name: kept.run(connection, _IDS, {"name": name}).scalar())
        for name in names
    ]
    assert found == [ids.get(name) for name in names]
    assert found[2] is None


def test_values_that_the_driver_does_not_know_are_what_they_always_are(service: Service) -> None:
    given = {"one": "HW_CPU_X86_VMX", "other": "HW_CPU_X86_AVX"}
    rows = service.database.select(lambda connection: kept.run(connection, _TIMES, given).all())
    assert {name for name, _ in rows} == set(given.values())
    assert all(isinstance(created_at, datetime) for _, created_at in rows)


def test_each_run_has_its_own_ids(service: Service) -> None:
    ids = service.database.read(lambda session: ids_of_traits(session, NAMES))
    for names in (NAMES[:1], NAMES):
        wanted = [ids[name] for name in names]
        found = service.database.select(
            lambda connection, wanted=wanted: kept.run(connection, _NAMES, {}, wanted).all()
        )
        assert [name for (name,) in found] == sorted(names)


def test_rows_that_come_one_by_one_may_be_left_unread(service: Service) -> None:
    def first_then_all(connection: Connection) -> tuple[str, list[str]]:
        ids = connection.scalars(select(Trait.id)).all()
        with closing(kept.run(connection, _NAMES, {}, ids, stream=True)) as result:
            first = next(result)[0]
        return first, kept.run(connection, _NAMES, {}, ids, stream=True).scalars().all()

    first, names = service.database.select(first_then_all)
    assert first == names[0]
    assert len(names) > 100
    assert names == sorted(names)
