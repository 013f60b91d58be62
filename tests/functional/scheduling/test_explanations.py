"""Why a request finds nothing, or less than was wanted."""

from contextlib import ExitStack
from typing import Any

import pytest

from baremetal_sched.baremetal.matching import explanation
from tests.functional.compute.test_booting import add_child
from tests.functional.compute.world import ZEROS
from tests.service import Service
from tests.worlds import SHARES

AGGREGATE = "aaaaaaaa-0000-4000-8000-000000000001"
CONSUMER = "cccccccc-0000-4000-8000-000000000001"
GOLD = {"vcpus": 4, "ram": 2048, "disk": 20, "extra_specs": {"resources:CUSTOM_GOLD": "1", **ZEROS}}


def explain(service: Service, query: str, status: int = 200, **headers: str) -> Any:
    """GET /v1/explanations"""
    found = service.http.get(f"/scheduling/v1/explanations?{query}", headers=headers, status=status)
    return found.json if status == 200 else found.json["error"]["message"]


def post(service: Service, status: int = 200, headers: dict[str, str] | None = None, **body: Any) -> Any:
    """POST /v1/explanations"""
    found = service.http.post_json("/scheduling/v1/explanations", body, headers=headers or {}, status=status)
    return found.json if status == 200 else found.json["error"]["message"]


def figures(found: Any) -> dict[str, tuple[int, int]]:
    """How many fail each condition, and how many only it rules out."""
    return {each["id"]: (each["fails"], each["only_this"]) for each in found["conditions"]}


def relaxations(found: Any) -> list[tuple[list[str], int]]:
    return [(each["drop"], each["would_fit"]) for each in found["relaxations"]]


def test_why_there_is_no_candidate(service: Service) -> None:
    plain = service.add_node("plain")
    service.add_node("old", traits=("CUSTOM_NVME", "CUSTOM_OLD"))
    service.add_node("silver", resource_class="silver", traits=("CUSTOM_NVME",))
    taken = service.add_node("taken", traits=("CUSTOM_NVME",))
    service.claim(CONSUMER, taken)
    found = explain(service, "resources=CUSTOM_GOLD:1&required=CUSTOM_NVME,!CUSTOM_OLD")
    assert (found["nodes"], found["fitting"], found["wanted"], found["verdict"]) == (4, 0, 1, "busy")
    assert figures(found) == {
        "class:CUSTOM_GOLD": (1, 0),
        "trait:CUSTOM_NVME": (1, 1),
        "trait:!CUSTOM_OLD": (1, 1),
        "availability:CUSTOM_GOLD": (2, 1),
        "availability:lock": (0, 0),
        "availability:conductor": (0, 0),
    }
    # Without a class nothing would be asked for.
    assert relaxations(found) == [(["trait:!CUSTOM_OLD"], 1), (["trait:CUSTOM_NVME"], 1)]
    (first,) = [each for each in found["conditions"] if each["id"] == "trait:CUSTOM_NVME"]
    assert (first["text"], first["example"], first["kind"]) == ("has CUSTOM_NVME", plain, "request")
    assert found["busy"] == {"allocated": 1}
    assert (found["unknown"], found["groups"], found["sampled"], found["exact"]) == ([], [], False, True)
    # Where nothing is missing, and where more are wanted than there are.
    assert explain(service, "resources=CUSTOM_GOLD:1")["verdict"] == "fits"
    found = explain(service, "resources=CUSTOM_GOLD:1&required=!CUSTOM_OLD&wanted=2")
    assert (found["fitting"], found["verdict"], relaxations(found)) == (1, "short", [(["trait:!CUSTOM_OLD"], 2)])
    assert post(service, query="resources=CUSTOM_GOLD:1&required=!CUSTOM_OLD", wanted=2) == found


def test_names_that_there_are_not(service: Service) -> None:
    for name in ("n1", "n2"):
        service.add_node(name, traits=("CUSTOM_NVME",))
    found = explain(service, "resources=CUSTOM_GODL:1&required=CUSTOM_NVEM,!CUSTOM_UNHEARD_OF")
    assert found["verdict"] == "impossible"
    assert found["unknown"] == [
        {"name": "CUSTOM_GODL", "did_you_mean": [["CUSTOM_GOLD", 2]]},
        {"name": "CUSTOM_NVEM", "did_you_mean": [["CUSTOM_NVME", 2]]},
        {"name": "CUSTOM_UNHEARD_OF", "did_you_mean": []},
    ]
    assert relaxations(found) == []
    found = post(service, resource_class="godl", traits=["CUSTOM_NVEM"])
    assert [(each["name"], each["did_you_mean"]) for each in found["unknown"]] == [
        ("godl", [["gold", 2]]),
        ("CUSTOM_NVEM", [["CUSTOM_NVME", 2]]),
    ]


def test_an_allocation(service: Service) -> None:
    """Locks count for it, and each machine fails for its own reason."""
    service.add_node("plain")
    locked = service.add_node("locked", traits=("CUSTOM_A",))
    service.set_columns(locked, reservation="c1")
    broken = service.add_node("broken", traits=("CUSTOM_A",))
    service.baremetal("PUT", f"/nodes/{broken}/maintenance", {"reason": "disk"})
    taken = service.add_node("taken", traits=("CUSTOM_A",))
    service.claim(CONSUMER, taken)
    found = post(service, resource_class="gold", traits=["CUSTOM_A", "in:CUSTOM_A,CUSTOM_B"])
    assert (found["nodes"], found["fitting"], found["verdict"]) == (4, 0, "busy")
    shown = {name: pair for name, pair in figures(found).items() if pair[0]}
    assert shown == {
        "trait:CUSTOM_A": (1, 0),
        "trait:in:CUSTOM_A,CUSTOM_B": (1, 0),
        "availability:maintenance": (1, 1),
        "availability:allocation in placement": (1, 1),
        "availability:lock": (1, 1),
    }
    assert found["busy"] == {"allocated": 1, "locked": 1, "maintenance": 1}
    assert relaxations(found) == [(["trait:CUSTOM_A", "trait:in:CUSTOM_A,CUSTOM_B"], 1)]
    named = post(service, resource_class="gold", candidate_nodes=["broken"])
    assert figures(named)["candidate_nodes"] == (3, 1)
    assert relaxations(named) == [(["candidate_nodes"], 1)]


def test_a_flavor_and_an_image(service: Service) -> None:
    service.add_node("n1", properties={"capabilities": "boot_mode:bios"})
    found = post(service, flavor=GOLD, image={"properties": {"trait:CUSTOM_UEFI": "required"}})
    assert (found["verdict"], relaxations(found)) == ("impossible", [(["trait:CUSTOM_UEFI"], 1)])
    assert post(service, flavor=GOLD)["verdict"] == "fits"
    specs = {**GOLD["extra_specs"], "capabilities:boot_mode": "uefi"}  # type: ignore[dict-item]
    found = post(service, flavor={**GOLD, "extra_specs": specs})
    assert figures(found)["capability:boot_mode=uefi"] == (1, 1)
    assert relaxations(found) == [(["capability:boot_mode=uefi"], 1)]


def test_a_flavor_without_zeros(service: Service) -> None:
    """The hint is that of the server's fault."""
    service.add_node("n1")
    flavor = {**GOLD, "vcpus": 2, "ram": 1024, "disk": 10, "extra_specs": {"resources:CUSTOM_GOLD": "1"}}
    found = post(service, flavor=flavor)
    hint = (
        " A custom resource class does not switch the base classes off: add resources:VCPU=0, resources:MEMORY_MB=0, "
        "resources:DISK_GB=0 to the flavor."
    )
    assert found["summary"].endswith(hint)
    assert hint not in post(service, flavor=GOLD)["summary"]


def test_a_query_with_a_mistake_is_answered_in_a_sentence(service: Service) -> None:
    known = "resources, required, member_of, in_tree, group_policy, limit, root_required, same_subtree"
    groups = "The first 4 may end with the name of a request group."
    for query, said in (
        ("foo=bar", f"The query has no parameter 'foo', only {known}. {groups}"),
        ("resource=A:1", f"The query has no parameter 'resource', only {known}. {groups}"),
        ("limit=x", "The parameter limit of the query is not valid: 'x' does not match '^[1-9][0-9]*$'."),
        (
            "group_policy=x",
            "The parameter group_policy of the query is not valid: 'x' is not one of ['none', 'isolate'].",
        ),
    ):
        assert post(service, 400, query=query) == said


def test_without_a_conductor(service: Service) -> None:
    service.add_node("n1")
    service.set_columns("n1", conductor_group="rack9")
    found = post(service, flavor=GOLD)
    assert found["verdict"] == "unserved"
    assert found["groups"] == [{"conductor_group": "rack9", "conductors_alive": 0, "fitting_if_served": 1}]
    # Placement does not ask for conductors; what lacks one is said all the same.
    found = explain(service, "resources=CUSTOM_GOLD:1")
    assert (found["verdict"], found["groups"][0]["fitting_if_served"]) == ("fits", 1)


def test_what_several_providers_give_together(service: Service) -> None:
    node = service.add_node("n1")
    add_child(service, node, "fpga", "CUSTOM_FPGA_X")
    found = explain(service, "resources=CUSTOM_GOLD:1,CUSTOM_FPGA_X:1")
    assert (found["verdict"], found["fitting"], found["exact"]) == ("fits", 1, True)
    assert set(found["parts"]) == {"resources=CUSTOM_GOLD:1", "resources=CUSTOM_FPGA_X:1"}
    found = explain(service, "resources1=CUSTOM_GOLD:1&required1=CUSTOM_A&resources2=CUSTOM_FPGA_X:1&group_policy=none")
    assert found["verdict"] == "impossible"
    assert figures(found) == {
        "resources1": (1, 1),
        "availability:resources1": (0, 0),
        "resources2": (0, 0),
        "availability:resources2": (0, 0),
        "together": (0, 0),
    }
    assert relaxations(found) == [(["class1:CUSTOM_GOLD"], 1), (["trait1:CUSTOM_A"], 1)]
    assert {name: part["verdict"] for name, part in found["parts"].items()} == {
        "resources1": "impossible",
        "resources2": "fits",
    }
    assert relaxations(found["parts"]["resources1"]) == [(["trait1:CUSTOM_A"], 1)]
    other = service.add_node("n2", resource_class="silver")
    add_child(service, other, "gpu", "CUSTOM_GPU")
    found = explain(service, "resources1=CUSTOM_FPGA_X:1&resources2=CUSTOM_GPU:1&group_policy=none")
    assert found["verdict"] == "combination"
    assert post(service, flavor={**GOLD, "extra_specs": {"resources:CUSTOM_FPGA_X": "1", **ZEROS}})["verdict"] == "fits"


def test_a_server_that_the_providers_of_a_tree_serve(service: Service) -> None:
    node = service.add_node("n1", traits=("CUSTOM_FAST",))
    gpu = add_child(service, node, "gpu", "CUSTOM_GPU", total=1)
    specs = {**GOLD["extra_specs"], "resources_A:CUSTOM_GPU": "1", "resources_B:CUSTOM_GPU": "1"}  # type: ignore[dict-item]
    specs |= {"group_policy": "none", "trait_A:CUSTOM_FAST": "required"}
    found = post(service, flavor={**GOLD, "extra_specs": specs})
    assert (found["verdict"], found["fitting"]) == ("combination", 0)
    assert found["closest"]["root"] == node
    parts = found["closest"]["parts"]
    assert {name: part["served"] for name, part in parts.items()} == {
        "resources": True,
        "resources_A": False,
        "resources_B": True,
    }
    assert (parts["resources_B"]["provider"], parts["resources"]["provider"]) == (gpu, node)
    assert [each["id"] for each in parts["resources_A"]["failing"]] == ["trait_A:CUSTOM_FAST"]
    assert relaxations(found) == [(["class_A:CUSTOM_GPU"], 1), (["class_B:CUSTOM_GPU", "trait_A:CUSTOM_FAST"], 1)]
    # The proposal has the same result as the flavor without it.
    for drop, would_fit in relaxations(found):
        changed = {key: value for key, value in specs.items() if not is_dropped(key, drop)}
        request = {"flavor": {**GOLD, "extra_specs": changed}}
        assert len(service.http.post_json("/scheduling/v1/requests", request).json["candidates"]) == would_fit
    # A trait that only a provider below the node has is not one of the machine.
    found = post(service, flavor={**GOLD, "extra_specs": {**GOLD["extra_specs"], "trait:CUSTOM_HOT": "required"}})  # type: ignore[dict-item]
    assert (found["verdict"], relaxations(found)) == ("impossible", [(["trait:CUSTOM_HOT"], 1)])
    add_child(service, node, "hot", "CUSTOM_HEAT", "CUSTOM_HOT")
    found = post(service, flavor={**GOLD, "extra_specs": {**GOLD["extra_specs"], "trait:CUSTOM_HOT": "required"}})  # type: ignore[dict-item]
    assert (found["verdict"], relaxations(found)) == ("impossible", [(["trait:CUSTOM_HOT"], 1)])


def is_dropped(spec: str, drop: list[str]) -> bool:
    """Whether the extra spec is one of the conditions, or belongs to a group that has no resources without them."""
    kind, _, name = spec.partition(":")
    dropped = [each.partition(":")[0].removeprefix("class") for each in drop if each.startswith("class")]
    return f"{kind.replace('resources', 'class')}:{name}" in drop or kind in {f"trait{suffix}" for suffix in dropped}


def test_relaxations_of_servers_are_tried(service: Service) -> None:
    """A scan of nodes does not see that one provider would have to give twice: leaving out the trait is not enough."""
    node = service.add_node("n1")
    add_child(service, node, "gpu", "CUSTOM_GPU", total=1)
    specs = {**GOLD["extra_specs"], "resources_A:CUSTOM_GPU": "1", "resources_B:CUSTOM_GPU": "1"}  # type: ignore[dict-item]
    specs |= {"group_policy": "none", "trait:CUSTOM_LACKING": "required", "capabilities:boot_mode": "uefi"}
    found = post(service, flavor={**GOLD, "extra_specs": specs})
    assert (found["verdict"], relaxations(found)) == ("impossible", [])
    assert [each["id"] for each in found["closest"]["parts"]["resources"]["failing"]] == ["trait:CUSTOM_LACKING"]
    del specs["resources_B:CUSTOM_GPU"], specs["capabilities:boot_mode"]
    found = post(service, flavor={**GOLD, "extra_specs": specs})
    assert relaxations(found) == [(["trait:CUSTOM_LACKING"], 1)]


def test_a_sample(database_url: str) -> None:
    with Service(database_url, scheduling={"explain_max_nodes": 2}) as service:
        service.add_conductor("c1")
        for number in range(5):
            service.add_node(f"n{number}")
        found = explain(service, "resources=CUSTOM_GOLD:1")
        assert (found["nodes"], found["sampled"]) == (5, True)
        # Two of five, on the average.
        assert 1 <= found["sample"] <= 3
        assert explain(service, "resources=CUSTOM_GOLD:1&wanted=9")["nodes"] == 5
        found = explain(service, "resources1=CUSTOM_GOLD:1&resources2=CUSTOM_GOLD:1&group_policy=none")
        assert (found["nodes"], found["sampled"], found["verdict"]) == (5, True, "combination")
        assert 1 <= found["sample"] <= 2
        assert found["closest"]["trees"] == found["sample"]
        assert [each["id"] for each in found["closest"]["constraints"]] == ["room"]


@pytest.mark.sqlite_only
def test_many_groups_end_in_time(database_url: str) -> None:
    """Very many groups, each of which any of many providers could serve, and which do not fit together."""
    with Service(database_url, scheduling={"explain_time_limit": 30}) as service:
        service.add_conductor("c1")
        node = service.add_node("n1")
        for number in range(12):
            add_child(service, node, f"gpu-{number}", "CUSTOM_GPU", f"CUSTOM_T{number}")
        groups = "&".join(f"resources{number}=CUSTOM_GPU:1" for number in range(100))
        found = explain(service, f"resources=CUSTOM_GOLD:1&{groups}&group_policy=isolate")
        assert (found["verdict"], found["exact"], len(found["parts"])) == ("combination", False, 101)
        assert found["closest"]["constraints"]


@pytest.mark.sqlite_only
def test_trees_that_take_too_long(database_url: str) -> None:
    with Service(database_url, scheduling={"explain_time_limit": 0.000001}) as service:
        service.add_conductor("c1")
        service.add_node("n1")
        query = "resources1=CUSTOM_GOLD:1&resources2=CUSTOM_GOLD:1&group_policy=none"
        assert "1e-06" in explain(service, query, 503)


def test_more_machines_than_are_looked_at(database_url: str) -> None:
    """Those of the class are looked at, and all others fail it."""
    with Service(database_url, scheduling={"explain_max_nodes": 3}) as service:
        service.add_conductor("c1")
        for number in range(3):
            service.add_node(f"gold{number}", traits=("CUSTOM_A",) if number else ())
        for number in range(4):
            service.add_node(f"silver{number}", resource_class="silver", traits=("CUSTOM_A",))
        service.baremetal("PUT", "/nodes/gold1/maintenance", {"reason": "disk"})
        with service.statements() as statements:
            found = explain(service, "resources=CUSTOM_GOLD:1&required=CUSTOM_A")
        assert len(statements) <= 12
        assert (found["nodes"], found["fitting"], found["sampled"], found["scope"]) == (
            7,
            1,
            False,
            "class:CUSTOM_GOLD",
        )
        assert counts(found)["class:CUSTOM_GOLD"] == (4, 0, 4, 3)
        assert counts(found)["trait:CUSTOM_A"] == (1, 1, 1, 2)
        assert counts(found)["availability:CUSTOM_GOLD"] == (5, 1, 1, 1)
        found = post(service, resource_class="gold", traits=["CUSTOM_A"])
        assert (found["nodes"], found["fitting"], found["sampled"], found["scope"]) == (7, 1, False, "class:gold")
        assert counts(found)["class:gold"] == (4, 0, 4, 3)
        # Of several classes, and of one that has too many machines, a sample is looked at.
        found = explain(service, "resources=CUSTOM_GOLD:1,CUSTOM_SILVER:1")
        assert (found["nodes"], found["sampled"], "scope" in found) == (7, True, False)
        found = explain(service, "resources=CUSTOM_SILVER:1")
        fails, _, _, left = counts(found)["class:CUSTOM_SILVER"]
        assert (found["nodes"], found["sampled"], found["sample"]) == (7, True, fails + left)
        assert 1 <= left <= 4
        assert post(service, flavor=GOLD)["sampled"]
        assert "scope" not in post(service, flavor=GOLD)
        assert "scope" not in explain(service, "resources=CUSTOM_UNHEARD_OF:1")


def counts(found: Any) -> dict[str, tuple[int, int, int, int]]:
    """How many fail each condition, how many only it rules out, how many it removes, and how many are left then."""
    names = ("fails", "only_this", "eliminated", "left")
    return {each["id"]: tuple(each[name] for name in names) for each in found["conditions"]}  # type: ignore[misc]


def test_two_at_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanation, "_PATIENCE", 0)
    with ExitStack() as others:
        for _ in range(explanation.AT_ONCE):
            others.enter_context(explanation.one_of_few())
        response = service.http.get("/scheduling/v1/explanations?resources=CUSTOM_GOLD:1", status=503)
        assert response.headers["Retry-After"] == "1"
        assert "2 explanations are being worked on" in response.json["error"]["message"]
    assert explain(service, "resources=CUSTOM_GOLD:1")["nodes"] == 0


def test_tenants_hear_nothing_of_others(secured: Service) -> None:
    service = secured
    anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
    admin = {"X-Auth-Token": "admin:operators", "X-Roles": "admin"}
    bert = service.add_node("of-bert", owner="b", traits=("CUSTOM_SECRET",))
    nobody = service.add_node("of-nobody")
    own = service.add_node("of-anna", owner="a")
    query = "resources=CUSTOM_GOLD:1&required=CUSTOM_SECRETT"
    for found in (
        explain(service, query, **anna),
        post(service, headers=anna, resource_class="gold", traits=["CUSTOM_SECRETT"]),
        post(
            service,
            headers=anna,
            flavor={**GOLD, "extra_specs": {**GOLD["extra_specs"], "trait:CUSTOM_SECRETT": "required"}},
        ),  # type: ignore[dict-item]
    ):
        assert bert not in str(found)
        assert nobody not in str(found)
        assert own in str(found)
        assert "CUSTOM_SECRET'" not in str(found)
        assert found["nodes"] in (1, 2)
    found = explain(service, query, **admin)
    assert (found["nodes"], found["unknown"][0]["did_you_mean"]) == (3, [["CUSTOM_SECRET", 1]])
    parts = explain(service, "resources1=CUSTOM_GOLD:1&resources2=CUSTOM_X:1&group_policy=none", **anna)
    assert parts["parts"]["resources1"]["nodes"] == 2
    assert "Nodes cannot be found" in post(service, 400, anna, resource_class="gold", candidate_nodes=[bert])
    assert "your own project" in post(service, 400, anna, resource_class="gold", owner="b")
    assert "scheduling:explanations:create" in explain(
        service, query, 403, **{"X-Auth-Token": "u:p", "X-Roles": "member"}
    )
    assert explain(service, query, 401)


def test_what_shares_below_foreign_machines_is_not_there(secured: Service) -> None:
    service = secured
    anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
    # Who sends no token is an administrator.
    service.http.extra_environ |= {"HTTP_X_AUTH_TOKEN": "admin:operators", "HTTP_X_ROLES": "admin"}
    bert, own = service.add_node("of-bert", owner="b"), service.add_node("of-anna", owner="a")
    shared = add_child(service, bert, "pool", "CUSTOM_POOL")
    changes: list[tuple[str, str, dict[str, Any]]] = [
        (shared, "traits", {"traits": [SHARES]}),
        (shared, "aggregates", {"aggregates": [AGGREGATE]}),
        (own, "aggregates", {"aggregates": [AGGREGATE]}),
    ]
    for provider, what, body in changes:
        path = f"/resource_providers/{provider}"
        generation = service.placement("GET", path).json["generation"]
        service.placement("PUT", f"{path}/{what}", {**body, "resource_provider_generation": generation})
    query = "resources1=CUSTOM_GOLD:1&resources2=CUSTOM_POOL:1&group_policy=none"
    found = explain(service, query)
    assert (found["verdict"], found["nodes"], found["fitting"]) == ("fits", 2, 2)
    found = explain(service, query, **anna)
    assert (found["verdict"], found["nodes"], found["parts"]["resources2"]["nodes"]) == ("impossible", 1, 1)
    assert (found["closest"]["root"], shared in str(found), bert in str(found)) == (own, False, False)


def test_statements_do_not_grow_with_the_trees(service: Service) -> None:
    numbers = []
    query = "resources1=CUSTOM_GOLD:1&required1=CUSTOM_A&resources2=CUSTOM_GPU:1&group_policy=none"
    for more in (1, 6):
        for name in (f"n{more}-{number}" for number in range(more)):
            node = service.add_node(name, traits=("CUSTOM_B",))
            add_child(service, node, f"gpu-of-{name}", "CUSTOM_GPU")
        with service.statements() as statements:
            assert explain(service, query)["verdict"] == "impossible"
        numbers.append(len(statements))
    # Values that are remembered for some seconds may need to be read again.
    assert numbers[1] <= numbers[0] + 1 <= 20


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "resource_class"),
    ({"query": 1}, "query"),
    ({"query": ""}, "at least one"),
    ({"query": "resources=CUSTOM_GOLD:0"}, "amount >= 1"),
    ({"query": "resource=CUSTOM_GOLD:1"}, "resource"),
    ({"query": "resources=%FF"}, "UTF-8"),
    ({"query": "resources=CUSTOM_GOLD:1", "flavor": GOLD}, "flavor"),
    ({"query": "resources=CUSTOM_GOLD:1", "wanted": 0}, "wanted"),
    ({"flavor": GOLD, "limit": 1}, "limit"),
    ({"flavor": "unheard-of"}, "unheard-of"),
    ({"flavor": {"vcpus": -1}}, "flavor.vcpus"),
    ({"resource_class": "gold", "traits": ["nvme"]}, "nvme"),
    ({"resource_class": "gold", "node": "n1"}, "availability"),
    ({"resource_class": "gold", "wanted": True}, "wanted"),
    ({"resource_class": "gold", "candidate_nodes": ["n9"]}, "cannot be found"),
    ({"resource_class": 5}, "resource_class"),
]


def test_what_is_refused(service: Service) -> None:
    for body, said in REFUSED:
        assert said.lower() in post(service, 400, **body).lower(), body
    for query, said in (("", "at least one"), ("resources=CUSTOM_A:1&wanted=x", "wanted"), ("resources=A", "A.")):
        assert said.lower() in explain(service, query, 400).lower(), query
    for body in (b"[]", b'"x"', b"null", b"{"):
        headers = {"Content-Type": "application/json"}
        assert service.http.post("/scheduling/v1/explanations", body, headers, status=400)


def test_as_many_conditions_as_a_query_may_have(service: Service) -> None:
    service.add_node("n1")
    traits = ",".join(f"!CUSTOM_T{number}" for number in range(400))
    found = explain(service, f"resources=CUSTOM_GOLD:1&required={traits}")
    assert (found["verdict"], len(found["conditions"])) == ("fits", 404)
    required = ",".join(f"CUSTOM_T{number}" for number in range(400))
    found = explain(service, f"resources=CUSTOM_GOLD:1&required={required}")
    assert (found["verdict"], found["exact"], len(found["relaxations"])) == ("impossible", False, 1)
