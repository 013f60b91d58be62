"""Tenants learn nothing of claims and holds of others."""

from typing import Any

from tests.functional.scheduling import test_holds
from tests.service import ADMINISTRATOR, Service

CLAIMS = "/scheduling/v1/claims"
UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
OWNER = {"X-Auth-Token": "olga:owners", "X-Roles": "manager,member,reader"}
LEA = {"X-Auth-Token": "lea:tenants", "X-Roles": "manager,member,reader"}
NED = {"X-Auth-Token": "ned:others", "X-Roles": "manager,member,reader"}

#: A service where owners and lessees may assert holds.
service = test_holds.service


def next_claim(service: Service, by: Any) -> str:
    answer = service.http.get("/scheduling/v1/nodes/n1/availability", headers=by).json
    (reason,) = (each["reason"] for each in answer["remarks"] if each["label"] == "next claim")
    return str(reason)


def test_who_is_next_is_said_to_whom_it_is(service: Service) -> None:
    body = {"consumer": {"uuid": UUID}, "query": "resources=CUSTOM_GOLD:1", "wait": 600}
    hold = {"type": "operator_hold"}
    service.http.post_json("/scheduling/v1/nodes/n1/holds", hold, headers=ADMINISTRATOR, status=201)
    service.http.post_json(CLAIMS, body, headers=LEA, status=202)
    assert next_claim(service, LEA).startswith(f"When it is free, it goes to claim {UUID} of your project, which has")
    assert next_claim(service, OWNER).startswith("When it is free, it goes to another project, which has waited since")


def test_a_new_lessee_hears_nothing_of_the_former(service: Service) -> None:
    path = "/scheduling/v1/nodes/n1/holds"
    made = service.http.post_json(path, {"type": "operator_hold", "reason": "mine"}, headers=LEA, status=201).json
    (seen,) = service.http.get(path, headers=LEA).json["maintenance"]
    assert (seen["asserted_by"], seen["asserted_by_project"]) == ("lea", "tenants")
    service.patch("n1", ("replace", "/lessee", "others"))
    answer = service.http.get(path, headers=NED)
    (seen,) = answer.json["maintenance"]
    assert (seen["scope"], seen["asserted_by"], seen["asserted_by_project"]) == ("lessee", None, None)
    refused = service.http.delete(f"{path}/{made['uuid']}", headers=NED, status=403)
    for text in (answer.text, refused.text):
        assert "tenants" not in text
        assert "lea" not in text.replace("lease", "").replace("Cannot release", "")


def test_the_uuid_of_a_foreign_claim_is_not_one_s_own(service: Service) -> None:
    body = {"consumer": {"uuid": UUID}, "query": "resources=CUSTOM_NONE:1", "wait": 600, "even_if_impossible": True}
    service.http.post_json(CLAIMS, body, headers=LEA, status=202)
    own = service.http.post_json(CLAIMS, {**body, "wait": 601}, headers=LEA, status=409).json["error"]["message"]
    assert own.startswith(f"Claim {UUID} exists, and was made with another body")
    for more in ({}, {"wait": 601}):
        foreign = service.http.post_json(CLAIMS, {**body, **more}, headers=NED, status=409).json["error"]["message"]
        assert foreign == f"The UUID {UUID} belongs to something else. Use a new UUID."


def test_node_why_says_that_an_allocation_has_no_claim(service: Service) -> None:
    service.add_node("n2", resource_class="silver")
    made = service.baremetal("POST", "/allocations", {"resource_class": "silver"}).json["uuid"]
    service.http.delete(f"/placement/allocations/{made}", headers={"X-Auth-Token": "a:a", "X-Roles": "admin"})
    answer = service.http.get("/scheduling/v1/nodes/n2/availability", headers=ADMINISTRATOR).json
    (reason,) = (each for each in answer["reasons"] if each["label"] == "allocation")
    assert reason["reason"] == f"Its allocation {made} is active, but its claim in placement was deleted there."
    assert reason["remedy"] == f"Delete it:\nopenstack baremetal allocation delete {made}"
