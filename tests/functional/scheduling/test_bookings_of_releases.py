# tier: first
"""While an earlier release may serve the database, it would give booked machines to others: bookings are refused."""

from sqlalchemy import func, select, update

from baremetal_sched.db.models import BookedMachine, SchemaState
from tests.functional.scheduling.laboratory import SWEEPS
from tests.functional.scheduling.test_claims import CLAIMS
from tests.service import Service
from tests.unchanged import unchanged

BOOKING = {"resource_class": "gold", "project_id": "p", "user_id": "u", "for": 3600}


def serve_since(service: Service, revision: str) -> None:
    older = update(SchemaState).values(served_since=revision)
    service.database.write(lambda session: session.execute(older) and None)


def test_bookings_are_refused_until_the_upgrade_is_finished(service: Service) -> None:
    service.add_node("n1")
    serve_since(service, "0038")
    with unchanged(service):
        refused = service.http.post_json("/scheduling/v1/bookings", BOOKING, status=503)
    assert "before this one" in refused.text
    serve_since(service, "0039")
    service.http.post_json("/scheduling/v1/bookings", BOOKING, status=201)


def test_no_plan_is_made_until_then(database_url: str) -> None:
    with Service(database_url, scheduling={"gather": "ends", "turnaround": 0}) as service:
        conductor = service.add_conductor("c1")
        for name in ("n1", "n2"):
            service.add_node(name)
        serve_since(service, "0038")
        consumer = {"project_id": "p", "user_id": "u"}
        query = {"query": "resources=CUSTOM_GOLD:1", "consumer": consumer}
        service.http.post_json(CLAIMS, {**query, "for": 3600}, status=201)
        service.http.post_json(CLAIMS, {**query, "count": 2, "wait": 86_400}, status=202)

        def plans() -> int:
            SWEEPS["claims"].run(conductor._host)
            count = select(func.count()).select_from(BookedMachine)
            return service.database.read(lambda session: session.scalar(count) or 0)

        assert plans() == 0
        serve_since(service, "0039")
        assert plans() == 2
