# tier: first
"""/v1/deploy_templates, and what they add to a deployment."""

from typing import Any

from tests.restored import Rows
from tests.service import Service, fault

STEP = {"interface": "deploy", "step": "deploy", "args": {}, "priority": 60}
SECRET_STEP = {"interface": "bios", "step": "apply_configuration", "args": {"password": "x", "settings": []}}
REBOOT = {"interface": "power", "step": "reboot", "args": {}, "priority": 10}
OFF = {"interface": "power", "step": "power_off", "args": {}, "priority": 150}


def add(service: Service, name: str = "CUSTOM_A", *steps: dict[str, Any], **more: Any) -> Any:
    body = {"name": name, "steps": list(steps) or [STEP], **more}
    return service.baremetal("POST", "/deploy_templates", body, status=201).json


def patch(service: Service, ident: str, *operations: tuple[Any, ...], **expected: Any) -> Any:
    return service.patch_at(f"/deploy_templates/{ident}", *operations, **expected)


def names(service: Service, query: str = "") -> list[str]:
    return [one["name"] for one in service.baremetal("GET", f"/deploy_templates{query}").json["deploy_templates"]]


# -- the collection ----------------------------------------------------------------------------------------------------


def test_create_and_show(service: Service) -> None:
    step = {**SECRET_STEP, "priority": "150"}
    body = {"name": "HW_CPU_X86_VMX", "steps": [step], "extra": {"a": 1}, "description": "never shown"}
    response = service.baremetal("POST", "/deploy_templates", body, version="1.55", status=201)
    template = response.json
    assert set(template) == {"uuid", "name", "steps", "extra", "created_at", "updated_at", "links"}
    assert template["steps"] == [{**step, "args": {"password": "******", "settings": []}, "priority": 150}]
    url = f"http://localhost/baremetal/v1/deploy_templates/{template['uuid']}"
    assert response.headers["Location"] == url
    assert template["links"][0] == {"href": url, "rel": "self"}
    for ident in (template["uuid"], "HW_CPU_X86_VMX"):
        assert service.baremetal("GET", f"/deploy_templates/{ident}").json == template


def test_bodies_that_do_not_fit_are_400(service: Service, row: Rows) -> None:
    for body in [
        {"name": "bad"},
        {"name": "CUSTOM_lower"},
        {"name": ""},
        {"name": None},
        {"name": "CUSTOM_" + "X" * 249},
        {"steps": []},
        {"steps": None},
        {"steps": {}},
        {"steps": [STEP, STEP]},
        {"steps": [{**STEP, "interface": "network"}]},
        {"steps": [{**STEP, "step": ""}]},
        {"steps": [{**STEP, "args": None}]},
        {"steps": [{**STEP, "args": []}]},
        {"steps": [{**STEP, "priority": -1}]},
        {"steps": [{**STEP, "priority": "-1"}]},
        {"steps": [{**STEP, "priority": "1" * 10}]},
        {"steps": [{**STEP, "priority": True}]},
        {"steps": [{**STEP, "order": 1}]},
        {"steps": [{"interface": "deploy", "step": "deploy", "priority": 1}]},
        {"steps": ["deploy"]},
        {"description": 1},
        {"extra": []},
        {"uuid": "x"},
        {"x": 1},
    ]:
        with row(body):
            whole = {"name": "CUSTOM_A", "steps": [STEP], **body}
            assert "Schema error for template" in fault(
                service.baremetal("POST", "/deploy_templates", whole, status=400)
            )
            assert names(service) == []


def test_names_and_uuids_are_taken_once(service: Service) -> None:
    template = add(service)
    for same in ({"name": "CUSTOM_A"}, {"name": "CUSTOM_B", "uuid": template["uuid"]}):
        taken = service.baremetal("POST", "/deploy_templates", {"steps": [STEP], **same}, status=409)
        assert "already exists" in fault(taken)
    add(service, "CUSTOM_B")
    patch(service, "CUSTOM_B", ("replace", "/name", "CUSTOM_A"), status=409)
    patch(service, "CUSTOM_B", ("replace", "/name", "CUSTOM_B"))


def test_the_list(service: Service) -> None:
    for name in ("CUSTOM_C", "CUSTOM_A", "CUSTOM_B"):
        add(service, name)
    first = service.baremetal("GET", "/deploy_templates").json["deploy_templates"][0]
    assert set(first) == {"uuid", "name", "links"}
    whole = service.baremetal("GET", "/deploy_templates?detail=true").json["deploy_templates"][0]
    assert whole == service.baremetal("GET", "/deploy_templates/CUSTOM_C").json
    fields = service.baremetal("GET", "/deploy_templates?fields=name,steps").json["deploy_templates"][0]
    assert set(fields) == {"name", "steps", "links"}
    assert names(service, "?sort_key=name") == ["CUSTOM_A", "CUSTOM_B", "CUSTOM_C"]
    page = service.baremetal("GET", "/deploy_templates?limit=2").json
    assert names(service, "?" + page["next"].partition("?")[2]) == ["CUSTOM_B"]
    for query in ("fields=description", "fields=x", "sort_key=steps", "detail=true&fields=name", "limit=0", "name=a"):
        service.baremetal("GET", f"/deploy_templates?{query}", status=400)
    service.baremetal("GET", "/deploy_templates?marker=CUSTOM_A", status=404)


def test_patch_and_delete(service: Service) -> None:
    add(service, "CUSTOM_A", {**SECRET_STEP, "priority": 1}, extra={"a": 1})
    changed = patch(service, "CUSTOM_A", ("replace", "/name", "CUSTOM_B"), ("add", "/extra/b", 2)).json
    assert (changed["name"], changed["extra"]) == ("CUSTOM_B", {"a": 1, "b": 2})
    assert changed["updated_at"]
    changed = patch(service, "CUSTOM_B", ("add", "/steps/-", STEP), ("replace", "/steps/0/priority", 7)).json
    assert [step["priority"] for step in changed["steps"]] == [7, 60]
    assert patch(service, "CUSTOM_B", ("remove", "/extra"), ("add", "/description", "d")).json["extra"] == {}
    for refused in (
        ("remove", "/steps"),
        ("remove", "/name"),
        ("replace", "/name", "bad"),
        ("replace", "/uuid", changed["uuid"]),
        ("add", "/steps/-", STEP),
        ("replace", "/steps/0/priority", -1),
        ("replace", "/created_at", None),
    ):
        patch(service, "CUSTOM_B", refused, status=400)
    assert service.baremetal("GET", "/deploy_templates/CUSTOM_B").json["steps"] == changed["steps"]
    service.baremetal("DELETE", "/deploy_templates/CUSTOM_B", status=204)
    for method, body in (("GET", None), ("PATCH", []), ("DELETE", None)):
        gone = service.baremetal(method, "/deploy_templates/CUSTOM_B", body, status=404)
        assert fault(gone) == "Deploy template CUSTOM_B could not be found."


def test_there_are_none_before_1_55(service: Service) -> None:
    add(service)
    for method, path, body, status in (
        ("GET", "", None, 404),
        ("GET", "/CUSTOM_A", None, 404),
        ("POST", "", {}, 405),
        ("PATCH", "/CUSTOM_A", [], 405),
        ("DELETE", "/CUSTOM_A", None, 405),
    ):
        response = service.baremetal(method, f"/deploy_templates{path}", body, version="1.54", status=status)
        assert fault(response) == "The API version does not allow deploy templates"
    service.baremetal("PUT", "/deploy_templates/CUSTOM_A", {}, status=405)
    assert "deploy_templates" not in service.baremetal("GET", "", version="1.54").json
    assert "deploy_templates" in service.baremetal("GET", "", version="1.55").json


# -- deployments -------------------------------------------------------------------------------------------------------


def deploy(service: Service, *traits: str, status: int = 202, **more: Any) -> list[str]:
    """The steps with which a new node is deployed whose instance asks for ``traits``."""
    uuid = service.add_node("n1", traits=("CUSTOM_A", "CUSTOM_B", "CUSTOM_C"))
    service.patch(uuid, ("add", "/instance_info/traits", list(traits)))
    response = service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "active", **more}, status=status)
    if status != 202:
        return [fault(response)]
    service.work()
    assert service.node("n1")["provision_state"] == "active"
    return service.steps_done(uuid)


def test_templates_of_the_traits_that_the_instance_asks_for_add_steps(service: Service) -> None:
    add(service, "CUSTOM_A", REBOOT)
    add(service, "CUSTOM_B", OFF)
    add(service, "CUSTOM_C", {**OFF, "step": "power_on"})
    assert deploy(service, "CUSTOM_A", "CUSTOM_B") == ["power.power_off", "deploy.deploy", "power.reboot"]


def test_a_rebuild_does_them_again(service: Service) -> None:
    add(service, "CUSTOM_A", REBOOT)
    done = deploy(service, "CUSTOM_A")
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "rebuild"}, status=202)
    service.work()
    assert service.steps_done(service.node("n1")["uuid"]) == done * 2 == ["deploy.deploy", "power.reboot"] * 2


def test_without_traits_of_the_instance_templates_do_not_count(service: Service) -> None:
    add(service, "CUSTOM_A", REBOOT)
    assert deploy(service) == ["deploy.deploy"]


def test_a_newer_template_overrides_an_older_one_and_the_client_both(service: Service) -> None:
    add(service, "CUSTOM_B", {**OFF, "priority": 5}, REBOOT)
    add(service, "CUSTOM_A", OFF)
    assert deploy(service, "CUSTOM_A", "CUSTOM_B", deploy_steps=[{**REBOOT, "priority": 120}]) == [
        "power.power_off",
        "power.reboot",
        "deploy.deploy",
    ]


def test_a_priority_of_0_leaves_a_step_out_but_something_has_to_deploy(service: Service) -> None:
    add(service, "CUSTOM_A", {**STEP, "priority": "0"})
    uuid = service.add_node("n1", traits=("CUSTOM_A",))
    service.patch(uuid, ("add", "/instance_info/traits", ["CUSTOM_A"]))
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "active"}, status=202)
    service.work()
    node = service.node("n1")
    assert node["provision_state"] == "deploy failed"
    assert "no step of the deploy interface is left" in node["last_error"]


def test_steps_that_the_machine_lacks_are_left_out(service: Service) -> None:
    add(service, "CUSTOM_A", {**STEP, "step": "nosuch"})
    assert deploy(service, "CUSTOM_A") == ["deploy.deploy"]


def test_arguments_that_a_step_does_not_take_are_refused_at_once(service: Service) -> None:
    add(service, "CUSTOM_A", {**STEP, "args": {"x": 1}})
    (complaint,) = deploy(service, "CUSTOM_A", status=400)
    assert "deploy step deploy has these unexpected arguments: x" in complaint
    assert service.node("n1")["provision_state"] == "available"
    assert "unexpected arguments" in service.baremetal("GET", "/nodes/n1/validate").json["deploy"]["reason"]
