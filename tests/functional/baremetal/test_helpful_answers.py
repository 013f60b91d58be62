"""Refusals that say what would be right."""

from baremetal_sched.baremetal.state_machine import TABLE, VERBS, verbs_of
from baremetal_sched.suggestions import did_you_mean
from tests.functional.baremetal.provisioning import ask, enrol, put_into
from tests.restored import Rows
from tests.service import Service, fault


def test_406_names_the_microversion_that_is_needed(service: Service, row: Rows) -> None:
    for method, path, body, version, needed in [
        ("GET", "/nodes?fields=uuid", None, 1, 8),
        ("GET", "/nodes?fields=resource_class", None, 20, 21),
        ("GET", "/nodes?sort_key=resource_class", None, 20, 21),
        ("GET", "/nodes?provision_state=active", None, 8, 9),
        ("GET", "/nodes/n1/traits", None, 36, 37),
        ("POST", "/nodes", {"driver": "fake-hardware", "resource_class": "x", "shard": "s"}, 20, 82),
        ("PATCH", "/nodes/n1", [{"op": "add", "path": "/resource_class", "value": "x"}], 20, 21),
        ("PATCH", "/nodes/n1?reset_interfaces=true", [], 44, 45),
        ("PUT", "/nodes/n1/states/power", {"target": "soft power off"}, 26, 27),
        ("PUT", "/nodes/n1/states/raid", {}, 11, 12),
        ("PUT", "/nodes/n1/states/provision", {"target": "rescue"}, 37, 38),
        ("GET", "/drivers?fields=name", None, 76, 77),
        ("GET", "/drivers/fake-hardware/raid/logical_disk_properties", None, 11, 12),
        ("GET", "/ports?fields=physical_network", None, 33, 34),
    ]:
        with row(method, path, body, version, needed):
            enrol(service)
            answer = service.baremetal(method, path, body, version=f"1.{version}", status=406)
            assert fault(answer) == f"Request not acceptable. The minimal required API version should be 1.{needed}"


def test_a_verb_that_is_refused_is_answered_with_those_that_are_possible(service: Service) -> None:
    uuid = enrol(service)
    assert fault(ask(service, "bogus", status=400)).endswith('state "enroll". Possible now: manage.')
    put_into(service, uuid, "available")
    assert "Possible now: deploy, " in fault(ask(service, "provide", status=400))
    put_into(service, uuid, "active")
    assert "Possible now: deleted, rebuild, rescue, service." in fault(ask(service, "provide", status=400))
    put_into(service, uuid, "cleaning")
    assert fault(ask(service, "provide", status=400)).endswith("Nothing is possible until a conductor has finished.")


def test_possible_verbs_are_those_that_the_state_takes() -> None:
    """Each event once, by the name that is not an alias."""
    for state, events in TABLE.items():
        verbs = verbs_of(state)
        assert {VERBS[verb].event for verb in verbs} == {v.event for v in VERBS.values() if v.event in events}
        assert not {"deploy", "undeploy"} & set(verbs)


def test_what_was_probably_meant(service: Service, row: Rows) -> None:
    for path, hint in [
        ("/nodes?fields=resource_clas", "Did you mean 'resource_class'?"),
        ("/nodes?sort_key=provision_stat", "Did you mean 'provision_state'?"),
        ("/nodes?provision_state=availabel", "Did you mean 'available'?"),
        ("/ports?fields=adress", "Did you mean 'address'?"),
        ("/ports?sort_key=adress", "Did you mean 'address'?"),
    ]:
        with row(path, hint):
            assert fault(service.baremetal("GET", path, status=400)).endswith(hint)


def test_boot_devices_that_are_supported(service: Service) -> None:
    enrol(service)
    answer = service.baremetal("PUT", "/nodes/n1/management/boot_device", {"boot_device": "bogus"}, status=400)
    assert fault(answer) == "Invalid boot device bogus specified. Supported are: pxe."


def test_words_that_are_like_nothing() -> None:
    assert did_you_mean("xyz", ["resource_class"]) == ""
    assert did_you_mean("resource_class" * 10_000, ["resource_class"]) == ""
