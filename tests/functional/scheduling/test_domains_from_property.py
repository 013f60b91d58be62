"""Domains that are made from a property of the nodes, again and again; and capacity by domain."""

from typing import Any

import pytest

from baremetal_sched.baremetal.domains import from_property
from baremetal_sched.baremetal.provider.audit import audit
from tests.functional.scheduling.test_capacity import capacity, row
from tests.functional.scheduling.test_domains import ask, in_aggregate, make, names_in, put
from tests.service import Service
from tests.unchanged import unchanged

RACK = {"level": "rack", "property": "rack"}


@pytest.fixture
def fleet(service: Service) -> Service:
    for name, properties in (("n1", {"rack": "r1"}), ("n2", {"rack": " r1 "}), ("n3", {"rack": 7}), ("n4", {})):
        service.add_node(name, properties=properties)
    return service


def follow(service: Service, **body: Any) -> dict[str, Any]:
    found: dict[str, Any] = ask(service, "POST", "/from_property", {**RACK, **body})
    return {name: value for name, value in found.items() if value}


def racks(service: Service) -> dict[str, list[str]]:
    found = ask(service, "GET", "?level=rack")["domains"]
    return {each["name"]: names_in(service, each["uuid"]) for each in found}


def test_they_are_made_and_follow(fleet: Service) -> None:
    assert follow(fleet) == {"created": ["7", "r1"], "nodes": 4, "added": 3, "without": 1}
    assert racks(fleet) == {"7": ["n3"], "r1": ["n1", "n2"]}
    shown = ask(fleet, "GET", "?name=r1")["domains"][0]
    assert shown["from_property"] == "rack"
    assert in_aggregate(fleet, shown["uuid"]) == {"n1", "n2"}
    with unchanged(fleet):
        assert follow(fleet) == {"nodes": 4, "without": 1}
    fleet.patch("n1", ("replace", "/properties/rack", "r2"))
    fleet.patch("n3", ("remove", "/properties/rack"))
    assert follow(fleet) == {"created": ["r2"], "nodes": 4, "moved": 1, "without": 2}
    assert racks(fleet) == {"7": ["n3"], "r1": ["n2"], "r2": ["n1"]}
    assert fleet.database.snapshot(audit) == []


def test_a_person_is_right(fleet: Service) -> None:
    put(fleet, make(fleet, "r9"), "n1", "n4")
    assert follow(fleet) == {"created": ["7", "r1"], "nodes": 4, "added": 2, "kept": 1, "without": 1}
    assert racks(fleet) == {"7": ["n3"], "r1": ["n2"], "r9": ["n1", "n4"]}
    row_a, row_b = make(fleet, "a", "row"), make(fleet, "b", "row")
    put(fleet, row_b, "n2")
    first = ask(fleet, "GET", "?name=r1")["domains"][0]["uuid"]
    ask(fleet, "PATCH", f"/{first}", {"parent": row_a})
    assert names_in(fleet, row_a) == ["n2"]  # that was a person, too, and the last one
    put(fleet, row_b, "n2")
    assert follow(fleet) == {"nodes": 4, "kept": 2, "without": 1}  # it would leave the row
    put(fleet, first, "n2")
    fleet.patch("n2", ("replace", "/properties/rack", "7"))
    assert follow(fleet)["kept"] == 2  # whoever confirms it has set it


@pytest.mark.parametrize("value", ["", "  ", True, None, 1.5, ["r1"], {"a": 1}, "x" * 256, "a\x00b"])
def test_what_is_no_name(service: Service, value: Any) -> None:
    assert from_property.domain_named_by({"rack": value}, "rack") is None


def test_in_portions(fleet: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_property, "PORTION", 2)
    first = follow(fleet)
    assert first == {"created": ["r1"], "nodes": 2, "added": 2, "marker": fleet.node("n2")["uuid"]}
    second = follow(fleet, marker=first["marker"])
    assert second == {"created": ["7"], "nodes": 2, "added": 1, "without": 1, "marker": fleet.node("n4")["uuid"]}
    assert follow(fleet, marker=second["marker"]) == {}


def test_a_portion_takes_few_statements(fleet: Service) -> None:
    with fleet.statements() as few:
        follow(fleet)
    for number in range(30):
        fleet.add_node(f"m{number:02}", properties={"rack": f"r{number}"})
    with fleet.statements() as many:
        assert follow(fleet)["added"] == 30
    assert len(many) == len(few) == 23


def test_capacity_by_domain(fleet: Service) -> None:
    follow(fleet)
    fleet.claim("cccccccc-0000-4000-8000-000000000001", fleet.node("n2")["uuid"])
    fleet.baremetal("PUT", "/nodes/n4/maintenance", {"reason": "fan"}, status=202)
    found = capacity(fleet, "group_by=domain:rack")
    key = "domain:rack"
    assert sorted(found, key=lambda each: each[key] or "") == [
        row(unavailable={"maintenance": 1}, **{key: None}),
        row(1, **{key: "7"}),
        row(1, 1, **{key: "r1"}),
    ]
    message = capacity(fleet, "group_by=domain:hall,resource_class", status=400)
    assert message == "There is no level hall. Levels: rack."
    message = capacity(fleet, "group_by=domain:Rack", status=400)
    assert message == "There is no level Rack. Levels: rack."
