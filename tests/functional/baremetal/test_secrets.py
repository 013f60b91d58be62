# tier: first
"""No answer shows a password, a token or a key that is kept with a node, whatever document it is in."""

import json
from typing import Any

import pytest
from sqlalchemy import update

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.hardware import bios
from baremetal_sched.baremetal.inspection import inspection
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.models import Node
from baremetal_sched.drivers.fake.hardware import FakeVendor
from tests.restored import Rows
from tests.service import Service, fault

SECRET = "hunter2"
#: Places where secrets have been found.
DOCUMENT = {
    "ipmi_password": SECRET,
    "list": [{"auth_token": SECRET}, f"password={SECRET}"],
    "kernel_append_params": f"console=ttyS0 password={SECRET} nofb",
    "redfish_address": f"https://admin:{SECRET}@10.0.0.1/redfish",
    **dict.fromkeys(
        ("snmp_auth_key", "snmp_priv_key", "ipmi_hex_kg_key", "sslkey", "fernetkey", "configdrive"), SECRET
    ),
}
STEP = {"interface": "bios", "step": "apply_configuration", "args": {"settings": [DOCUMENT]}}


def test_documents_of_a_node(service: Service, row: Rows) -> None:
    for field in ["driver_info", "instance_info", "driver_internal_info", "clean_step", "deploy_step", "service_step"]:
        with row(field):
            uuid = service.add_node("n", power=False)
            service.set_columns(uuid, **{field: STEP["args"] if field.endswith("_step") else DOCUMENT})
            for path in ("/nodes/n", "/nodes/detail", f"/nodes?fields={field}", f"/nodes/n?fields={field}"):
                answer = service.baremetal("GET", path).text
                assert SECRET not in answer
                assert "******" in answer
                assert "console=ttyS0" in answer
            assert SECRET not in service.patch("n", ("add", "/extra/a", 1)).text


def test_what_is_masked_is_still_there(service: Service) -> None:
    uuid = service.add_node("n", power=False, driver_info=DOCUMENT)
    kept = service.database.read(lambda session: nodes.find(session, uuid).driver_info)
    assert kept == DOCUMENT


def test_properties_of_volume_targets(service: Service, row: Rows) -> None:
    for path in ["/volume/targets", "/volume/targets/{uuid}", "/volume/targets?detail=true"]:
        with row(path):
            body = {
                "node_uuid": service.add_node(power=False),
                "volume_type": "iscsi",
                "boot_index": 0,
                "volume_id": "v",
            }
            uuid = service.baremetal("POST", "/volume/targets", {**body, "properties": DOCUMENT}).json["uuid"]
            assert SECRET not in service.baremetal("GET", path.format(uuid=uuid)).text


def test_arguments_of_steps(service: Service, row: Rows) -> None:
    for plural in ["deploy_templates", "runbooks"]:
        with row(plural):
            step = {**STEP, "priority": 1} if plural == "deploy_templates" else {**STEP, "order": 1}
            made = service.baremetal("POST", f"/{plural}", {"name": "CUSTOM_A", "steps": [step]})
            for path in (f"/{plural}/CUSTOM_A", f"/{plural}?detail=true"):
                answer = service.baremetal("GET", path).text
                assert SECRET not in made.text + answer
                assert "apply_configuration" in answer


def test_the_inventory(service: Service) -> None:
    uuid = service.add_node("n", power=False)
    found = {"cpu": {"count": 4, "frequency": "2600.0"}, "deep": [DOCUMENT]}
    service.database.write(
        lambda session: inspection.store(session, nodes.find(session, uuid), found, {"plugin": DOCUMENT})
    )
    answer = service.baremetal("GET", "/nodes/n/inventory")
    assert SECRET not in answer.text
    assert answer.json["inventory"]["cpu"] == found["cpu"]


def test_settings_of_the_bios(service: Service) -> None:
    uuid = service.add_node("n", power=False)
    values = {"AdminPassword": SECRET, "SetupPassword": None, "BootMode": "Uefi"}
    service.database.write(lambda session: bios.keep_settings(session, nodes.find(session, uuid), values))
    listed = {entry["name"]: entry["value"] for entry in service.baremetal("GET", "/nodes/n/bios").json["bios"]}
    assert listed == {"AdminPassword": "******", "SetupPassword": None, "BootMode": "Uefi"}
    assert SECRET not in service.baremetal("GET", "/nodes/n/bios/AdminPassword").text


def test_history_and_last_error_are_masked_before_they_are_kept(service: Service) -> None:
    uuid = service.add_node("n", power=False)
    error = f"ipmitool failed: --password {SECRET} https://u:{SECRET}@h/"

    def fail(session: Any) -> None:
        node = nodes.find_for_change(session, uuid)
        node.last_error = error
        history.record(session, node, error, event_type="power", severity="ERROR")

    service.database.write(fail)
    answers = [service.baremetal("GET", f"/nodes/n{path}").text for path in ("", "/states", "/history?detail=true")]
    assert not [answer for answer in answers if SECRET in answer]
    assert all("ipmitool failed" in answer for answer in answers)
    service.database.write(lambda session: session.execute(update(Node).values(last_error=error)))
    assert SECRET not in service.baremetal("GET", "/nodes/n").text


def test_replies_of_vendors(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.add_node("n", power=False)
    monkeypatch.setattr(FakeVendor, "call", lambda *args: {"users": [DOCUMENT], "n": 1})
    answer = service.baremetal("POST", "/nodes/n/vendor_passthru/third_method_sync", {"bar": "meow"})
    assert SECRET not in answer.text
    assert answer.json["n"] == 1


def test_errors_do_not_repeat_a_password_that_was_sent(service: Service) -> None:
    body = {"driver": "fake-hardware", "driver_info": [{"ipmi_password": SECRET}]}
    answer = service.baremetal("POST", "/nodes", body, status=400)
    assert SECRET not in answer.text
    assert "driver_info" in fault(answer)


def test_a_document_without_secrets_is_passed_through(service: Service) -> None:
    """To the digit: numbers that neither Python nor orjson could hold."""
    plain = {"deploy_kernel": "http://images/debian-12/kernel", "list": ["a=b"], "big": 10**15, "n": 1.50}
    service.add_node("n", power=False, driver_info=plain, instance_info=plain)
    shown = service.baremetal("GET", "/nodes/n").json
    assert (shown["driver_info"], shown["instance_info"]) == (plain, plain)
    assert json.dumps(plain) in service.baremetal("GET", "/nodes/n").text.replace('":', '": ').replace(",", ", ")
