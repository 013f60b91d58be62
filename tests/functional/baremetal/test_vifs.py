# tier: first
"""/v1/nodes/{node}/vifs, with the network interface that notes nothing."""

import pytest

from tests.restored import Rows
from tests.service import Service, fault

UUID = "aaaaaaaa-3333-4000-8000-000000000001"


@pytest.fixture
def uuid(service: Service) -> str:
    return service.add_node("n1", power=False)


def test_whatever_can_be_an_interface_is_attached_and_detached(service: Service, uuid: str, row: Rows) -> None:
    for vif in [UUID, "myvif", "my.vif_1~x"]:
        with row(vif):
            service.baremetal("POST", "/nodes/n1/vifs", {"id": vif, "more": [1]}, status=204)
            assert service.baremetal("GET", "/nodes/n1/vifs").json == {"vifs": []}
            service.baremetal("DELETE", f"/nodes/n1/vifs/{vif}", status=204)


def test_an_interface_has_a_uuid_or_a_name(service: Service, uuid: str, row: Rows) -> None:
    for vif in ["a b", "é", "x" * 256, "%"]:
        with row(vif):
            before = service.node(uuid)
            refused = service.baremetal("POST", "/nodes/n1/vifs", {"id": vif}, status=400)
            assert fault(refused) == f"Expected UUID or name for id: {vif}"
            path = "/nodes/n1/vifs/" + vif.replace("%", "%25").replace(" ", "%20").replace("é", "%C3%A9")
            assert fault(service.baremetal("DELETE", path, status=400)) == f"Expected UUID or name for vif_id: {vif}"
            assert service.node(uuid) == before


def test_one_has_to_say_which_to_detach(service: Service, uuid: str) -> None:
    assert fault(service.baremetal("DELETE", "/nodes/n1/vifs", status=400)) == "Missing mandatory parameter: vif_id"
    service.baremetal("DELETE", "/nodes/n1/vifs", version="1.27", status=404)
