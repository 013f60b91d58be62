"""/os-availability-zone: a zone for each conductor group."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import delete

from baremetal_sched.db.models import Conductor
from tests.service import Service


def zones(service: Service, path: str = "") -> dict[str, dict[str, Any]]:
    document = service.compute("GET", f"/os-availability-zone{path}").json
    return {zone["zoneName"]: zone for zone in document["availabilityZoneInfo"]}


def test_the_default_group_is_the_default_zone(service: Service) -> None:
    assert zones(service) == {"nova": {"zoneName": "nova", "zoneState": {"available": True}, "hosts": None}}
    (host,) = zones(service, "/detail")["nova"]["hosts"].items()
    name, services = host
    assert name == "c1"
    assert services.keys() == {"nova-compute"}
    state = services["nova-compute"]
    assert (state["available"], state["active"]) == (True, True)
    updated = datetime.fromisoformat(state["updated_at"]).replace(tzinfo=UTC)
    assert abs(updated - datetime.now(UTC)) < timedelta(minutes=1)


def test_groups_with_and_without_live_conductors(service: Service) -> None:
    service.add_conductor("c2", "rack1")
    service.add_conductor("c3", "rack1")
    service.add_conductor("c4", "rack2")
    for host in ("c3", "c4"):
        service.conductors[host].sign_off()
    found = zones(service, "/detail")
    assert {name: zone["zoneState"]["available"] for name, zone in found.items()} == {
        "nova": True,
        "rack1": True,
        "rack2": False,
    }
    hosts = {host: services["nova-compute"] for host, services in found["rack1"]["hosts"].items()}
    assert {host: (state["available"], state["active"]) for host, state in hosts.items()} == {
        "c2": (True, True),
        "c3": (False, False),
    }
    assert found["rack2"]["hosts"] is None
    assert list(found) == ["nova", "rack1", "rack2"]


def test_a_group_of_nodes_without_conductors_is_a_zone(service: Service) -> None:
    service.add_conductor("c2", "rack1")
    service.add_node("n1", conductor_group="rack1")
    service.database.write(lambda session: session.execute(delete(Conductor).where(Conductor.hostname == "c2")))
    assert zones(service)["rack1"]["zoneState"] == {"available": False}


def test_the_default_zone_has_the_name_of_the_settings(database_url: str) -> None:
    with Service(database_url, compute={"default_availability_zone": "hall"}) as service:
        assert zones(service) == {"hall": {"zoneName": "hall", "zoneState": {"available": False}, "hosts": None}}
        service.add_conductor("c1", "hall")
        # A group of that name is no zone: its name means the default group.
        assert zones(service, "/detail")["hall"]["zoneState"] == {"available": False}
        service.compute("GET", "/os-availability-zone?x=1", status=400)
