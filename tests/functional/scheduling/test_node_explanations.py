# tier: first
"""Why one machine does or does not fit a request."""

from typing import Any

from tests.functional.compute.test_booting import add_child
from tests.functional.compute.world import ZEROS
from tests.service import Service

CONSUMER = "cccccccc-0000-4000-8000-000000000001"
GOLD = {"vcpus": 4, "ram": 2048, "disk": 20, "extra_specs": {"resources:CUSTOM_GOLD": "1", **ZEROS}}


def explain(service: Service, node: str, query: str, status: int = 200, **headers: str) -> Any:
    """GET /v1/explanations/nodes/{node}"""
    path = f"/scheduling/v1/explanations/nodes/{node}?{query}"
    found = service.http.get(path, headers=headers, status=status)
    return found.json if status == 200 else found.json["error"]["message"]


def post(service: Service, node: str, status: int = 200, headers: dict[str, str] | None = None, **body: Any) -> Any:
    """POST /v1/explanations/nodes/{node}"""
    path = f"/scheduling/v1/explanations/nodes/{node}"
    found = service.http.post_json(path, body, headers=headers or {}, status=status)
    return found.json if status == 200 else found.json["error"]["message"]


def failing(found: Any) -> list[str]:
    return [each["id"] for each in found["conditions"] if not each["holds"]]


def drops(found: Any) -> list[list[str]]:
    return [each["drop"] for each in found["relaxations"]]


def test_a_query(service: Service) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_OLD",))
    service.add_node("n2", traits=("CUSTOM_NVME",))
    found = explain(service, "n1", "resources=CUSTOM_GOLD:1&required=CUSTOM_NVME,!CUSTOM_OLD")
    assert (found["node"], found["name"], found["verdict"]) == (uuid, "n1", "impossible")
    assert failing(found) == ["trait:CUSTOM_NVME", "trait:!CUSTOM_OLD"]
    assert found["conditions"][0] == {
        "id": "class:CUSTOM_GOLD",
        "text": "can give 1 of CUSTOM_GOLD",
        "kind": "request",
        "counts": True,
        "holds": True,
    }
    assert drops(found) == [["trait:!CUSTOM_OLD", "trait:CUSTOM_NVME"]] or drops(found) == [
        ["trait:CUSTOM_NVME", "trait:!CUSTOM_OLD"]
    ]
    assert (found["reasons"], found["remarks"]) == ([], [])
    found = explain(service, uuid.upper(), "resources=CUSTOM_GOLD:1")
    assert (found["verdict"], drops(found), failing(found)) == ("fits", [], [])
    assert post(service, "n1", query="resources=CUSTOM_GOLD:1") == found


def test_one_that_is_not_free(service: Service) -> None:
    node = service.add_node("n1")
    service.claim(CONSUMER, node)
    found = explain(service, "n1", "resources=CUSTOM_GOLD:1&required=CUSTOM_A")
    assert (found["verdict"], drops(found)) == ("impossible", [])
    found = explain(service, "n1", "resources=CUSTOM_GOLD:1")
    assert (found["verdict"], failing(found)) == ("busy", ["availability:CUSTOM_GOLD"])
    assert [each["label"] for each in found["reasons"]] == ["allocation in placement"]
    assert "openstack" in found["reasons"][0]["remedy"]


def test_an_allocation(service: Service) -> None:
    node = service.add_node("n1")
    service.add_node("n2")
    service.set_columns(node, reservation="c1")
    found = post(service, "n1", resource_class="gold", traits=["CUSTOM_A"], candidate_nodes=["n2"])
    assert failing(found) == ["candidate_nodes", "trait:CUSTOM_A", "availability:lock"]
    assert found["verdict"] == "impossible"
    assert [each["label"] for each in found["remarks"]] == ["lock"]
    assert post(service, "n2", resource_class="gold")["verdict"] == "fits"


def test_a_server(service: Service) -> None:
    service.add_node("n1", properties={"capabilities": "boot_mode:bios"})
    service.add_node("n2")
    specs = {**GOLD["extra_specs"], "capabilities:boot_mode": "uefi"}  # type: ignore[dict-item]
    asked = {**GOLD, "extra_specs": specs}
    found = post(service, "n1", flavor=asked, image={"properties": {"trait:CUSTOM_UEFI": "required"}})
    # Capabilities are looked at whatever else it fails.
    assert set(failing(found)) == {"trait:CUSTOM_UEFI", "capability:boot_mode=uefi"}
    assert drops(found) == [["trait:CUSTOM_UEFI", "capability:boot_mode=uefi"]]
    assert (post(service, "n1", flavor=GOLD)["verdict"], post(service, "n2", flavor=GOLD)["verdict"]) == (
        "fits",
        "fits",
    )
    service.set_columns("n1", conductor_group="rack9")
    assert post(service, "n1", flavor=GOLD)["verdict"] == "unserved"


def test_its_tree(service: Service) -> None:
    node = service.add_node("n1")
    gpu = add_child(service, node, "gpu", "CUSTOM_GPU", "CUSTOM_BIG")
    other = service.add_node("n2")
    query = "resources1=CUSTOM_GPU:1&required1=CUSTOM_BIG&resources2=CUSTOM_GOLD:1&group_policy=none"
    found = explain(service, "n1", query)
    assert (found["verdict"], failing(found), drops(found)) == ("fits", [], [])
    found = explain(service, "n2", query)
    assert (found["verdict"], failing(found)) == ("impossible", ["resources1"])
    assert found["closest"]["root"] == other
    served = found["closest"]["parts"]
    assert (served["resources2"]["served"], served["resources2"]["provider"]) == (True, other)
    assert [each["id"] for each in served["resources1"]["failing"]] == ["class1:CUSTOM_GPU", "trait1:CUSTOM_BIG"]
    assert drops(found) == [["class1:CUSTOM_GPU"]]
    # A request may ask only for resources below a machine.
    assert explain(service, "n1", "resources=CUSTOM_GPU:1")["verdict"] == "fits"
    found = explain(service, "n1", "resources1=CUSTOM_GPU:1&resources2=CUSTOM_GPU:1&group_policy=isolate")
    assert found["verdict"] == "combination"
    assert found["closest"]["parts"]["resources1"]["provider"] == gpu
    assert [each["id"] for each in found["closest"]["constraints"]] == ["room"]


def test_what_is_refused(service: Service) -> None:
    service.add_node("n1")
    assert "n9" in explain(service, "n9", "resources=CUSTOM_GOLD:1", 404)
    for query in ("", "wanted=1&resources=CUSTOM_GOLD:1", "resources=CUSTOM_GOLD"):
        assert explain(service, "n1", query, 400)
    assert "wanted" in post(service, "n1", 400, query="resources=CUSTOM_GOLD:1", wanted=1)
    assert post(service, "n1", 400, flavor="unheard-of")
    assert post(service, "%3Cscript%3E%E2%80%8F", 404, query="resources=CUSTOM_GOLD:1")


def test_tenants_ask_about_their_own(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
        service.add_node("of-anna", owner="a")
        service.add_node("of-bert", owner="b")
        service.add_node("let", owner="a", lessee="b")
        query = "resources=CUSTOM_GOLD:1"
        assert explain(service, "of-anna", query, **anna)["verdict"] == "fits"
        unknown = explain(service, "unheard-of", query, 404, **anna)
        assert explain(service, "of-bert", query, 404, **anna) == unknown.replace("unheard-of", "of-bert")
        assert post(service, "of-bert", 404, anna, resource_class="gold") == unknown.replace("unheard-of", "of-bert")
        both = "resources1=CUSTOM_GOLD:1&resources2=CUSTOM_GOLD:1&group_policy=none"
        for asked in (query, both):
            found = explain(service, "let", asked, **anna)
            assert "availability:project" in failing(found)
            assert found["verdict"] != "fits"
        assert post(service, "let", headers=anna, flavor=GOLD)["verdict"] == "busy"
        assert explain(service, "of-anna", query, 401)
