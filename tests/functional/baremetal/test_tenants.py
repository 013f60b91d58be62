"""Resources of tenants besides nodes, and how they come to lease one: allocations, runbooks, automatic lessees."""

from pathlib import Path
from typing import Any

from tests.functional.baremetal.fleet import NODES, SECRETS, SEEN, Fleet, customized, shared
from tests.restored import Rows
from tests.service import fault

UNKNOWN = "11111111-1111-4111-8111-111111111111"


def allocate(fleet: Fleet, status: int | None = None, project: str = "ours", **body: Any) -> dict[str, Any]:
    """Ask for a node, and say what became of that."""
    answer = fleet.ask("POST", "/allocations", {"resource_class": "gold", **body}, project=project, status=status)
    if answer.status_int >= 300:
        return {"fault": fault(answer)}
    found: dict[str, Any] = fleet.ask("GET", f"/allocations/{answer.json['uuid']}", project=project).json
    return found


def test_projects_get_nodes_that_they_own_or_lease(fleet: Fleet) -> None:
    got = [allocate(fleet) for _ in range(len(SEEN))]
    assert {each["node_uuid"] for each in got} == {fleet.uuids[name] for name in SEEN}
    assert {each["owner"] for each in got} == {"ours"}
    failed = allocate(fleet)
    assert failed["state"] == "error"
    # Nothing is said of nodes that the project does not see.
    assert "Of 3 nodes, 3 are in use by instances" in failed["last_error"]


def test_nodes_that_a_project_waits_for_are_those_that_it_owns_or_leases(fleet: Fleet) -> None:
    everyone = [fleet.service.baremetal("POST", "/allocations", {"resource_class": "gold"}).json for _ in NODES]
    wait = {"Prefer": "allocation-wait=60"}
    waiting = fleet.ask("POST", "/allocations", {"resource_class": "gold"}, **wait).json["uuid"]
    theirs = fleet.ask("POST", "/allocations", {"resource_class": "gold"}, project="theirs", **wait).json["uuid"]
    fleet.ask("GET", f"/allocations/{waiting}", project="theirs", status=404)
    fleet.ask("DELETE", f"/allocations/{waiting}", project="theirs", status=404)
    nodes = {uuid: name for name, uuid in fleet.uuids.items()}
    held = {}
    for each in everyone:
        found = fleet.service.baremetal("GET", f"/allocations/{each['uuid']}").json
        held[nodes[found["node_uuid"]]] = each["uuid"]
    fleet.service.baremetal("DELETE", f"/allocations/{held['ownerless']}")
    fleet.service.baremetal("DELETE", f"/allocations/{held['foreign']}")
    assert fleet.ask("GET", f"/allocations/{waiting}").json["state"] == "allocating"
    shown = fleet.ask("GET", f"/allocations/{theirs}", project="theirs").json
    assert nodes[shown["node_uuid"]] == "foreign"
    fleet.service.baremetal("DELETE", f"/allocations/{held['leased']}")
    assert nodes[fleet.ask("GET", f"/allocations/{waiting}").json["node_uuid"]] == "leased"


def test_candidates_are_nodes_that_the_project_sees(fleet: Fleet) -> None:
    expected = allocate(fleet, candidate_nodes=["unknown"], status=400)["fault"]
    for name in SECRETS:
        assert allocate(fleet, candidate_nodes=[name], status=400)["fault"].replace(name, "unknown") == expected
        uuid = fleet.uuids[name]
        assert allocate(fleet, candidate_nodes=[uuid], status=400)["fault"].replace(uuid, "unknown") == expected
    assert allocate(fleet, candidate_nodes=["leased"])["node_uuid"] == fleet.uuids["leased"]


def test_a_foreign_node_is_not_backfilled(fleet: Fleet) -> None:
    for name in NODES:
        fleet.service.set_columns(fleet.uuids[name], provision_state="active")
    expected = allocate(fleet, node=UNKNOWN, status=400)["fault"]
    for name in SECRETS:
        uuid = fleet.uuids[name]
        assert allocate(fleet, node=uuid, status=400)["fault"].replace(uuid, UNKNOWN) == expected
    assert allocate(fleet, node=fleet.uuids["leased"])["state"] == "active"


def test_allocations_are_seen_by_their_owner(fleet: Fleet) -> None:
    ours, theirs = allocate(fleet, name="ours"), allocate(fleet, name="theirs", project="theirs")
    assert fleet.listed("/allocations") == {"ours"}
    assert fleet.listed("/allocations?owner=ours") == {"ours"}
    refusal = fleet.ask("GET", "/allocations?owner=theirs", status=403)
    assert fault(refusal) == "Access was denied to the following resource: baremetal:allocation:list_all"
    for method, body in (("GET", None), ("DELETE", None), ("PATCH", [{"op": "add", "path": "/extra/a", "value": 1}])):
        unknown = fault(fleet.ask(method, f"/allocations/{UNKNOWN}", body, status=404))
        foreign = fault(fleet.ask(method, f"/allocations/{theirs['uuid']}", body, status=404))
        assert foreign.replace(theirs["uuid"], UNKNOWN) == unknown
    foreign = fleet.ask("GET", f"/allocations?marker={theirs['uuid']}", status=404)
    unknown = fleet.ask("GET", f"/allocations?marker={UNKNOWN}", status=404)
    assert fault(foreign).replace(theirs["uuid"], UNKNOWN) == fault(unknown)
    expected = fault(fleet.ask("GET", "/allocations?node=unknown", status=400))
    assert fault(fleet.ask("GET", "/allocations?node=foreign", status=400)).replace("foreign", "unknown") == expected
    everything = fleet.service.baremetal("GET", "/allocations").json["allocations"]
    assert {each["uuid"] for each in everything} == {ours["uuid"], theirs["uuid"]}


def test_the_system_may_allocate_for_anyone(fleet: Fleet) -> None:
    body = {"resource_class": "gold", "owner": "ours", "candidate_nodes": ["foreign"]}
    made = fleet.service.baremetal("POST", "/allocations", body).json
    assert fleet.ask("GET", f"/allocations/{made['uuid']}").json["state"] == "error"
    del body["owner"]
    made = fleet.service.baremetal("POST", "/allocations", body).json
    found = fleet.service.baremetal("GET", f"/allocations/{made['uuid']}").json
    assert (found["node_uuid"], found["owner"]) == (fleet.uuids["foreign"], None)


STEPS = [{"interface": "vendor", "step": "log_passthrough", "args": {}, "order": 1}]


def add_runbook(fleet: Fleet, name: str, project: str | None, status: int | None = None, **body: Any) -> Any:
    body = {"name": name, "steps": STEPS, **body}
    if project is None:
        return fleet.service.baremetal("POST", "/runbooks", body, status=status)
    return fleet.ask("POST", "/runbooks", body, project=project, status=status)


def test_runbooks_are_their_projects_or_public(fleet: Fleet) -> None:
    for name, project in (("CUSTOM_OURS", "ours"), ("CUSTOM_THEIRS", "theirs")):
        assert add_runbook(fleet, name, project).json["owner"] == project
    add_runbook(fleet, "CUSTOM_PUBLIC", None, public=True)
    add_runbook(fleet, "CUSTOM_SYSTEM", None)
    assert add_runbook(fleet, "CUSTOM_GIVEN", None, owner="ours").json["owner"] == "ours"
    assert fleet.listed("/runbooks") == {"CUSTOM_OURS", "CUSTOM_GIVEN", "CUSTOM_PUBLIC"}
    assert fleet.listed("/runbooks", project="theirs") == {"CUSTOM_THEIRS", "CUSTOM_PUBLIC"}
    assert len(fleet.service.baremetal("GET", "/runbooks").json["runbooks"]) == 5
    fleet.ask("GET", "/runbooks/CUSTOM_PUBLIC")
    fleet.ask("GET", "/runbooks/CUSTOM_THEIRS", status=403)
    foreign = fleet.service.baremetal("GET", "/runbooks/CUSTOM_THEIRS").json["uuid"]
    fleet.ask("GET", f"/runbooks?marker={foreign}", status=404)


def test_projects_create_runbooks_of_their_own_only(fleet: Fleet) -> None:
    answer = add_runbook(fleet, "CUSTOM_A", "ours", owner="theirs", status=400)
    assert fault(answer).startswith("Cannot create a runbook as a project scoped admin with an owner other than")
    answer = add_runbook(fleet, "CUSTOM_A", "ours", public=True, status=400)
    assert fault(answer) == "Cannot create a public runbook as a project scoped admin."


def test_a_foreign_runbook_is_not_used(fleet: Fleet) -> None:
    for name, project in (("CUSTOM_OURS", "ours"), ("CUSTOM_THEIRS", "theirs")):
        add_runbook(fleet, name, project)
        fleet.service.baremetal("PUT", f"/nodes/mine/traits/{name}")
        fleet.service.baremetal("PUT", f"/runbooks/{name}/traits/{name}")
    fleet.service.set_columns(fleet.uuids["mine"], provision_state="manageable")
    path = "/nodes/mine/states/provision"
    fleet.ask("PUT", path, {"target": "clean", "runbook": "CUSTOM_THEIRS"}, status=403)
    fleet.ask("PUT", path, {"target": "clean", "runbook": "CUSTOM_OURS"}, status=202)


def deploy(fleet: Fleet, name: str, **asked: Any) -> Any:
    """The lessee of a node after someone deployed it, and after it was undeployed."""
    seen = []
    for target in ("active", "deleted"):
        fleet.ask("PUT", f"/nodes/{name}/states/provision", {"target": target}, status=202, **asked)
        seen.append(fleet.service.node(fleet.uuids[name])["lessee"])
        fleet.service.work()
    return seen[0], fleet.service.node(fleet.uuids[name])["lessee"]


def test_who_a_node_is_deployed_for_leases_it(database_url: str, row: Rows) -> None:
    for source, expected in [("instance", "users"), ("request", "ours"), ("none", None), (None, "users")]:
        with row(source, expected):
            options = {} if source is None else {"automatic_lessee_source": source}
            with shared(database_url, conductor=options) as fleet:
                image = {"image_source": "http://images/a", "image_checksum": "0" * 32, "project_id": "users"}
                fleet.service.set_columns(fleet.uuids["mine"], instance_info=image)
                assert deploy(fleet, "mine") == (expected, None)


def test_a_lessee_stays_and_may_be_switched_off(database_url: str) -> None:
    image = {"image_source": "http://images/a", "image_checksum": "0" * 32, "project_id": "users"}
    with shared(database_url, conductor={"automatic_lessee": False}) as fleet:
        for name in ("mine", "lent"):
            fleet.service.set_columns(fleet.uuids[name], instance_info=image)
        assert deploy(fleet, "mine") == (None, None)
        assert deploy(fleet, "lent") == ("theirs", "theirs")


def test_a_rule_may_let_tenants_choose_any_owner(database_url: str, tmp_path: Path) -> None:
    with customized(database_url, tmp_path, "allocation:create_restricted", "role:admin") as fleet:
        answer = fleet.ask("POST", "/allocations", {"resource_class": "gold", "owner": "theirs"})
        found = fleet.service.baremetal("GET", f"/allocations/{answer.json['uuid']}").json
        assert found["owner"] == "theirs"
        assert found["node_uuid"] in {fleet.uuids[name] for name in ("leased", "lent", "foreign")}
