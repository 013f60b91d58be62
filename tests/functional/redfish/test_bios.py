"""BIOS settings by Redfish, on a controller of our own."""

from typing import Any

import pytest

from tests.functional.redfish.steps import SETTINGS, apply, begin, clean, manageable, switch_at_once
from tests.redfish_service import Controller, Fault, RedfishService
from tests.restored import Rows
from tests.service import Service

RESET = {"interface": "bios", "step": "factory_reset"}
PATCH = "PATCH /redfish/v1/Systems/1/Bios/Settings"


def settings(service: Service) -> dict[str, Any]:
    found = service.baremetal("GET", "/nodes/n1/bios?detail=True").json["bios"]
    return {each["name"]: each for each in found}


def values(service: Service) -> dict[str, Any]:
    return {name: each["value"] for name, each in settings(service).items()}


def test_settings_are_applied_by_a_reboot(service: Service, node: str, controller: Controller) -> None:
    after = clean(service, apply(BootMode="Bios", NumaGroup="6", QuietBoot="false"))
    assert (after["provision_state"], after["last_error"]) == ("manageable", None)
    assert controller.bios.attributes == {
        "BootMode": "Bios",
        "NumaGroup": 6,
        "ProcTurboMode": "Enabled",
        "QuietBoot": False,
    }
    assert values(service) == {"BootMode": "Bios", "NumaGroup": "6", "ProcTurboMode": "Enabled", "QuietBoot": "False"}
    assert (controller.asked(PATCH), controller.asked("SWITCH rebooting")) == (1, 1)
    assert '"ApplyTime": "OnReset"' in next(line for line in controller.journal if line.startswith(PATCH))
    assert (after["power_state"], service.steps_done(node)) == ("power on", ["bios.apply_configuration"])


def test_what_a_registry_says_of_settings_is_kept(service: Service, node: str) -> None:
    clean(service, apply(NumaGroup=2))
    found = settings(service)
    assert found["BootMode"]["attribute_type"] == "Enumeration"
    assert found["BootMode"]["allowable_values"] == ["Uefi", "Bios"]
    assert (found["BootMode"]["read_only"], found["BootMode"]["reset_required"]) == (False, True)
    assert (found["NumaGroup"]["lower_bound"], found["NumaGroup"]["upper_bound"]) == (1, 8)
    assert found["ProcTurboMode"]["unique"] is False
    assert found["QuietBoot"]["allowable_values"] is None


def test_nothing_is_done_if_all_is_as_wanted(service: Service, node: str, controller: Controller) -> None:
    assert clean(service, apply(BootMode="Uefi"))["last_error"] is None
    assert (controller.asked(PATCH), controller.asked("SWITCH")) == (0, 0)
    controller.bios.pending = {"BootMode": "Bios"}
    assert clean(service, apply(BootMode="Uefi"))["last_error"] is None
    assert (controller.asked(PATCH), controller.bios.attributes["BootMode"]) == (1, "Uefi")


def test_changes_that_are_applied_at_once_need_no_reboot(service: Service, node: str, controller: Controller) -> None:
    controller.bios.apply_times = ["Immediate"]
    assert clean(service, apply(NumaGroup=3))["last_error"] is None
    assert (controller.bios.attributes["NumaGroup"], controller.asked("SWITCH")) == (3, 0)


def test_a_controller_that_lists_all_settings(service: Service, node: str, controller: Controller) -> None:
    controller.bios.pending_shows_all, controller.bios.apply_times = True, None
    assert clean(service, apply(**{**controller.bios.attributes, "NumaGroup": 5}))["last_error"] is None
    assert "@Redfish.SettingsApplyTime" not in next(line for line in controller.journal if line.startswith(PATCH))


def test_all_settings_are_reset(service: Service, node: str, controller: Controller) -> None:
    controller.bios.attributes["NumaGroup"] = 7
    assert clean(service, RESET)["last_error"] is None
    assert values(service)["NumaGroup"] == "4"
    assert controller.asked("POST /redfish/v1/Systems/1/Bios/Actions/Bios.ResetBios") == 1


def test_settings_that_the_bios_refuses(service: Service, node: str, controller: Controller) -> None:
    controller.bios.refuses = "Turbo needs another CPU; password=hunter2hunter2."
    failed = clean(service, apply(ProcTurboMode="Disabled"))
    assert failed["provision_state"] == "clean failed"
    assert "bios.apply_configuration failed: The BIOS settings were not applied: Turbo needs" in failed["last_error"]
    assert "hunter2" not in failed["last_error"]


def test_passwords_of_the_bios_are_not_repeated(service: Service, node: str, controller: Controller) -> None:
    """Whether the controller refuses them at once, or the BIOS as it boots."""
    controller.bios.attributes["AdminPassword"] = None
    said = b'{"error": {"@Message.ExtendedInfo": [{"Message": "hunter2hunter2 is too short for AdminPassword."}]}}'
    controller.faults = [Fault(path="Bios/Settings", method="PATCH", status=400, body=said, times=1)]
    refused = clean(service, apply(AdminPassword="hunter2hunter2"))["last_error"]
    assert refused.endswith("The controller refuses the settings (HTTP 400): ****** is too short for AdminPassword.")
    service.baremetal("DELETE", "/nodes/n1/maintenance")
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "manage"}, status=202)
    service.work()
    controller.bios.refuses = "The BIOS does not like hunter2hunter2."
    refused = clean(service, apply(AdminPassword="hunter2hunter2"))["last_error"]
    assert refused.endswith("The BIOS settings were not applied: The BIOS does not like ******.")


def test_a_bios_that_shows_text_for_what_it_calls_truth_values(
    service: Service, node: str, controller: Controller
) -> None:
    """It is sent text, and what it shows afterwards is what was wanted."""
    controller.bios.attributes["QuietBoot"] = "true"
    assert clean(service, apply(QuietBoot="false"))["last_error"] is None
    assert controller.bios.attributes["QuietBoot"] == "false"
    assert clean(service, apply(QuietBoot=True))["last_error"] is None
    assert controller.bios.attributes["QuietBoot"] == "true"


def test_settings_that_are_never_applied(
    database_url: str, running: RedfishService, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch_at_once(monkeypatch, controller)
    controller.bios.ignores = True
    with Service(database_url, **SETTINGS, conductor={"clean_callback_timeout": 0.2}) as service:
        service.add_conductor("c1")
        manageable(service, running)
        failed = clean(service, apply(BootMode="Bios", NumaGroup=2))
    assert failed["provision_state"] == "clean failed"
    assert failed["last_error"].endswith(
        "The BIOS settings have not been applied 0.2 seconds after the reboot ([conductor] clean_callback_timeout). "
        "Attributes BootMode, NumaGroup are not updated."
    )


def test_settings_that_cannot_be(service: Service, node: str, controller: Controller, row: Rows) -> None:
    for wanted, said in [
        ({"Unknown": "1"}, "Unknown (the BIOS has no such setting)"),
        ({"BootMode": "Other"}, "BootMode (it must be one of Uefi, Bios)"),
        ({"NumaGroup": "many"}, "NumaGroup (it must be a whole number)"),
        ({"NumaGroup": 9}, "NumaGroup (it must be from 1 to 8)"),
        ({"QuietBoot": "maybe"}, "QuietBoot (it must be true or false)"),
    ]:
        with row(wanted, said):
            failed = clean(service, apply(**wanted))
            assert failed["provision_state"] == "clean failed"
            assert f"BIOS settings that cannot be set: {said}." in failed["last_error"]
            assert (controller.asked(PATCH), controller.asked("SWITCH")) == (0, 0)


def test_arguments_of_wrong_types(service: Service, node: str, row: Rows) -> None:
    for wrong in ["text", 5, [], [{}], [{"name": "a"}], [{"name": "a", "value": {"b": 1}}], [[]]]:
        with row(wrong):
            failed = clean(service, {"interface": "bios", "step": "apply_configuration", "args": {"settings": wrong}})
            assert "settings must" in failed["last_error"]


def test_a_controller_without_a_registry(service: Service, node: str, controller: Controller) -> None:
    controller.bios.has_registry = False
    assert clean(service, apply(NumaGroup="2", QuietBoot="False", BootMode="Any"))["last_error"] is None
    assert (controller.bios.attributes["NumaGroup"], controller.bios.attributes["QuietBoot"]) == (2, False)


def test_a_controller_that_is_away_while_it_reboots(service: Service, node: str, controller: Controller) -> None:
    begin(service, apply(NumaGroup=2))
    while not controller.asked("SWITCH"):
        for doing in service.conductors["c1"].work_once():
            doing.result()
    controller.faults = [Fault(drops=True, times=5)]
    while service.node("n1")["reservation"] is not None:
        service.work()
    assert (service.node("n1")["last_error"], values(service)["NumaGroup"]) == (None, "2")


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{",
        b'{"Attributes": [1, 2]}',
        b'{"Attributes": {"a": {"b": []}, "A": 1, "": 2, "\\u0000": 3, "b c": 4, "d": "\\u0000"}, '
        b'"@Redfish.Settings": {"SettingsObject": {"@odata.id": "http://192.0.2.1/steal"}, "Messages": 5, "Time": {}}}',
        b"[" * 5000 + b"]" * 5000,
    ],
)
def test_nonsense(service: Service, node: str, controller: Controller, body: bytes) -> None:
    controller.faults = [Fault(path="/Bios$", method="GET", body=body)]
    failed = clean(service, apply(NumaGroup=2))
    assert (failed["provision_state"], failed["reservation"]) == ("clean failed", None)
    assert "Unexpected" not in failed["last_error"]
    assert controller.asked(PATCH) == 0


def test_a_machine_without_a_bios_that_can_be_set(service: Service, node: str, controller: Controller) -> None:
    controller.system["Bios"] = None
    said = clean(service, apply(NumaGroup=2))["last_error"]
    # Of the controller, as the driver does support it.
    assert "The management controller at " in said
    assert " does not support bios: it offers no BIOS settings of this machine." in said
    assert "Leave out steps of the interface bios" in said
    assert "disabled or not implemented" not in said
