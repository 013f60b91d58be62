"""Statements that are made once."""

from datetime import datetime

from sqlalchemy import bindparam, select

from baremetal_sched.db import kept
from baremetal_sched.db.models import Trait
from baremetal_sched.placement.names import ids_of_traits
from tests.service import Service

_IDS = select(Trait.id).where(Trait.name == bindparam("name"))
_TIMES = select(Trait.name, Trait.created_at).where(Trait.name.in_((bindparam("one"), bindparam("other"))))


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
