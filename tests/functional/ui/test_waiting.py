"""The page of who waits for a machine."""

from tests.functional.scheduling.test_claims import CLAIMS, QUERY, UUID
from tests.functional.ui.pages import look
from tests.functional.ui.test_fleet import HOSTILE
from tests.service import Service

WAITING = "Who waits for a machine"


def wait(service: Service, uuid: str, project: str = "p") -> None:
    consumer = {"uuid": uuid, "project_id": project, "user_id": "u"}
    service.http.post_json(CLAIMS, {**QUERY, "wait": 60, "even_if_impossible": True, "consumer": consumer}, status=202)


def test_nobody_waits(service: Service) -> None:
    assert "No request waits for a machine" in look(service, "/waiting").text


def test_who_waits_since_when_and_why(service: Service) -> None:
    wait(service, UUID)
    wait(service, UUID.replace("1", "2"), HOSTILE)
    with service.statements() as statements:
        rows = look(service, "/waiting").rows(WAITING)
    assert [(row[0], row[1], row[2], row[3]) for row in rows] == [
        ("claim", "1", "CUSTOM_GOLD", "p"),
        ("claim", "2", "CUSTOM_GOLD", HOSTILE),
    ]
    assert rows[0][6]
    assert rows[0][7] == f"openstack scheduling claim cancel {UUID} Cancel …"
    assert len(statements) <= 12
