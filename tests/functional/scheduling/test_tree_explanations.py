"""Why requests that the providers of a tree serve together find what they find: each sentence is true, and each change
that is offered works."""

from typing import Any

from tests.functional.compute.test_booting import TOTALS, add_child
from tests.functional.compute.world import ZEROS, boot, flavor
from tests.functional.scheduling.test_explanations import explain, post, relaxations
from tests.service import Service

CONSUMER = "cccccccc-0000-4000-8000-000000000001"


def server(**specs: str) -> dict[str, Any]:
    """A flavor with these extra specs, for one machine of class gold."""
    extra = {name.replace("__", ":"): value for name, value in specs.items()}
    return {"vcpus": 1, "ram": 1, "disk": 1, "extra_specs": {"resources:CUSTOM_GOLD": "1", **ZEROS, **extra}}


def test_machines_are_counted_and_not_their_candidates(service: Service) -> None:
    node = service.add_node("n1")
    for name in ("fpga-1", "fpga-2"):
        add_child(service, node, name, "CUSTOM_FPGA")
    query = "resources=CUSTOM_GOLD:1,CUSTOM_FPGA:1"
    assert len(service.placement("GET", f"/allocation_candidates?{query}").json["allocation_requests"]) == 2
    found = explain(service, f"{query}&wanted=2")
    assert (found["fitting"], found["verdict"]) == (1, "short")
    assert explain(service, query)["verdict"] == "fits"


def test_an_example_does_not_fit_yet(service: Service) -> None:
    fitting, other = sorted(service.add_node(name) for name in ("n1", "n2"))
    add_child(service, fitting, "fpga-1", "CUSTOM_FPGA", "CUSTOM_A")
    add_child(service, other, "fpga-2", "CUSTOM_FPGA")
    query = "resources=CUSTOM_GOLD:1&resources1=CUSTOM_FPGA:1&required1=CUSTOM_A&wanted=2"
    found = explain(service, query)
    assert (found["fitting"], found["verdict"]) == (1, "short")
    (first,) = [each for each in found["relaxations"] if each["drop"] == ["trait1:CUSTOM_A"]]
    assert (first["would_fit"], first["example"]) == (2, other)


def test_what_would_not_fit_if_it_were_free_is_not_busy(service: Service) -> None:
    node = service.add_node("n1")
    add_child(service, node, "gpu", "CUSTOM_GPU")
    service.claim(CONSUMER, node)
    wanted = server(resources_A__CUSTOM_GPU="1", resources_B__CUSTOM_GPU="1", group_policy="none")
    found = post(service, flavor=wanted)
    assert (found["verdict"], relaxations(found)) == ("combination", [])
    assert found["summary"] == (
        "No node matches. 1 node would meet each of the conditions if free, but not all together."
    )
    assert post(service, flavor=server(resources_A__CUSTOM_GPU="1"))["verdict"] == "busy"
    fault = boot(service, flavor=flavor(resources_A__CUSTOM_GPU="1", resources_B__CUSTOM_GPU="1", group_policy="none"))
    assert fault["fault"] == f"No valid host was found. {found['summary']}"
    assert "No node that matches is free." in boot(service, flavor=flavor(resources_A__CUSTOM_GPU="1"))["fault"]


def test_what_is_below_a_machine_is_held_back_for_its_reason(service: Service) -> None:
    node, free = service.add_node("n1"), service.add_node("n2")
    add_child(service, node, "fpga-1", "CUSTOM_FPGA")
    add_child(service, free, "fpga-2", "CUSTOM_FPGA")
    service.baremetal("PUT", f"/nodes/{node}/maintenance", {"reason": "disk"})
    service.claim(CONSUMER, free)
    expected = {"allocated": 1, "maintenance": 1}
    assert explain(service, "resources=CUSTOM_FPGA:1")["busy"] == expected
    found = explain(service, "resources=CUSTOM_GOLD:1,CUSTOM_FPGA:1")
    assert (found["verdict"], found["busy"]) == ("busy", expected)
    assert found["parts"]["resources=CUSTOM_FPGA:1"]["busy"] == expected
    # A provider that is below no node has no reason but that too little of it is free.
    body = {"name": "pool"}
    pool = service.placement("POST", "/resource_providers", body).json["uuid"]
    stock = {"inventories": {"CUSTOM_FPGA": {**TOTALS, "reserved": 1}}, "resource_provider_generation": 0}
    service.placement("PUT", f"/resource_providers/{pool}/inventories", stock)
    assert explain(service, "resources=CUSTOM_FPGA:1")["busy"] == {**expected, "too little is free": 1}


def test_the_closest_is_the_one_that_has_some(service: Service) -> None:
    node = service.add_node("n1")
    child = add_child(service, node, "fpga", "CUSTOM_FPGA")
    others = [add_child(service, node, f"nic-{number}", "CUSTOM_NIC") for number in range(5)]
    found = explain(service, "resources1=CUSTOM_GOLD:1&resources2=CUSTOM_FPGA:2&group_policy=none")
    part = found["closest"]["parts"]["resources2"]
    assert (part["provider"], [each["id"] for each in part["failing"]]) == (child, ["class2:CUSTOM_FPGA"])
    assert not any(other in str(found["closest"]) for other in others)
