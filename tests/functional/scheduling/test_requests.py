# tier: first
"""The dry run: what a flavor and an image would get."""

from typing import Any

import pytest
from webtest import TestResponse

from baremetal_sched.compute.flavors import flavors
from baremetal_sched.image import images
from baremetal_sched.image.access import EVERYTHING
from tests.functional.compute.test_booting import add_child
from tests.functional.compute.world import ZEROS, boot
from tests.functional.compute.world import flavor as server_flavor
from tests.restored import restored
from tests.service import Service
from tests.unchanged import unchanged

GOLD = {"vcpus": 4, "ram": 2048, "disk": 20, "extra_specs": {"resources:CUSTOM_GOLD": "1", **ZEROS}}


def dry_run(service: Service, status: int = 200, **body: Any) -> TestResponse:
    """POST /v1/requests"""
    return service.http.post_json("/scheduling/v1/requests", body, status=status)


def refused(service: Service, **body: Any) -> str:
    """The message of a request that is refused with 400."""
    error = dry_run(service, 400, **body).json["error"]
    assert error["status"] == 400
    message: str = error["message"]
    return message


def with_specs(**extra_specs: Any) -> dict[str, Any]:
    """The flavor with more extra specs; ``__`` stands for a colon."""
    more = {key.replace("__", ":"): value for key, value in extra_specs.items()}
    return {**GOLD, "extra_specs": {**GOLD["extra_specs"], **more}}


def test_the_nodes_that_fit_and_what_would_be_claimed(service: Service) -> None:
    one, two = service.add_node("n1"), service.add_node("n2")
    service.add_node("n3", resource_class="silver")
    found = dry_run(service, flavor=GOLD).json
    assert found["placement_query"] == "limit=1000&resources=CUSTOM_GOLD%3A1"
    assert sorted(found["candidates"], key=lambda each: each["node"]) == [
        {"node": node, "allocations": {node: {"resources": {"CUSTOM_GOLD": 1}}}} for node in sorted([one, two])
    ]
    assert "reason" not in found
    assert len(dry_run(service, flavor=GOLD, limit=1).json["candidates"]) == 1
    assert dry_run(service, flavor=GOLD, limit=1).json["placement_query"].startswith("limit=1&")


def test_nothing_is_claimed(service: Service) -> None:
    node = service.add_node("n1")
    for _ in range(2):
        assert [each["node"] for each in dry_run(service, flavor=GOLD).json["candidates"]] == [node]
    assert service.placement("GET", f"/resource_providers/{node}/allocations").json["allocations"] == {}
    assert boot(service)["node"] == node
    assert dry_run(service, flavor=GOLD).json["candidates"] == []


def test_the_nodes_own_class_completes_the_claim(service: Service) -> None:
    """The query stays as Nova has it; a machine of which only a child is asked for is taken whole."""
    node = service.add_node("n1")
    child = add_child(service, node, "fpga", "CUSTOM_FPGA_X")
    found = dry_run(service, flavor={"vcpus": 1, "ram": 1, "extra_specs": {"resources:CUSTOM_FPGA_X": 1, **ZEROS}}).json
    assert found["placement_query"] == "limit=1000&resources=CUSTOM_FPGA_X%3A1"
    assert found["candidates"] == [
        {
            "node": node,
            "allocations": {child: {"resources": {"CUSTOM_FPGA_X": 1}}, node: {"resources": {"CUSTOM_GOLD": 1}}},
        }
    ]


def test_traits_of_flavor_and_image(service: Service) -> None:
    service.add_node("n1")
    node = service.add_node("n2")
    service.baremetal("PUT", f"/nodes/{node}/traits", {"traits": ["CUSTOM_A", "CUSTOM_B"]})
    found = dry_run(
        service,
        flavor=with_specs(trait__CUSTOM_A="required"),
        image={"properties": {"trait:CUSTOM_B": "required", "os_type": "linux"}},
    ).json
    assert found["placement_query"] == "limit=1000&required=CUSTOM_A%2CCUSTOM_B&resources=CUSTOM_GOLD%3A1"
    assert [each["node"] for each in found["candidates"]] == [node]


def test_capabilities(service: Service) -> None:
    service.add_node("n1", properties={"capabilities": "boot_mode:bios"})
    node = service.add_node("n2", properties={"capabilities": "boot_mode:uefi"})
    found = dry_run(service, flavor=with_specs(capabilities__boot_mode="uefi")).json
    assert [each["node"] for each in found["candidates"]] == [node]
    reason = dry_run(service, flavor=with_specs(capabilities__boot_mode="efi")).json["reason"]
    assert reason == (
        "No valid host was found. No node matches. Of 2 nodes, 2 lack the capability boot_mode=efi; 2 would match if "
        "nodes that lack the capability boot_mode=efi were accepted."
    )


def test_why_there_are_none(service: Service) -> None:
    """Names that no machine has are no error; and the base classes must be switched off."""
    service.add_node("n1")
    found = dry_run(service, flavor=with_specs(trait__CUSTOM_UNHEARD_OF="required")).json
    assert found["candidates"] == []
    assert "CUSTOM_UNHEARD_OF" in found["reason"]
    found = dry_run(service, flavor={**GOLD, "extra_specs": {"resources:CUSTOM_UNHEARD_OF": "1", **ZEROS}}).json
    assert found["candidates"] == []
    assert "CUSTOM_UNHEARD_OF" in found["reason"]
    found = dry_run(service, flavor={**GOLD, "extra_specs": {"resources:CUSTOM_GOLD": "1"}}).json
    assert found["candidates"] == []
    assert "add resources:VCPU=0, resources:MEMORY_MB=0, resources:DISK_GB=0" in found["reason"]


def test_boot_from_volume(service: Service) -> None:
    flavor = {"vcpus": 1, "ram": 0, "disk": 20, "ephemeral": 5, "swap": 1025, "extra_specs": {"resources:VCPU": "0"}}
    query = dry_run(service, flavor=flavor, boot_from_volume=True).json["placement_query"]
    assert query == "limit=1000&resources=DISK_GB%3A7"
    assert "DISK_GB%3A27" in dry_run(service, flavor=flavor).json["placement_query"]


def test_a_flavor_and_an_image_by_id(service: Service) -> None:
    node = service.add_node("n1")
    service.baremetal("PUT", f"/nodes/{node}/traits", {"traits": ["CUSTOM_A"]})
    values = {"name": "bm.gold", "flavorid": "gold", "vcpus": 4, "memory_mb": 2048, "root_gb": 20}
    service.database.write(lambda session: flavors.create(session, values) and None)
    service.database.write(lambda session: flavors.set_extra_specs(session, "gold", GOLD["extra_specs"]) and None)
    image = service.database.write(
        lambda session: (
            images.create(session, EVERYTHING, {"name": "i1", "min_disk": 10}, {"trait:CUSTOM_A": "required"}, ()).uuid
        )
    )
    found = dry_run(service, flavor="gold", image=image).json
    assert found["placement_query"] == "limit=1000&required=CUSTOM_A&resources=CUSTOM_GOLD%3A1"
    assert [each["node"] for each in found["candidates"]] == [node]
    assert "smaller than the minimum size" in refused(service, flavor={**GOLD, "disk": 9}, image=image)
    dry_run(service, flavor={**GOLD, "disk": 9}, image=image, boot_from_volume=True)
    assert "gold2" in refused(service, flavor="gold2")
    unknown = "00000000-0000-4000-8000-000000000009"
    assert unknown in refused(service, flavor="gold", image=unknown)


def test_what_is_refused(service: Service, subtests: pytest.Subtests) -> None:
    with unchanged(service):
        for body, said in [
            ({}, "'flavor' is a required property"),
            ({"flavor": 1}, "flavor"),
            ({"flavor": {"vcpu": 1}}, "'vcpu' was unexpected"),
            ({"flavor": {"vcpus": -1}}, "flavor.vcpus"),
            ({"flavor": {"vcpus": True}}, "flavor.vcpus"),
            ({"flavor": {"extra_specs": {"a/b": "1"}}}, "flavor.extra_specs"),
            ({"flavor": GOLD, "image": {"traits": []}}, "'traits' was unexpected"),
            ({"flavor": GOLD, "image": {"properties": {"a": 1}}}, "image.properties.a"),
            ({"flavor": GOLD, "limit": 0}, "limit"),
            ({"flavor": GOLD, "limit": 1001}, "limit"),
            ({"flavor": GOLD, "boot_from_volume": "no"}, "boot_from_volume"),
            ({"flavor": GOLD, "in_tree": "x"}, "'in_tree' was unexpected"),
            ({"flavor": with_specs(traits__CUSTOM_A="required")}, "Extra spec 'traits:CUSTOM_A' is not valid"),
            ({"flavor": with_specs(hw__cpu_policy="dedicated")}, "Extra spec 'hw:cpu_policy' is not valid"),
            ({"flavor": with_specs(resources__CUSTOM_A=1.5)}, "not '1.5'"),
            ({"flavor": {"extra_specs": ZEROS}}, "The flavor asks for nothing"),
            ({"flavor": GOLD, "image": {"properties": {"trait:nvme": "required"}}}, "trait:nvme"),
            (
                {
                    "flavor": with_specs(trait__CUSTOM_A="forbidden"),
                    "image": {"properties": {"trait:CUSTOM_A": "required"}},
                },
                "The image requires CUSTOM_A, which the flavor forbids",
            ),
        ]:
            with subtests.test(body=body):
                assert said in refused(service, **body)


def test_a_conflict_is_decided_by_the_server(service: Service) -> None:
    """The dry run and the creation of a server take the same flavor."""
    node = service.add_node("n1")
    assert dry_run(service, flavor=GOLD).json["candidates"][0]["node"] == node
    assert boot(service, flavor=server_flavor())["node"] == node


def test_the_edge(service: Service) -> None:
    http = service.http
    assert http.get("/scheduling").json["versions"][0]["id"] == "v1"
    assert http.get("/scheduling/v1").json["versions"][0]["links"][0]["href"].endswith("/scheduling/v1")
    assert http.get("/scheduling/v1/requests", status=405).headers["Allow"] == "POST"
    assert http.get("/scheduling/v2", status=404).json["error"]["status"] == 404
    assert http.post("/scheduling/v1/requests", "{}", status=415).json["error"]["status"] == 415
    headers = {"Content-Type": "application/json"}
    assert "not JSON" in http.post("/scheduling/v1/requests", "{", headers, status=400).json["error"]["message"]
    assert "x" in http.post_json("/scheduling/v1/requests?x=1", {"flavor": GOLD}, status=400).json["error"]["message"]
    assert http.get("/").json["links"]["scheduling"]["href"].endswith("/scheduling")


def test_too_many_conditions(service: Service) -> None:
    properties = {f"trait:CUSTOM_{number}": "required" for number in range(600)}
    assert "are too many in one request" in refused(service, flavor=GOLD, image={"properties": properties})


def test_who_may_ask(database_url: str, subtests: pytest.Subtests) -> None:
    for roles, status in [("admin", 200), ("service", 200), ("member", 403), (None, 401)]:
        with subtests.test(roles=roles), Service(database_url, api={"auth_strategy": "noauth2"}) as secured:
            headers = {"X-Auth-Token": "u:p", "X-Roles": roles} if roles else {}
            answer = secured.http.post_json("/scheduling/v1/requests", {"flavor": GOLD}, headers=headers, status=status)
            assert ("placement_query" in answer.json) == (status == 200)
            assert ("candidates" in answer.json) == (status == 200)
            assert secured.http.get("/scheduling/v1").status_int == 200


def test_tenants_see_how_many_nodes_fit_of_those_that_they_may_use(database_url: str) -> None:
    anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
    admin = {"X-Auth-Token": "admin:operators", "X-Roles": "admin"}
    system = {"X-Auth-Token": "s", "X-Roles": "reader", "OpenStack-System-Scope": "all"}
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")

        def ask(headers: dict[str, str], status: int = 200, **more: Any) -> Any:
            body = {"flavor": GOLD, **more}
            return service.http.post_json("/scheduling/v1/requests", body, headers=headers, status=status).json

        service.add_node("of-bert", owner="b")
        found = ask(anna)
        assert found.keys() == {"placement_query", "count", "reason"}
        assert found["count"] == 0
        assert found["reason"] == "No valid host was found. There are no nodes that the project may use."
        uuids = {service.add_node("of-anna", owner="a"), service.add_node("leased", owner="b", lessee="a")}
        uuids.add(service.add_node("of-nobody"))
        found = ask(anna)
        assert found.keys() == {"placement_query", "count"}
        assert found["count"] == 3
        assert ask(anna, limit=2)["count"] == 2
        for headers in (admin, system):
            assert len(ask(headers)["candidates"]) == 4
        # Flavors and images that a tenant does not see are not there.
        flavor = {"name": "f", "id": "f", "ram": 1, "vcpus": 1, "disk": 1, "os-flavor-access:is_public": False}
        service.compute("POST", "/flavors", {"flavor": flavor}, headers=admin)
        image = service.http.post_json("/image/v2/images", {"visibility": "private"}, headers=admin).json["id"]
        assert "could not be found" in ask(anna, 400, flavor="f")["error"]["message"]
        assert ask(anna, 400, image=image)["error"]["status"] == 400
        ask(admin, image=image)
        ask(admin, flavor="f")


def test_more_than_any_node_has(service: Service, subtests: pytest.Subtests) -> None:
    for amount in [2**31, 2**63, "9" * 255]:
        with subtests.test(amount=amount), restored(service):
            service.add_node("n1")
            found = dry_run(service, flavor=with_specs(resources__CUSTOM_GOLD=amount)).json
            assert found["candidates"] == []
            assert f"1 cannot give {amount} of CUSTOM_GOLD"[:100] in found["reason"]
            most = 2**31 - 1
            flavor = {
                "vcpus": most,
                "disk": most,
                "ephemeral": most,
                "swap": most,
                "extra_specs": {"resources:VCPU": "0"},
            }
            assert "1 cannot give 4297064446 of DISK_GB" in dry_run(service, flavor=flavor).json["reason"]
