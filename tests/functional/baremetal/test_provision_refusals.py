# tier: first
"""PUT /v1/nodes/{node}/states/provision: refusals, by state, version, body, and the condition of the node."""

from baremetal_sched.baremetal.state_machine import VERBS
from tests.functional.baremetal.provisioning import LOG_STEP, ask, do, offered, put_into, state_of
from tests.restored import Rows
from tests.service import Service, fault


def test_verbs_have_their_versions(service: Service, uuid: str, row: Rows) -> None:
    for verb, version, status in [
        *((verb, f"1.{known.since - 1}", 406) for verb, known in VERBS.items() if known.since > 1),
        ("undeploy", "1.72", 400),
    ]:
        with row(verb, version, status):
            # The state is looked at before the version of these two.
            if verb in ("unhold", "service"):
                put_into(service, uuid, "service hold")
            path = f"/nodes/{uuid}/states/provision"
            service.baremetal("PUT", path, {"target": verb}, version=version, status=status)
            put_into(service, uuid, "enroll")
            if verb in ("unhold", "service"):
                service.baremetal("PUT", path, {"target": verb}, version=version, status=400)


def test_aborts_that_are_newer(service: Service, uuid: str, row: Rows) -> None:
    for state, version in [("inspect wait", "1.40"), ("wait call-back", "1.109")]:
        with row(state, version):
            put_into(service, uuid, state)
            ask(service, "abort", version=version, status=406)


STEPS = {"interface": "deploy", "step": "x", "args": {}, "priority": 1}


def test_bodies_that_are_refused(service: Service, uuid: str, row: Rows) -> None:
    for state, body, version, status, text in [
        ("enroll", {}, 115, 400, "Missing mandatory parameter: target"),
        ("enroll", {"target": 5}, 115, 400, "Expected string for target: 5"),
        ("enroll", {"target": "manage", "x": 1}, 115, 400, "Unexpected arguments: x"),
        ("enroll", {"target": "manage", "configdrive": 5}, 115, 400, "Expected types"),
        ("enroll", {"target": "manage", "configdrive": "abc"}, 115, 400, "only supported when setting"),
        ("available", {"target": "deploy", "configdrive": "abcd"}, 115, 400, "only supported when setting"),
        ("active", {"target": "rebuild", "configdrive": "abcd"}, 34, 400, "provision state to active"),
        ("available", {"target": "active", "configdrive": "{{{"}, 115, 400, "neither a JSON, nor a URL, nor"),
        ("available", {"target": "active", "configdrive": {"meta_data": {}}}, 55, 400, "API version 1.56"),
        ("available", {"target": "active", "configdrive": {"vendor_data": {}}}, 58, 400, "API version 1.59"),
        ("available", {"target": "active", "configdrive": {"x": 1}}, 115, 400, "'x' was unexpected"),
        ("available", {"target": "active", "deploy_steps": [STEPS]}, 68, 406, "1.69"),
        ("available", {"target": "active", "deploy_steps": [LOG_STEP]}, 115, 400, "'args' is a required property"),
        ("manageable", {"target": "provide", "deploy_steps": [STEPS]}, 115, 400, "active or rebuild"),
        ("manageable", {"target": "provide", "clean_steps": [LOG_STEP]}, 115, 400, '"clean_steps" is only valid'),
        ("manageable", {"target": "provide", "service_steps": [LOG_STEP]}, 115, 400, '"service_steps" is only valid'),
        ("manageable", {"target": "provide", "rescue_password": "x"}, 115, 400, '"rescue_password" is only valid'),
        ("manageable", {"target": "provide", "disable_ramdisk": True}, 115, 400, "only with manual cleaning"),
        ("manageable", {"target": "clean", "clean_steps": [LOG_STEP], "disable_ramdisk": True}, 69, 406, ""),
        ("active", {"target": "service", "service_steps": [LOG_STEP], "disable_ramdisk": True}, 107, 406, ""),
        ("manageable", {"target": "clean", "clean_steps": [LOG_STEP], "disable_ramdisk": "x"}, 115, 400, "Invalid"),
        ("manageable", {"target": "clean"}, 115, 400, '"clean_steps" is required'),
        ("manageable", {"target": "clean", "clean_steps": []}, 115, 400, '"clean_steps" is required'),
        ("manageable", {"target": "clean", "clean_steps": "x"}, 115, 400, "Invalid clean_steps"),
        ("manageable", {"target": "clean", "clean_steps": [{**LOG_STEP, "x": 1}]}, 115, 400, "'x' was unexpected"),
        ("manageable", {"target": "clean", "clean_steps": [{**LOG_STEP, "interface": "x"}]}, 115, 400, "not one of"),
        ("active", {"target": "service"}, 115, 400, '"service_steps" is required'),
        ("active", {"target": "rescue"}, 115, 400, 'A non-empty "rescue_password" is required'),
        ("active", {"target": "rescue", "rescue_password": " "}, 115, 400, 'A non-empty "rescue_password"'),
        ("manageable", {"target": "clean", "runbook": ""}, 115, 400, '"clean_steps" is required'),
        ("manageable", {"target": "clean", "runbook": "r"}, 91, 406, "1.92"),
        ("manageable", {"target": "provide", "runbook": "nosuch"}, 115, 404, "Runbook nosuch could not be found"),
        ("manageable", {"target": "clean", "runbook": "nosuch"}, 115, 404, "Runbook nosuch could not be found"),
    ]:
        with row(state, body, version, status, text):
            put_into(service, uuid, state)
            before = service.node(uuid)
            path = "/nodes/n1/states/provision"
            assert text in fault(service.baremetal("PUT", path, body, version=f"1.{version}", status=status))
            assert service.node(uuid) == before


def test_lists_of_no_steps_are_none(service: Service, uuid: str) -> None:
    put_into(service, uuid, "manageable")
    nothing = {"clean_steps": [], "deploy_steps": [], "service_steps": []}
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "inspect", "clean_steps": {}}, status=400)
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "inspect", **nothing}, status=202)


def test_deploy_is_active_without_steps(service: Service, uuid: str) -> None:
    put_into(service, uuid, "available")
    path = "/nodes/n1/states/provision"
    service.baremetal("PUT", path, {"target": "deploy", "deploy_steps": [STEPS]}, status=400)
    service.baremetal("PUT", path, {"target": "deploy", "deploy_steps": []}, status=202)
    service.work()
    assert service.node(uuid)["provision_state"] == "active"


def test_nodes_that_are_not_fit_for_it(service: Service, uuid: str, row: Rows) -> None:
    for state, verb, columns, status, text in [
        ("available", "active", {"maintenance": True}, 400, "in maintenance mode"),
        ("available", "deploy", {"maintenance": True}, 400, "in maintenance mode"),
        ("active", "rebuild", {"maintenance": True}, 400, "in maintenance mode"),
        ("active", "rebuild", {"protected": True}, 403, "is protected"),
        ("active", "deleted", {"protected": True}, 403, "is protected"),
        ("manageable", "provide", {"retired": True}, 400, "retired"),
        ("available", "active", {"reservation": "c1"}, 409, "locked by host c1"),
        ("available", "active", {"power_interface": "agent"}, 400, "Failed to validate deploy or power info"),
        ("available", "active", {"deploy_interface": "direct"}, 400, "image_source"),
        ("active", "rebuild", {"deploy_interface": "direct"}, 400, "image_source"),
        ("active", "deleted", {"power_interface": "agent"}, 400, "agent power interface"),
        ("manageable", "inspect", {"inspect_interface": "no-inspect"}, 400, "does not support inspect"),
        ("manageable", "provide", {"conductor_group": "nowhere"}, 404, "No valid host was found"),
    ]:
        with row(state, verb, columns, status, text):
            put_into(service, uuid, state, **columns)
            before = service.node(uuid)
            assert text in fault(ask(service, verb, status=status))
            assert service.node(uuid) == before


def test_traits_that_an_instance_needs(service: Service, uuid: str) -> None:
    """They must be on the node before it is deployed or rebuilt; missing ones are named."""
    put_into(service, uuid, "available", power_state="power off", instance_info={"traits": ["CUSTOM_B", "CUSTOM_A"]})
    service.baremetal("PUT", "/nodes/n1/traits", {"traits": ["CUSTOM_C", "CUSTOM_B"]})
    text = fault(ask(service, "active", status=400))
    assert text == (
        f"Failed to validate deploy or power info for node {uuid}: Cannot specify instance traits that are not also "
        f"set on the node. Node {uuid} is missing traits CUSTOM_A"
    )
    node = service.node(uuid)
    assert (node["provision_state"], node["last_error"], node["reservation"]) == ("available", None, None)
    assert offered(service)
    service.baremetal("PUT", "/nodes/n1/traits/CUSTOM_A")
    assert state_of(do(service, "active")) == ("active", None)
    service.baremetal("DELETE", "/nodes/n1/traits/CUSTOM_A")
    assert service.node(uuid)["provision_state"] == "active"
    ask(service, "rebuild", status=400)


def test_what_is_refused_in_maintenance(service: Service, uuid: str, row: Rows) -> None:
    for state, verb, more, operation in [
        ("manageable", "clean", {"clean_steps": [LOG_STEP]}, "cleaning"),
        ("active", "rescue", {"rescue_password": "secret"}, "rescuing"),
        ("rescue", "unrescue", {}, "unrescuing"),
        ("active", "service", {"service_steps": [LOG_STEP]}, "service"),
    ]:
        with row(state, verb, more, operation):
            put_into(service, uuid, state, maintenance=True)
            before = service.node(uuid)
            reason = f"The {operation} operation can't be performed on node {uuid} because it's in maintenance mode."
            assert fault(ask(service, verb, status=400, **more)) == reason
            assert service.node(uuid) == before
