# tier: first
"""Why one machine is or is not on offer."""

from typing import Any

from tests.database_clock import settable
from tests.functional.scheduling.booked import DAY, enter
from tests.service import Service

CONSUMER = "cccccccc-0000-4000-8000-000000000001"


def availability(service: Service, node: str, status: int = 200, **headers: str) -> Any:
    """GET /v1/nodes/{node}/availability"""
    return service.http.get(f"/scheduling/v1/nodes/{node}/availability", headers=headers, status=status).json


def test_a_machine_that_is_offered(service: Service) -> None:
    uuid = service.add_node("n1")
    expected = {"node": uuid, "name": "n1", "resource_class": "CUSTOM_GOLD", "offered": True, "next_booking": None}
    for ident in ("n1", uuid, uuid.upper()):
        assert availability(service, ident) == {**expected, "reasons": [], "remarks": []}


def test_every_reason_and_what_to_do(service: Service) -> None:
    uuid = service.add_node("n1", power=False)
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "disk"})
    service.set_columns(uuid, reservation="c9")
    found = availability(service, "n1")
    assert not found["offered"]
    assert [each["label"] for each in found["reasons"]] == ["maintenance", "power state"]
    assert found["reasons"][0] == {
        "label": "maintenance",
        "reason": "It is in maintenance.",
        "remedy": "Unset maintenance when the machine is fit for use.",
    }
    assert [each["label"] for each in found["remarks"]] == ["lock"]
    assert "Conductor c9 is working on it" in found["remarks"][0]["reason"]


def test_one_that_is_claimed(service: Service) -> None:
    uuid = service.add_node("n1")
    service.claim(CONSUMER, uuid)
    (reason,) = availability(service, "n1")["reasons"]
    assert reason["label"] == "allocation in placement"
    assert CONSUMER in reason["reason"]


def test_one_that_is_not_there(service: Service) -> None:
    for ident in ("n1", "00000000-0000-4000-8000-000000000009", "a%20b", "%C3%A4"):
        assert availability(service, ident, 404)["error"]["status"] == 404
    service.add_node("n1")
    assert "x" in service.http.get("/scheduling/v1/nodes/n1/availability?x=1", status=400).json["error"]["message"]


def test_tenants_ask_about_their_own(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        for name, fields in {"bert": {"owner": "b"}, "leased": {"owner": "b", "lessee": "a"}, "nobody": {}}.items():
            uuid = service.add_node(name, **fields)  # type: ignore[arg-type]
        anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
        admin = {"X-Auth-Token": "admin:operators", "X-Roles": "admin"}
        unknown = availability(service, "unheard-of", 404, **anna)["error"]["message"]
        for name in ("bert", "nobody", uuid):
            message = availability(service, name, 404, **anna)["error"]["message"]
            assert message == unknown.replace("unheard-of", name)
        assert availability(service, "leased", 404, **{"X-Auth-Token": "u:a", "X-Roles": "member"})
        assert availability(service, "bert", 401)
        leased = service.node("leased")["uuid"]
        claim = {
            "allocations": {leased: {"resources": {"CUSTOM_GOLD": 1}}},
            "consumer_generation": None,
            "project_id": "p",
            "user_id": "u",
            "consumer_type": "INSTANCE",
        }
        service.placement("PUT", f"/allocations/{CONSUMER}", claim, headers=admin)
        service.set_columns(leased, reservation="conductor-7")
        seen = str(availability(service, "leased", **anna))
        assert "claimed by a consumer in placement" in seen
        assert CONSUMER not in seen
        assert "conductor-7" not in seen
        everything = str(availability(service, "leased", **admin))
        assert CONSUMER in everything
        assert "conductor-7" in everything


def test_the_next_booking_of_a_machine(database_url: str) -> None:
    """Its times, and its name for those who see the bookings of its project; nobody's name."""
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service, settable(service.database) as clock:
        clock.stopped_at = 2_000_000_000.0
        service.add_conductor("c1")
        service.add_node("n1", owner="b")
        enter(service, "n1", starts=3 * DAY, ends=4 * DAY, name="later")
        assert availability(service, "n1", **READER)["next_booking"] == {
            "starts_at": "2033-05-21T03:33:20Z",
            "ends_at": "2033-05-22T03:33:20Z",
        }
        uuid, _ = enter(service, "n1", starts=DAY, ends=2 * DAY)
        words = "from 2033-05-19T03:33:20Z until 2033-05-20T03:33:20Z."
        found = availability(service, "n1", **READER)
        assert (found["offered"], found["next_booking"]["starts_at"]) == (False, "2033-05-19T03:33:20Z")
        assert [(each["label"], each["reason"]) for each in found["reasons"]] == [("booked", f"It is booked {words}")]
        (reason,) = availability(service, "n1", **OPERATOR)["reasons"]
        assert reason["reason"] == f"It is booked for {uuid} {words}"
        clock.step(3.5 * DAY)
        found = availability(service, "n1", **OPERATOR)
        assert found["reasons"][0]["reason"] == "It is booked for later until 2033-05-22T03:33:20Z."
        assert "anna" not in str(found)
        clock.step(DAY)
        assert availability(service, "n1", **OPERATOR)["next_booking"] is None


READER = {"X-Auth-Token": "bert:b", "X-Roles": "reader"}
OPERATOR = {"X-Auth-Token": "admin:operators", "X-Roles": "admin"}
