"""The pages of allocations, flavors and images."""

import re

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.compute.flavors import flavors
from baremetal_sched.db.models import Image
from tests.functional.compute.test_servers import add_flavor, add_image
from tests.functional.ui.pages import look
from tests.functional.ui.test_fleet import HOSTILE
from tests.functional.ui.test_servers import ROOT, TENANT
from tests.service import Service


def allocate(service: Service, name: str, resource_class: str = "gold", **more: object) -> None:
    service.baremetal("POST", "/allocations", {"name": name, "resource_class": resource_class, **more}, status=201)


def test_allocations_their_machines_and_why_some_have_none(service: Service) -> None:
    assert "There are no allocations" in look(service, "/allocations").text
    service.add_node("n1", traits=("CUSTOM_A",))
    allocate(service, "one", traits=["CUSTOM_A"])
    allocate(service, "two", "silver")
    with service.statements() as statements:
        document = look(service, "/allocations?sort_key=name")
    assert len(statements) <= 6
    one, two = document.rows("Allocations")
    assert re.fullmatch(r"\d\d:\d\d UTC", one.pop(3))
    assert two.pop(3) == "none"
    assert one[:3] + one[4:7] == ["one", "active", "n1", "gold", "CUSTOM_A", "none"]
    assert two[:5] == ["two", "error", "none", "none", "silver"]
    assert "silver" in two[-1]
    assert {"active: 1", "error: 1"} <= {text for _, text in document.texts}
    assert [row[0] for row in look(service, "/allocations?state=error").rows("Allocations")] == ["two"]
    assert "No allocation matches" in look(service, "/allocations?owner=nobody").text
    assert "no longer exists" in look(
        service, "/allocations?marker=99999999-9999-4999-8999-999999999999", 404
    ).text  # fmt: skip


def test_flavors_and_what_they_ask_for(service: Service) -> None:
    assert "There are no flavors" in look(service, "/flavors").text
    flavor = add_flavor(service, "bm-gold", trait__CUSTOM_A="required")
    add_flavor(service, "a-first")
    with service.statements() as statements:
        document = look(service, "/flavors")
    assert len(statements) <= 5
    first, gold = document.rows("Flavors")
    assert (first[0], gold[0], gold[1]) == ("a-first", "bm-gold", flavor)
    assert "resources:CUSTOM_GOLD=1" in gold[2]
    assert "trait:CUSTOM_A=required" in gold[2]
    assert gold[3:5] == ["everyone", "0"]
    assert f"/ui/find?flavor={flavor}" in document.links()
    assert [row[0] for row in look(service, "/flavors?limit=1").rows("Flavors")] == ["a-first"]
    (following,) = [link for link in look(service, "/flavors?limit=1").links() if "marker=" in link]
    assert [row[0] for row in look(service, following.removeprefix("/ui")).rows("Flavors")] == ["bm-gold"]


def test_images_and_what_they_ask_for(service: Service) -> None:
    assert "There are no images" in look(service, "/images").text
    image = add_image(service, HOSTILE, trait__CUSTOM_A="required", os_distro="debian")
    with service.statements() as statements:
        document = look(service, "/images?sort_key=name")
    assert len(statements) <= 7
    (row,) = document.rows("Images")
    assert row[0] == HOSTILE
    assert row[2:4] == ["public", "trait:CUSTOM_A=required"]
    assert f"/ui/servers?image={image}" in document.links()
    assert "No image matches" in look(service, "/images?name=other").text


def hide(session: Session, image: str) -> None:
    """Make an image one of another project."""
    found = session.scalars(select(Image).where(Image.uuid == image)).one()
    found.visibility, found.owner = "private", "p9"


@pytest.mark.sqlite_only
def test_tenants_see_what_their_apis_show_them(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        for name, is_public in (("public", True), ("secret", False)):
            values = {"name": name, "memory_mb": 1, "vcpus": 1, "root_gb": 1, "is_public": is_public}
            service.database.write(lambda session, values=values: flavors.create(session, values).id)
        assert [row[0] for row in look(service, "/flavors", **TENANT).rows("Flavors")] == ["public"]
        assert {row[0] for row in look(service, "/flavors", **ROOT).rows("Flavors")} == {"public", "secret"}
        secret = look(service, "/flavors", **ROOT).rows("Flavors")[1][1]
        look(service, f"/flavors?marker={secret}", 400, **TENANT)
        image = add_image(service, "hidden")
        service.database.write(lambda session: hide(session, image))
        look(service, f"/images?marker={image}", 404, **TENANT)
        look(service, f"/images?marker={image}", **ROOT)
        look(service, "/images", **TENANT)
        document = look(service, "/allocations", **TENANT)
        assert "You see the allocations of your project." in document.text
