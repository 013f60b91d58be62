# tier: first
"""/v1/events"""

import io

from tests.restored import Rows
from tests.service import Service, fault

EVENT = {
    "event": "network.bind_port",
    "port_id": "aaaaaaaa-3333-4000-8000-000000000001",
    "mac_address": "de:ad:ca:fe:ba:be",
    "status": "ACTIVE",
}


def test_events_are_logged(service: Service, lines: io.StringIO) -> None:
    more = {"device_id": None, "binding:host_id": EVENT["port_id"], "binding:vnic_type": "baremetal"}
    second = {**EVENT, **more, "event": "network.delete_port", "status": "a secret\nof sorts"}
    response = service.baremetal("POST", "/events", {"events": [EVENT, second]}, status=204)
    assert response.body == b""
    logged = [line for line in lines.getvalue().splitlines() if "external event" in line]
    assert len(logged) == 2
    assert "network.bind_port" in logged[0]
    assert "de:ad:ca:fe:ba:be" in logged[1]


def test_bodies_that_are_none(service: Service, row: Rows) -> None:
    for body in [
        {},
        [],
        {"events": []},
        {"events": {}},
        {"events": [1]},
        {"events": [EVENT], "more": 1},
        {"events": [{**EVENT, "more": 1}]},
        *({"events": [{key: value for key, value in EVENT.items() if key != name}]} for name in EVENT),
        *({"events": [EVENT, {**EVENT, name: None}]} for name in EVENT),
        {"events": [{**EVENT, "event": "x"}]},
        {"events": [{**EVENT, "port_id": "x"}]},
        {"events": [{**EVENT, "mac_address": "x"}]},
        {"events": [{**EVENT, "device_id": "x"}]},
        {"events": [{**EVENT, "binding:vnic_type": 1}]},
    ]:
        with row(body):
            assert fault(service.baremetal("POST", "/events", body, status=400)).startswith("Schema error")


def test_methods_and_versions(service: Service) -> None:
    service.baremetal("POST", "/events", {"events": [EVENT]}, version="1.54", status=204)
    service.baremetal("POST", "/events", {"events": [EVENT]}, version="1.53", status=404)
    service.baremetal("POST", "/events?x=1", {"events": [EVENT]}, status=400)
    for version in ("1.1", "1.115"):
        service.baremetal("GET", "/events", version=version, status=405)
