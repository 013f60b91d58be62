"""One request, the same answer at every door: what a random search over all doors has found to differ."""

from typing import Any

import pytest

from tests.functional.compute.test_booting import add_child
from tests.functional.compute.test_servers import add_image, boot, show
from tests.functional.compute.world import ZEROS
from tests.service import Service

CLAIMS, EXPLANATIONS, REQUESTS = (f"/scheduling/v1/{name}" for name in ("claims", "explanations", "requests"))
CONSUMER = "3f2504e0-4f89-41d3-9a0c-0305e82c3302"
HOT = "CUSTOM_HOT"
#: A hot machine with a card.
QUERY = {"query": f"resources=CUSTOM_GOLD:1&required={HOT}&resources1=CUSTOM_CARD:1"}
SPECS = {"resources:CUSTOM_GOLD": "1", **ZEROS, f"trait:{HOT}": "required"}
WITH_CARD = {**SPECS, "resources1:CUSTOM_CARD": "1"}


@pytest.fixture
def service(service: Service) -> Service:
    service.add_conductor("c1")
    return service


def flavor(specs: dict[str, str]) -> dict[str, Any]:
    return {"flavor": {"vcpus": 1, "ram": 1, "disk": 1, "extra_specs": specs}}


def refused(service: Service, body: dict[str, Any]) -> str:
    answer = service.http.post_json(CLAIMS, {**body, "wait": 60}, status=409).json
    return str(answer["error"]["message"]).partition(" Waiting is refused")[0]


def explain(service: Service, body: dict[str, Any]) -> Any:
    return service.http.post_json(EXPLANATIONS, body).json


def test_a_claim_does_not_wait_for_what_no_machine_has_all_of(service: Service) -> None:
    service.add_node("hot", traits=(HOT,))
    add_child(service, service.add_node("with-hot-card"), "card", "CUSTOM_CARD", HOT)
    for body in (QUERY, flavor(WITH_CARD)):
        explained = explain(service, body)
        assert explained["verdict"] == "combination"
        assert refused(service, body) == explained["summary"]
        waits = {**body, "wait": 60, "even_if_impossible": True}
        assert service.http.post_json(CLAIMS, waits, status=202).json["priority"] == -1


def test_a_trait_of_a_child_is_not_the_machine_s(service: Service) -> None:
    add_child(service, service.add_node("n1"), "card", "CUSTOM_CARD", HOT)
    for body in ({"query": f"resources=CUSTOM_GOLD:1&required={HOT}"}, flavor(SPECS)):
        assert explain(service, body)["verdict"] == "impossible"
        assert HOT in refused(service, body)
    service.claim(CONSUMER, service.node("n1")["uuid"])
    assert explain(service, flavor(SPECS))["verdict"] == "impossible"
    made = boot(service, service.add_flavor("f", specs=SPECS), add_image(service), hints={"wait": 60})
    assert show(service, made.json["server"]["id"])["status"] == "ERROR"


def test_a_machine_that_fits_and_is_busy_is_told_from_free_ones_that_do_not(service: Service) -> None:
    add_child(service, service.add_node("without-the-trait"), "card", "CUSTOM_CARD", HOT)
    busy = service.add_node("busy", traits=(HOT,))
    add_child(service, busy, "another-card", "CUSTOM_CARD")
    service.claim(CONSUMER, busy)
    explained = explain(service, flavor(WITH_CARD))
    assert explained["verdict"] == "busy"
    assert explained["summary"] == (
        "No node that matches is free. 1 node meets each of the conditions, but not all of them together."
    )
    assert service.http.post_json(CLAIMS, {**flavor(WITH_CARD), "wait": 60}, status=202).json["state"] == "waiting"


def test_a_server_is_promised_only_what_was_tried(service: Service) -> None:
    """Leaving out the class would not help: the trait is the machine's, and not that of its card."""
    add_child(service, service.add_node("n1", resource_class="silver", traits=(HOT,)), "card", "CUSTOM_CARD")
    specs = {"resources:CUSTOM_GOLD": "1", **ZEROS, "resources1:CUSTOM_CARD": "1", f"trait1:{HOT}": "required"}
    summary = explain(service, flavor(specs))["summary"]
    assert "would match" not in summary
    assert service.http.post_json(REQUESTS, flavor(specs)).json["reason"] == f"No valid host was found. {summary}"
    made = boot(service, service.add_flavor("f", specs=specs), add_image(service))
    assert show(service, made.json["server"]["id"])["fault"]["message"] == f"No valid host was found. {summary}"


def test_an_allocation_that_waits_for_a_locked_node_says_so(service: Service) -> None:
    service.set_columns(service.add_node("n1"), reservation="c1")
    headers = {"Prefer": "allocation-wait=60"}
    service.baremetal("POST", "/allocations", {"resource_class": "gold"}, headers=headers)
    (waiting,) = service.http.get(CLAIMS).json["claims"]
    assert waiting["reason"] == explain(service, {"resource_class": "gold"})["summary"]
    assert waiting["reason"] == "No node that matches is free. Of 1 node, 1 is being worked on by a conductor."
