# tier: first
"""/v1/nodes/{node}/inventory"""

import pytest

from baremetal_sched.baremetal.inspection import inspection
from baremetal_sched.baremetal.nodes import nodes
from tests.service import Service, fault


def test_there_is_none_before_an_inspection(service: Service) -> None:
    node = service.add_node("n1", power=False)
    message = fault(service.baremetal("GET", "/nodes/n1/inventory", status=404))
    assert message == f"Node inventory record for node {node} could not be found."
    service.baremetal("GET", "/nodes/nosuch/inventory", status=404)
    service.baremetal("GET", f"/nodes/{node}/inventory?detail=true", status=400)


def test_an_inspection_leaves_what_it_found(service: Service) -> None:
    node = service.baremetal(
        "POST", "/nodes", {"driver": "fake-hardware", "properties": {"cpus": 4, "memory_mb": "2048", "local_gb": 10}}
    ).json["uuid"]
    for verb in ("manage", "inspect"):
        service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": verb})
        service.work()
    shown = service.node(node)
    assert (shown["provision_state"], shown["last_error"]) == ("manageable", None)
    document = service.baremetal("GET", f"/nodes/{node}/inventory").json
    assert set(document) == {"inventory", "plugin_data"}
    assert document["inventory"]["cpu"]["count"] == 4
    assert document["inventory"]["memory"]["physical_mb"] == 2048
    assert document["inventory"]["system_vendor"]["serial_number"] == node


def test_the_last_inspection_counts_and_nothing_is_changed_in_it(service: Service) -> None:
    node = service.add_node("n1", power=False)
    found = {"text": "ä\u2028", "number": 10**30, "nothing": None, "nested": [{"a": [1.5, True]}]}
    for what in (({"old": 1}, {"old": 1}), (found, {})):
        service.database.write(
            lambda session, what=what: inspection.store(session, nodes.find_for_change(session, node), *what)
        )
    assert service.baremetal("GET", "/nodes/n1/inventory").json == {"inventory": found, "plugin_data": {}}


@pytest.mark.parametrize(("version", "status"), [("1.80", 404), ("1.81", 200)])
def test_it_needs_1_81(service: Service, version: str, status: int) -> None:
    node = service.add_node("n1", power=False)
    service.database.write(
        lambda session: inspection.store(session, nodes.find_for_change(session, node), {"cpu": {}}, {})
    )
    service.baremetal("GET", "/nodes/n1/inventory", version=version, status=status)


def test_it_goes_with_the_node(service: Service) -> None:
    node = service.add_node("n1", power=False)
    service.database.write(lambda session: inspection.store(session, nodes.find_for_change(session, node), {}, {}))
    service.baremetal("DELETE", "/nodes/n1")
    service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "uuid": node})
    service.baremetal("GET", f"/nodes/{node}/inventory", status=404)
