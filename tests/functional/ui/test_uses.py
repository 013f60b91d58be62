"""Who has a machine, and since when: on the pages of nodes and allocations."""

from datetime import datetime, timedelta

from sqlalchemy import update

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Allocation
from tests.functional.ui.pages import look
from tests.functional.ui.test_catalog import allocate
from tests.functional.ui.test_fleet import ADMIN
from tests.service import Service

CONSUMER = "cccccccc-0000-4000-8000-000000000001"


def since(service: Service, moment: datetime) -> None:
    """Let all allocations have been made at that time."""
    service.database.write(lambda session: session.execute(update(Allocation).values(created_at=moment)))


def test_an_allocation_and_a_claim_are_named_with_project_user_and_time(service: Service) -> None:
    uuid = service.add_node("n1")
    allocate(service, "alloc-0")
    today = utcnow().replace(hour=0, minute=0)
    since(service, today)
    document = look(service, "/nodes/n1")
    (row,) = look(service, "/allocations").rows("Allocations")
    assert "Used by alloc-0 ( " in document.text
    assert "allocation of project" in document.text
    assert "since 00:00 UTC" in document.text
    assert row[3] == "00:00 UTC"
    (link,) = [each for each in document.links() if each.startswith("/ui/allocations?uuid=")]
    assert [each[0] for each in look(service, link.removeprefix("/ui")).rows("Allocations")] == ["alloc-0"]
    service.baremetal("DELETE", "/allocations/alloc-0", status=204)
    assert "Used by" not in look(service, "/nodes/n1").text
    service.claim(CONSUMER, uuid)
    since(service, today - timedelta(days=2))
    said = f"Used by {CONSUMER} , instance of project p , user u , since"
    document = look(service, "/nodes/n1")
    assert said in document.text
    assert f"since {today - timedelta(days=2):%Y-%m-%d} 00:00 UTC" in document.text


def test_consumers_of_others_are_not_named(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        uuid = service.add_node("leased", owner="b", lessee="a")
        allocate(service, "of-b", owner="b")
        own = look(service, f"/nodes/{uuid}", **{"X-Auth-Token": "bert:b", "X-Roles": "reader"})
        assert "Used by of-b" in own.text
        document = look(service, f"/nodes/{uuid}", **{"X-Auth-Token": "anna:a", "X-Roles": "reader"})
        assert "Used by a consumer of another project, since" in document.text
        assert "of-b" not in document.text
        assert "Used by of-b" in look(service, f"/nodes/{uuid}", **ADMIN).text
