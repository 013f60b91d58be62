# tier: first
"""GET and DELETE /v1/nodes/{node}, maintenance"""

import json

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.hardware import bios
from baremetal_sched.baremetal.inspection import inspection
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.models import Base
from baremetal_sched.machines.machine import Flashed
from tests.restored import Rows
from tests.service import Service, fault

UUID = "aaaaaaaa-0000-4000-8000-000000000001"


def test_by_uuid_or_name(service: Service) -> None:
    uuid = service.add_node("n1", power=False)
    assert service.node("n1") == service.node(uuid) == service.node(uuid.upper())
    service.baremetal("GET", "/nodes/n1", version="1.4", status=404)
    assert service.node(uuid, version="1.4")["uuid"] == uuid


def test_one_node_takes_few_statements(service: Service) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_A",), power=False)
    with service.statements() as statements:
        service.node(uuid)
    assert len(statements) == 1


def test_what_is_not_there(service: Service, row: Rows) -> None:
    for ident, status in [(UUID, 404), ("nosuch", 404), ("bad%20name", 400), ("%C3%A9", 400), ("x" * 256, 400)]:
        with row(ident, status):
            for method in ("GET", "DELETE"):
                assert fault(service.baremetal(method, f"/nodes/{ident}", status=status))
            service.patch(ident, ("add", "/extra/a", 1), status=status)


def test_names_with_underscores_are_refused_to_old_clients(service: Service) -> None:
    assert "Expected a logical name" in fault(service.baremetal("GET", "/nodes/bad_name", version="1.5", status=400))


def test_fields_of_one_node(service: Service) -> None:
    service.add_node("n1", power=False)
    node = service.baremetal("GET", "/nodes/n1?fields=name,conductor,allocation_uuid").json
    assert {key: node[key] for key in node if key != "links"} == {
        "name": "n1",
        "conductor": "c1",
        "allocation_uuid": None,
    }


def test_delete_takes_the_provider_with_it(service: Service) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_A",))
    service.baremetal("DELETE", "/nodes/n1", status=204)
    service.baremetal("GET", f"/nodes/{uuid}", status=404)
    service.placement("GET", f"/resource_providers/{uuid}", status=404)
    service.add_node("n1", power=False)


def test_delete_is_refused_in_most_states(service: Service) -> None:
    uuid = service.add_node("n1")
    service.set_columns(uuid, provision_state="active")
    assert "maintenance mode" in fault(service.baremetal("DELETE", f"/nodes/{uuid}", status=409))
    service.set_columns(uuid, protected=True, maintenance=True)
    assert "protected" in fault(service.baremetal("DELETE", f"/nodes/{uuid}", status=403))
    service.set_columns(uuid, protected=False)
    service.baremetal("DELETE", f"/nodes/{uuid}", status=204)


def test_deleting_available_nodes_can_be_forbidden(database_url: str) -> None:
    with Service(database_url, conductor={"allow_deleting_available_nodes": False}) as service:
        service.add_conductor("c1")
        uuid = service.add_node("n1", power=False)
        message = fault(service.baremetal("DELETE", "/nodes/n1", status=409))
        assert "('manageable', 'enroll', 'adopt failed')" in message
        service.set_columns(uuid, provision_state="manageable")
        service.baremetal("DELETE", "/nodes/n1", status=204)


def test_everything_goes_with_a_node(service: Service) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_A",))
    group = service.baremetal("POST", "/portgroups", {"node_uuid": uuid}).json["uuid"]
    port = {"node_uuid": uuid, "address": "52:54:00:00:00:01", "portgroup_uuid": group}
    service.baremetal("POST", "/ports", port)
    service.baremetal("POST", "/volume/connectors", {"node_uuid": uuid, "type": "iqn", "connector_id": "x"})
    target = {"node_uuid": uuid, "volume_type": "iscsi", "volume_id": "v", "boot_index": 0}
    service.baremetal("POST", "/volume/targets", target)
    service.baremetal("POST", "/allocations", {"resource_class": "gold"})

    def find_out(session: Session) -> None:
        node = nodes.find_for_change(session, uuid)
        history.record(session, node, "something", event_type="power")
        inspection.store(session, node, {}, {})
        bios.keep_settings(session, node, {"a": "b"})
        bios.keep_components(session, node, {"c": Flashed("1", "2")})

    def rows(session: Session) -> dict[str, int]:
        counts = {name: session.scalar(select(func.count()).select_from(table)) or 0 for name, table in tables.items()}
        return {name: count for name, count in counts.items() if count}

    lasting = ("traits", "resource_classes", "schema_state", "event_stream", "event_notes")
    tables = {name: table for name, table in Base.metadata.tables.items() if name not in lasting}
    service.database.write(find_out)
    assert len(service.database.read(rows)) > 15
    service.baremetal("DELETE", "/nodes/n1", status=409)  # it is allocated
    service.baremetal("PUT", "/nodes/n1/maintenance", {})
    service.baremetal("DELETE", "/nodes/n1", status=204)
    assert set(service.database.read(rows)) == {"conductors", "conductor_hardware_types", "conductor_interfaces"}


def test_delete_is_refused_with_an_instance_or_an_allocation(service: Service) -> None:
    uuid = service.add_node("n1", instance_uuid=UUID)
    assert UUID in fault(service.baremetal("DELETE", f"/nodes/{uuid}", status=409))
    service.patch(uuid, ("remove", "/instance_uuid"))
    service.claim(UUID, uuid, status=204)
    assert UUID in fault(service.baremetal("DELETE", f"/nodes/{uuid}", status=409))
    service.baremetal("PUT", f"/nodes/{uuid}/maintenance", {"reason": "gone"}, status=202)
    service.baremetal("DELETE", f"/nodes/{uuid}", status=204)
    assert service.placement("GET", f"/allocations/{UUID}").json == {"allocations": {}}


def test_maintenance(service: Service) -> None:
    uuid = service.add_node("n1")
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "fan"}, status=202)
    assert (service.node(uuid)["maintenance"], service.node(uuid)["maintenance_reason"]) == (True, "fan")
    assert service.candidates("resources=CUSTOM_GOLD:1") == set()
    service.baremetal("PUT", "/nodes/n1/maintenance", status=202)
    service.http.put(f"/baremetal/v1/nodes/{uuid}/maintenance", "null", status=202)
    assert service.node(uuid)["maintenance_reason"] is None
    service.set_columns(uuid, fault="power failure")
    service.baremetal("DELETE", "/nodes/n1/maintenance", status=202)
    assert (service.node(uuid)["maintenance"], service.node(uuid)["fault"]) == (False, None)
    assert service.candidates("resources=CUSTOM_GOLD:1") == {uuid}
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": 5}, status=400)
    service.baremetal("PUT", "/nodes/n1/maintenance", {"why": "x"}, status=400)
    service.baremetal("GET", "/nodes/n1/maintenance", status=405)


def test_a_node_that_is_locked_cannot_be_changed(service: Service) -> None:
    uuid = service.add_node("n1")
    service.set_columns(uuid, reservation="c9")
    calls = [
        ("DELETE", "", None),
        ("PUT", "/maintenance", {}),
        ("PUT", "/traits", {"traits": []}),
        ("PUT", "/traits/CUSTOM_A", None),
        ("DELETE", "/traits", None),
        ("PUT", "/states/power", {"target": "power on"}),
        ("PATCH", "", [{"op": "add", "path": "/extra/a", "value": 1}]),
    ]
    for method, path, body in calls:
        response = service.baremetal(method, f"/nodes/{uuid}{path}", body, status=409)
        assert "locked by host c9" in fault(response), path
    assert service.node(uuid)["reservation"] == "c9"
    service.baremetal("GET", f"/nodes/{uuid}/traits", status=200)


def test_errors_are_json_in_json(service: Service) -> None:
    response = service.baremetal("GET", "/nodes/nosuch", status=404)
    assert json.loads(response.json["error_message"]) == {
        "faultcode": "Client",
        "faultstring": "Node nosuch could not be found.",
        "debuginfo": None,
    }
    assert response.content_type == "application/json"


def test_of_two_nodes_to_validate_the_uuid_counts(service: Service) -> None:
    service.add_node("n1", power=False)
    other = service.add_node("n2", power=False)
    service.patch(other, ("add", "/instance_info/traits", ["CUSTOM_A"]))
    for query, result in (("node=n1", True), (f"node_uuid={other}", False), (f"node=n1&node_uuid={other}", False)):
        assert service.baremetal("GET", f"/nodes/validate?{query}").json["deploy"]["result"] is result
