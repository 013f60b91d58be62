# tier: first
"""/v1/nodes/{node}/bios, and the steps that change it."""

from typing import Any

import pytest

from tests.restored import Rows
from tests.service import Service, fault

REGISTRY = {
    *("attribute_type", "allowable_values", "lower_bound", "upper_bound", "min_length", "max_length"),
    *("read_only", "reset_required", "unique"),
}


@pytest.fixture
def node(service: Service) -> str:
    """A node that can be cleaned."""
    uuid: str = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"}).json["uuid"]
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "manage"})
    service.work()
    return uuid


def clean(service: Service, step: str, **arguments: Any) -> None:
    steps = [{"interface": "bios", "step": step, "args": arguments}]
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "clean", "clean_steps": steps})
    service.work()


def values(service: Service) -> dict[str, str | None]:
    return {each["name"]: each["value"] for each in service.baremetal("GET", "/nodes/n1/bios").json["bios"]}


def test_steps_of_cleaning_change_it(service: Service, node: str) -> None:
    assert service.baremetal("GET", f"/nodes/{node}/bios").json == {"bios": []}
    clean(service, "apply_configuration", settings=[{"name": "b", "value": "1"}, {"name": "a", "value": None}])
    assert values(service) == {"a": None, "b": "1"}
    before = service.baremetal("GET", "/nodes/n1/bios/b").json["b"]
    clean(service, "apply_configuration", settings=[{"name": "b", "value": 2}, {"name": "c", "value": True}])
    assert values(service) == {"b": "2", "c": "true"}
    after = service.baremetal("GET", "/nodes/n1/bios/b").json["b"]
    assert (before["updated_at"], after["created_at"]) == (None, before["created_at"])
    assert after["updated_at"]
    clean(service, "cache_bios_settings")
    assert values(service) == {"b": "2", "c": "true"}
    clean(service, "factory_reset")
    assert values(service) == {}
    assert service.node(node)["provision_state"] == "manageable"


def test_settings_that_are_none_fail_the_cleaning(service: Service, node: str, row: Rows) -> None:
    for settings in [
        {},
        "x",
        [1],
        [{"name": "a"}],
        [{"value": 1}],
        [{"name": "", "value": 1}],
        [{"name": 1, "value": 1}],
    ]:
        with row(settings):
            clean(service, "apply_configuration", settings=settings)
            shown = service.node(node)
            assert shown["provision_state"] == "clean failed"
            assert "settings must be a list of objects with a name" in shown["last_error"]
            assert values(service) == {}


def test_one_and_many(service: Service, node: str) -> None:
    clean(service, "apply_configuration", settings=[{"name": "Boot Mode", "value": "Uefi"}])
    href = f"http://localhost/baremetal/v1/nodes/{node}/bios/Boot Mode"
    (short,) = service.baremetal("GET", "/nodes/n1/bios").json["bios"]
    assert set(short) == {"name", "value", "created_at", "updated_at", "links"}
    assert short["links"][0] == {"href": href, "rel": "self"}
    (whole,) = service.baremetal("GET", "/nodes/n1/bios?detail=true").json["bios"]
    assert set(whole) == {*short, *REGISTRY}
    assert service.baremetal("GET", "/nodes/n1/bios/Boot%20Mode").json == {"Boot Mode": whole}
    (selected,) = service.baremetal("GET", "/nodes/n1/bios?fields=name,unique").json["bios"]
    assert set(selected) == {"name", "unique", "created_at", "updated_at", "links"}
    assert set(service.baremetal("GET", "/nodes/n1/bios/Boot%20Mode", version="1.73").json["Boot Mode"]) == set(short)


def test_what_is_refused(service: Service, node: str) -> None:
    assert fault(service.baremetal("GET", "/nodes/n1/bios/x", status=404)) == (
        f"Node {node} doesn't have a BIOS setting 'x'"
    )
    for path, version, status in (
        ("/nodes/n1/bios", "1.39", 404),
        ("/nodes/n1/bios/x", "1.39", 404),
        ("/nodes/nosuch/bios", "1.115", 404),
        ("/nodes/n1/bios?detail=true", "1.73", 400),
        ("/nodes/n1/bios?fields=name", "1.73", 406),
        ("/nodes/n1/bios?fields=nosuch", "1.74", 400),
        ("/nodes/n1/bios?fields=name&detail=true", "1.74", 400),
        ("/nodes/n1/bios?limit=1", "1.115", 400),
        ("/nodes/n1/bios/x?fields=name", "1.115", 400),
    ):
        service.baremetal("GET", path, version=version, status=status)
