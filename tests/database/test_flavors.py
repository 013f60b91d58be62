"""Flavors in the database: unique keys, what others see, and races."""

from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.compute.flavors import flavors
from baremetal_sched.db.models import Flavor, FlavorProject
from baremetal_sched.errors.compute import FlavorIdTaken, FlavorNameTaken, FlavorNotFound, InvalidExtraSpec
from tests.service import Service

VALUES: dict[str, Any] = {"name": "gold", "vcpus": 1, "memory_mb": 1, "root_gb": 0}


@pytest.fixture
def flavor(service: Service) -> str:
    return service.database.write(lambda session: flavors.create(session, VALUES).flavorid)


def test_names_and_ids_are_unique(service: Service, flavor: str) -> None:
    for values, error in ((VALUES, FlavorNameTaken), ({**VALUES, "name": "other", "flavorid": flavor}, FlavorIdTaken)):
        with pytest.raises(error):
            service.database.write(lambda session, values=values: flavors.create(session, values))


def test_capitals_and_accents_count(service: Service, flavor: str) -> None:
    for name in ("Gold", "göld"):
        service.database.write(lambda session, name=name: flavors.create(session, {**VALUES, "name": name}))


def test_private_flavors_are_for_those_who_have_access(service: Service) -> None:
    values = {**VALUES, "is_public": False}
    flavor = service.database.write(lambda session: flavors.create(session, values).flavorid)
    service.database.write(lambda session: flavors.add_access(session, flavor, "p1"))
    for project in ("p1", None):
        assert service.database.read(lambda session, p=project: flavors.find(session, flavor, p).name) == "gold"
        assert service.database.read(lambda session, p=project: flavors.show(session, flavor, p).name) == "gold"
    with pytest.raises(FlavorNotFound):
        service.database.read(lambda session: flavors.find(session, flavor, "p2"))


def test_access_goes_with_the_flavor(service: Service) -> None:
    values = {**VALUES, "is_public": False}
    flavor = service.database.write(lambda session: flavors.create(session, values).flavorid)
    service.database.write(lambda session: flavors.add_access(session, flavor, "p1"))
    service.database.write(lambda session: flavors.destroy(session, flavor))
    assert service.database.read(lambda session: session.scalars(select(FlavorProject)).all()) == []


def test_extra_specs_keep_their_order_and_are_checked_together(service: Service, flavor: str) -> None:
    def set_specs(**specs: str) -> None:
        named = {name.replace("__", ":"): value for name, value in specs.items()}
        service.database.write(lambda session: flavors.set_extra_specs(session, flavor, named))

    set_specs(z="1", a="2")
    set_specs(m="3", z="4")
    with pytest.raises(InvalidExtraSpec):
        set_specs(resources1__CUSTOM_A="1", resources2__CUSTOM_B="1")
    found = service.database.read(lambda session: flavors.find(session, flavor, None).extra_specs)
    assert list(found.items()) == [("z", "4"), ("a", "2"), ("m", "3")]


def test_two_changes_of_extra_specs_at_once_are_both_kept(service: Service, flavor: str) -> None:
    """The row is locked, or the one that loses is run again: its revision is not the one that it read."""
    attempts = 0

    def change(session: Any) -> None:
        nonlocal attempts
        attempts += 1
        found = session.scalars(select(Flavor).where(Flavor.flavorid == flavor)).one()
        if attempts == 1 and service.database.engine.dialect.name != "sqlite":
            service.database.write(lambda other: flavors.set_extra_specs(other, flavor, {"a": "1"}))
        found.extra_specs = {**found.extra_specs, "b": "2"}

    if service.database.engine.dialect.name == "sqlite":
        service.database.write(lambda session: flavors.set_extra_specs(session, flavor, {"a": "1"}))
    service.database.write(change)
    assert service.database.read(lambda session: flavors.find(session, flavor, None).extra_specs) == {
        "a": "1",
        "b": "2",
    }
