# tier: first
"""/v1/nodes/{node}/traits, and the trait filters of the node lists."""

import pytest

from tests.built_once import built_once
from tests.restored import Rows
from tests.service import Service, fault

FIFTY = [f"CUSTOM_N{number:02}" for number in range(50)]


@pytest.fixture
def uuid(service: Service) -> str:
    return built_once(service, lambda service: service.add_node("t1", power=False))


def traits(service: Service, ident: str = "t1") -> list[str]:
    listed = service.baremetal("GET", f"/nodes/{ident}/traits").json["traits"]
    assert service.node(ident)["traits"] == listed
    assert service.provider_traits(service.node(ident)["uuid"]) == listed
    return listed


def test_a_fresh_node_has_none(service: Service, uuid: str) -> None:
    assert traits(service) == []


def test_replace_all(service: Service, uuid: str) -> None:
    response = service.baremetal(
        "PUT", "/nodes/t1/traits", {"traits": ["CUSTOM_Z", "CUSTOM_A", "HW_CPU_X86_AVX"]}, status=204
    )
    assert response.body == b""
    assert "Location" not in response.headers
    assert traits(service, uuid) == ["CUSTOM_A", "CUSTOM_Z", "HW_CPU_X86_AVX"]
    service.baremetal("PUT", "/nodes/t1/traits", {"traits": ["CUSTOM_A", "CUSTOM_B", "CUSTOM_A"]}, status=204)
    assert traits(service) == ["CUSTOM_A", "CUSTOM_B"]
    service.baremetal("PUT", "/nodes/t1/traits", {"traits": []}, status=204)
    assert traits(service) == []


def test_the_list_on_request(service: Service, uuid: str) -> None:
    response = service.baremetal(
        "PUT",
        "/nodes/t1/traits",
        {"traits": ["CUSTOM_B", "CUSTOM_A"]},
        headers={"Prefer": "respond-async, return=representation"},
        status=200,
    )
    assert response.json == {"traits": ["CUSTOM_A", "CUSTOM_B"]}
    service.baremetal("PUT", "/nodes/t1/traits", {"traits": []}, headers={"Prefer": "return=minimal"}, status=204)


def test_add_one(service: Service, uuid: str, row: Rows) -> None:
    for body in [None, {}]:
        with row(body):
            response = service.baremetal("PUT", "/nodes/t1/traits/CUSTOM_A", body, status=204)
            assert response.headers["Location"] == "http://localhost/baremetal/v1/nodes/t1/traits/CUSTOM_A"
            service.baremetal("PUT", f"/nodes/{uuid}/traits/CUSTOM_A", status=204)
            service.baremetal("PUT", "/nodes/t1/traits/HW_CPU_X86_VMX", status=204)
            assert traits(service) == ["CUSTOM_A", "HW_CPU_X86_VMX"]


def test_remove(service: Service, uuid: str) -> None:
    service.baremetal("PUT", "/nodes/t1/traits", {"traits": ["CUSTOM_A", "CUSTOM_B"]})
    service.baremetal("DELETE", "/nodes/t1/traits/CUSTOM_A", status=204)
    assert traits(service) == ["CUSTOM_B"]
    for name in ("CUSTOM_A", "nosuch"):
        response = service.baremetal("DELETE", f"/nodes/t1/traits/{name}", status=404)
        assert fault(response) == f"Node {uuid} doesn't have a trait '{name}'"
    service.baremetal("DELETE", "/nodes/t1/traits", status=204)
    service.baremetal("DELETE", "/nodes/t1/traits", status=204)
    assert traits(service) == []


def test_names_that_are_no_traits(service: Service, uuid: str, row: Rows) -> None:
    for name in [
        "custom_a",
        "CUSTOM_",
        "CUSTOM-A",
        "CUSTOM_A%20B",
        "CUSTOM_%C3%A9",
        "HW_NOSUCH",
        "%20CUSTOM_A",
        "CUSTOM_A%0A",
        "CUSTOM_A,CUSTOM_B",
        "CUSTOM_" + "X" * 249,
    ]:
        with row(name):
            for ident in ("t1", "nosuch"):
                response = service.baremetal("PUT", f"/nodes/{ident}/traits/{name}", status=400)
                assert fault(response).startswith("Schema error for trait: '")
            assert traits(service) == []


def test_lists_that_cannot_be(service: Service, uuid: str, row: Rows) -> None:
    for body, message in [
        (None, "A single node trait may be added via PUT"),
        ({}, "A single node trait may be added via PUT"),
        ([], "[] is not of type 'object'"),
        ({"traits": None}, "None is not of type 'array'"),
        ({"traits": "CUSTOM_A"}, "'CUSTOM_A' is not of type 'array'"),
        ({"traits": [1]}, "1 is not of type 'string'"),
        ({"traits": ["CUSTOM_OK", "bad"]}, "'bad' is not a valid trait. Did you mean CUSTOM_BAD?"),
        ({"traits": [""]}, "'' should be non-empty"),
        ({"traits": ["CUSTOM_NL\n"]}, "is not a valid trait. Did you mean CUSTOM_NL?"),
        ({"traits": ["CUSTOM_" + "X" * 249]}, "is too long"),
        ({"traits": ["CUSTOM_A"], "x": 1}, "Additional properties are not allowed ('x' unexpected)"),
    ]:
        with row(body, message):
            service.baremetal("PUT", "/nodes/t1/traits/CUSTOM_KEPT")
            assert message in fault(service.baremetal("PUT", "/nodes/t1/traits", body, status=400))
            assert traits(service) == ["CUSTOM_KEPT"]


def test_adding_one_takes_no_body(service: Service, uuid: str, row: Rows) -> None:
    for body in [{"traits": ["CUSTOM_A"]}, {"x": 1}, [1], "x"]:
        with row(body):
            service.baremetal("PUT", "/nodes/t1/traits/CUSTOM_A", body, status=400)
            service.baremetal("DELETE", "/nodes/t1/traits/CUSTOM_A", {"x": 1}, status=400)
            assert traits(service) == []


def test_fifty_are_the_most(service: Service, uuid: str) -> None:
    service.baremetal("PUT", "/nodes/t1/traits", {"traits": [*FIFTY, "CUSTOM_N00"]}, status=204)
    response = service.baremetal("PUT", "/nodes/t1/traits/CUSTOM_N50", status=400)
    assert fault(response) == (
        f"Could not modify traits for node {uuid} as it would exceed the maximum number of traits per node (51 vs. 50)"
    )
    service.baremetal("PUT", "/nodes/t1/traits/CUSTOM_N49", status=204)
    service.baremetal("PUT", "/nodes/t1/traits", {"traits": [*FIFTY[1:], "CUSTOM_X", "CUSTOM_Y"]}, status=400)
    assert traits(service) == FIFTY


def test_before_there_were_traits(service: Service, uuid: str) -> None:
    service.baremetal("GET", "/nodes/t1/traits", version="1.36", status=406)
    service.baremetal("GET", "/nodes/nosuch/traits", version="1.36", status=404)
    service.baremetal("PUT", "/nodes/t1/traits", {"traits": []}, version="1.36", status=405)
    service.baremetal("PUT", "/nodes/t1/traits/CUSTOM_A", version="1.36", status=405)
    service.baremetal("DELETE", "/nodes/t1/traits", version="1.36", status=404)
    service.baremetal("GET", "/nodes?fields=traits", version="1.36", status=406)
    assert "traits" not in service.node("t1", version="1.36")


def test_methods_and_nodes_that_are_not_there(service: Service, uuid: str) -> None:
    service.baremetal("GET", "/nodes/t1/traits/CUSTOM_A", status=405)
    service.baremetal("POST", "/nodes/t1/traits", {"traits": []}, status=405)
    service.baremetal("PATCH", "/nodes/t1/traits", [], status=405)
    for method, body in (("GET", None), ("PUT", {"traits": ["CUSTOM_A"]}), ("DELETE", None)):
        assert fault(service.baremetal(method, "/nodes/nosuch/traits", body, status=404))


def test_traits_change_in_any_state(service: Service, uuid: str, row: Rows) -> None:
    for state in ["enroll", "manageable", "active", "deploying", "clean failed"]:
        with row(state):
            service.set_columns(uuid, provision_state=state, maintenance=True, protected=True)
            service.baremetal("PUT", "/nodes/t1/traits/CUSTOM_A", status=204)
            assert traits(service) == ["CUSTOM_A"]


def test_each_change_is_a_change_of_the_node(service: Service, uuid: str) -> None:
    with service.statements() as statements:
        service.baremetal("PUT", "/nodes/t1/traits/CUSTOM_A")
    assert sum("UPDATE nodes" in statement for statement in statements) == 1


_FEW = {"postgresql": 3, "mysql": 6, "mariadb": 6, "sqlite": 7}


def test_one_trait_takes_few_statements(service: Service, uuid: str) -> None:
    service.baremetal("PUT", f"/nodes/{uuid}/traits/CUSTOM_OTHER")
    service.baremetal("PUT", f"/nodes/{uuid}/traits/CUSTOM_A")
    for method in ("DELETE", "PUT"):
        with service.statements() as statements:
            service.baremetal(method, f"/nodes/{uuid}/traits/CUSTOM_A", status=204)
        # One writes the event, except on PostgreSQL. Where ids are given out again, they are not remembered.
        assert len(statements) == _FEW[service.database.engine.dialect.name], statements


FLEET = {
    "none": (),
    "a": ("CUSTOM_A",),
    "ab": ("CUSTOM_A", "CUSTOM_B"),
    "abv": ("CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"),
    "v": ("HW_CPU_X86_VMX",),
}


@pytest.fixture
def fleet(service: Service) -> Service:
    built_once(service, build)
    return service


def build(service: Service) -> None:
    for name, owned in FLEET.items():
        service.add_node(name, resource_class="odd" if len(owned) % 2 else "even", traits=owned, power=False)


def test_lists_by_traits(fleet: Service, row: Rows) -> None:
    for query, expected in [
        ("traits=CUSTOM_A", "a ab abv"),
        ("traits=CUSTOM_A,CUSTOM_B", "ab abv"),
        ("traits=CUSTOM_A, CUSTOM_B&traits=HW_CPU_X86_VMX", "abv"),
        ("traits=CUSTOM_NOBODY", ""),
        ("not-traits=CUSTOM_A", "none v"),
        ("not-traits=CUSTOM_A,CUSTOM_B", "none a v"),
        ("not-traits=CUSTOM_NOBODY", "none a ab abv v"),
        ("traits-any=CUSTOM_B,HW_CPU_X86_VMX", "ab abv v"),
        ("not-traits-any=CUSTOM_B,HW_CPU_X86_VMX", "none a"),
        ("traits=CUSTOM_A&not-traits=CUSTOM_B", "a"),
        ("traits=CUSTOM_A&not-traits-any=HW_CPU_X86_VMX&traits-any=CUSTOM_B", "ab"),
        ("traits=CUSTOM_A&resource_class=odd", "a abv"),
        ("traits=CUSTOM_A&limit=2", "a ab"),
        ("traits=CUSTOM_A&sort_dir=desc&limit=1", "abv"),
        ("traits=CUSTOM_A&conductor=c1", "a ab abv"),
    ]:
        with row(query, expected):
            query = query.replace(" ", "%20")
            short = fleet.baremetal("GET", f"/nodes?fields=name&{query}").json["nodes"]
            detailed = fleet.baremetal("GET", f"/nodes/detail?{query}").json["nodes"]
            assert [node["name"] for node in short] == expected.split()
            assert [node["name"] for node in detailed] == expected.split()


MANY = tuple(f"CUSTOM_{number}" for number in range(50))


def test_lists_by_many_traits(service: Service, row: Rows) -> None:
    for query, expected in [
        (("traits", MANY), ["all"]),
        (("traits", (*MANY, *MANY)), ["all"]),
        (("traits", (*MANY, "CUSTOM_X")), []),
        (("traits", tuple(f"CUSTOM_{number}" for number in range(300))), []),
        (("not-traits", MANY), ["some"]),
        (("traits-any", (*MANY, "CUSTOM_X")), ["all", "some"]),
        (("not-traits-any", MANY[40:]), ["some"]),
    ]:
        with row(query, expected):
            service.add_node("all", traits=MANY, power=False)
            service.add_node("some", traits=MANY[:40], power=False)
            name, traits = query
            nodes = service.baremetal("GET", f"/nodes?fields=name&{name}={','.join(traits)}").json["nodes"]
            assert [node["name"] for node in nodes] == expected


def test_trait_filters_that_cannot_be(fleet: Service, row: Rows) -> None:
    for parameter in ["traits", "not-traits", "traits-any", "not-traits-any"]:
        for value in ["", "custom_a", "HW_NOSUCH", "CUSTOM_A,", "CUSTOM_A,,CUSTOM_B", "CUSTOM_A;", "!CUSTOM_A"]:
            with row(parameter, value):
                for path in ("/nodes", "/nodes/detail"):
                    assert f"Invalid {parameter}" in fault(
                        fleet.baremetal("GET", f"{path}?{parameter}={value}", status=400)
                    )
