# tier: first
"""The page of who waits for a machine."""

from tests.functional.scheduling.test_claims import CLAIMS, QUERY, UUID
from tests.functional.ui.pages import look
from tests.functional.ui.test_fleet import HOSTILE
from tests.service import Service

WAITING = "Requests that wait for CUSTOM_GOLD"


def wait(service: Service, uuid: str, project: str = "p", **query: str) -> None:
    consumer = {"uuid": uuid, "project_id": project, "user_id": "u"}
    service.http.post_json(
        CLAIMS, {**QUERY, **query, "wait": 60, "even_if_impossible": True, "consumer": consumer}, status=202
    )


def test_nobody_waits(service: Service) -> None:
    assert "No request waits for a machine" in look(service, "/waiting").text


def test_who_waits_since_when_and_why(service: Service) -> None:
    wait(service, UUID)
    wait(service, UUID.replace("1", "2"), HOSTILE)
    with service.statements() as statements:
        rows = look(service, "/waiting").rows(WAITING)
    assert [row[:4] for row in rows] == [["claim", "1", "p", "now"], ["claim", "2", HOSTILE, "now"]]
    assert rows[0][5]
    assert rows[0][6].startswith("Cancel …")
    assert rows[0][6].endswith(f"openstack scheduling claim cancel {UUID}")
    assert len(statements) <= 12


def test_the_fleet_says_that_free_machines_do_not_suit_who_waits(service: Service) -> None:
    service.add_conductor("c1")
    wait(service, UUID, query="resources=CUSTOM_GOLD:1&required=CUSTOM_X")
    service.add_node("n1")
    fleet = look(service).rows("Waiting, held, and used up")
    assert fleet[0][2] == "CUSTOM_GOLD : 1 (1 free, but too few or not suitable)"


def test_requests_are_grouped_by_class_and_lead_to_its_machines(service: Service) -> None:
    service.add_node("n1", resource_class="Gold", power=False)
    wait(service, UUID, query="resources=CUSTOM_SILVER:1")
    for digit in "23":
        wait(service, UUID.replace("1", digit))
    document = look(service, "/waiting")
    assert [name for name in document.tables] == ["Requests that wait for CUSTOM_SILVER", WAITING]
    assert "2 requests wait, the first for" in document.text
    assert "/ui/nodes?resource_class=Gold" in document.links()
    fleet = look(service).rows("Waiting, held, and used up")
    assert fleet[0] == ["Requests that wait for a machine", "3", "CUSTOM_GOLD : 2, CUSTOM_SILVER : 1"]
    assert fleet[2][1:] == ["1", "Gold"]
    assert fleet[3][1] == "1"
