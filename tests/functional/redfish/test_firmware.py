"""Updates of firmware by Redfish, on a controller of our own."""

from types import SimpleNamespace
from typing import Any

import pytest

from baremetal_sched.drivers.redfish import firmware
from tests.clocks import Clock
from tests.functional.redfish.steps import SETTINGS, clean, flash, manageable, switch_at_once, update
from tests.redfish_service import Controller, Fault, RedfishService
from tests.redfish_service.updates import Plan
from tests.restored import Rows
from tests.service import Service

SIMPLE_UPDATE = "POST /redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate"


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock of updates takes a quarter of a second."""
    clock = Clock()

    def look() -> float:
        clock.go_on(0.25)
        return clock.time()

    monkeypatch.setattr(firmware, "time", SimpleNamespace(time=look))


def versions(service: Service) -> dict[str, tuple[Any, ...]]:
    found = service.baremetal("GET", "/nodes/n1/firmware").json["firmware"]
    names = ("initial_version", "current_version", "last_version_flashed")
    return {each["component"]: tuple(each[name] for name in names) for each in found}


def requests(controller: Controller) -> list[str]:
    """The updates that were begun, and the reboots of the machine."""
    beginnings = {SIMPLE_UPDATE: "update", "SWITCH": "reboot"}
    said = (
        next((word for start, word in beginnings.items() if line.startswith(start)), "") for line in controller.journal
    )
    return [word for word in said if word]


def test_updates_one_after_the_other(service: Service, node: str, controller: Controller) -> None:
    """The machine is rebooted for the BIOS, after that of the controller as another follows, and for the adapter."""
    after = clean(service, update(flash("bmc"), flash("bios"), flash("nic:NIC1")))
    assert (after["provision_state"], after["last_error"]) == ("manageable", None)
    assert controller.updates.versions == {"bios": "2.0.0", "bmc": "2.0.0", "nic:NIC1": "2.0.0"}
    assert requests(controller) == ["update", "reboot"] * 3
    assert {name: found[1] for name, found in versions(service).items()} == controller.updates.versions
    assert service.steps_done(node) == ["firmware.update"]
    urls = [line.partition('"ImageURI": ')[2].split('"')[1] for line in controller.journal if SIMPLE_UPDATE in line]
    assert [url.rsplit("/", 1)[1] for url in urls] == ["bmc-2.0.0.bin", "bios-2.0.0.bin", "nic-2.0.0.bin"]


def test_a_controller_that_restarts_itself(service: Service, node: str, controller: Controller) -> None:
    controller.updates.plans = [Plan(restarts_for=0.2)]
    assert clean(service, update(flash("bmc")))["last_error"] is None
    assert (requests(controller), controller.updates.versions["bmc"]) == (["update"], "2.0.0")
    assert versions(service)["bmc"][1] == "2.0.0"


def test_updates_that_wait_for_a_reboot(service: Service, node: str, controller: Controller) -> None:
    controller.updates.plans = [Plan(needs_reboot=True), Plan(needs_reboot=True), Plan(stages_only=True, seconds=0)]
    assert clean(service, update(flash("bios"), flash("nic:NIC1"), flash("bios", "3.0.0")))["last_error"] is None
    assert requests(controller) == ["update", "reboot"] * 3
    assert (controller.updates.versions["bios"], controller.updates.versions["nic:NIC1"]) == ("3.0.0", "2.0.0")


@pytest.mark.parametrize("names_task", [True, False])
def test_tasks_that_are_forgotten(service: Service, node: str, controller: Controller, names_task: bool) -> None:
    controller.updates.names_task = names_task
    controller.updates.plans = [Plan(vanishes=True)]
    assert clean(service, update(flash("bios")))["last_error"] is None
    assert (requests(controller), controller.updates.versions["bios"]) == (["update", "reboot"], "2.0.0")


def test_an_update_that_fails_names_the_messages(service: Service, node: str, controller: Controller) -> None:
    """And ends the step: the others are not begun."""
    controller.updates.plans = [Plan(state="Exception", status="Critical", messages=["No space.", "token=abcdefgh12"])]
    failed = clean(service, update(flash("bmc"), flash("bios")))
    assert failed["provision_state"] == "clean failed"
    assert failed["last_error"].endswith(
        "Step firmware.update failed: The firmware of bmc was not updated: the task of the controller ended in the "
        "state Exception: No space.; token=******"
    )
    assert requests(controller) == ["update"]


def test_an_update_that_is_refused(service: Service, node: str, controller: Controller) -> None:
    controller.faults = [Fault(path="SimpleUpdate", method="POST", status=400)]
    assert (
        "refused the request (HTTP 400): The controller is out of order."
        in (clean(service, update(flash("bios")))["last_error"])
    )


def test_the_password_of_a_url_is_not_repeated(service: Service, node: str, controller: Controller, row: Rows) -> None:
    for status in [400, 503]:
        with row(status):
            url = "https://images:geheim-geheim@images.example.com/bios-2.0.0.bin"
            said = b'{"error": {"@Message.ExtendedInfo": [{"Message": "Cannot get %s."}]}}' % url.encode()
            controller.faults = [Fault(path="SimpleUpdate", method="POST", status=status, body=said)]
            error = clean(service, update({"component": "bios", "url": url}))["last_error"]
            assert "Cannot get https://images:" in error
            assert "geheim" not in error


def test_an_update_that_a_controller_cannot_begin(service: Service, node: str, controller: Controller) -> None:
    controller.faults = [Fault(path="SimpleUpdate", method="POST", status=503)]
    assert clean(service, update(flash("bios")))["last_error"].endswith(
        "bios was not updated: the controller does not begin it (HTTP 503): The controller is out of order."
    )
    assert controller.asked(SIMPLE_UPDATE) == 1


def test_a_controller_that_makes_no_sense_for_a_while(service: Service, node: str, controller: Controller) -> None:
    controller.updates.plans = [Plan(seconds=0.15)]
    controller.faults = [
        Fault(path="Tasks/1", method="GET", body=b"nonsense", times=2),
        Fault(path="Tasks/1", method="GET", status=400, times=2),
    ]
    assert clean(service, update(flash("bios")))["last_error"] is None
    assert controller.updates.versions["bios"] == "2.0.0"


def test_an_answer_that_is_lost(service: Service, node: str, controller: Controller) -> None:
    """The controller began the update, and its answer was lost: the new task shows that, and none is begun again."""
    controller.faults = [Fault(path="SimpleUpdate", method="POST", loses=True, times=1)]
    assert clean(service, update(flash("bios")))["last_error"] is None
    assert requests(controller) == ["update", "reboot"]


def test_an_answer_that_is_lost_by_a_controller_that_lists_no_tasks(
    service: Service, node: str, controller: Controller
) -> None:
    controller.updates.lists_tasks = False
    controller.faults = [Fault(path="SimpleUpdate", method="POST", loses=True, times=1)]
    assert "cannot be reached" in clean(service, update(flash("bios")))["last_error"]
    assert requests(controller) == ["update"]


def test_a_controller_that_wants_to_know_its_system(service: Service, node: str, controller: Controller) -> None:
    controller.updates.needs_targets = True
    assert clean(service, update(flash("bios")))["last_error"] is None
    assert '"Targets": ["/redfish/v1/Systems/1"]' in [line for line in controller.journal if SIMPLE_UPDATE in line][-1]


@pytest.mark.usefixtures("hurry")
def test_an_update_that_never_ends(
    database_url: str, running: RedfishService, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch_at_once(monkeypatch, controller)
    controller.updates.plans = [Plan(seconds=60)]
    redfish = {**SETTINGS["redfish"], "firmware_update_overall_timeout": 1}
    with Service(database_url, **{**SETTINGS, "redfish": redfish}) as service:
        service.add_conductor("c1")
        manageable(service, running)
        failed = clean(service, update(flash("bios")))
    assert failed["last_error"].endswith(
        "it has not ended after 1 seconds ([redfish] firmware_update_overall_timeout)."
    )


@pytest.mark.usefixtures("hurry")
def test_a_controller_that_is_not_usable_afterwards(service: Service, node: str, controller: Controller) -> None:
    controller.faults = [Fault(path="NetworkAdapters", status=500)]
    failed = clean(service, update(flash("bios")))
    assert (
        "the controller was not usable for 2 seconds afterwards. The machine cannot be reached"
        in (failed["last_error"])
    )
    assert failed["provision_state"] == "clean failed"


def test_arguments_of_wrong_types(service: Service, node: str, controller: Controller, row: Rows) -> None:
    for wrong, said in [
        ("text", "must be a list"),
        ([], "must be a list"),
        ([5], "An update must be an object"),
        ([{**flash("bios"), "checksum": "1"}], "An update must be an object"),
        ([{**flash("bios"), "component": "disk"}], "must be bios, bmc, or nic:"),
        ([{**flash("bios"), "component": ["bios"]}], "must be bios, bmc, or nic:"),
        ([{**flash("bios"), "url": "file:///etc/passwd"}], "http or https"),
        ([{**flash("bios"), "url": "http://[::1/a"}], "http or https"),
        ([flash("bios", wait=0)], "from 1 to 86400 seconds"),
        ([flash("bios", wait=True)], "from 1 to 86400 seconds"),
    ]:
        with row(wrong, said):
            failed = clean(service, {"interface": "firmware", "step": "update", "args": {"settings": wrong}})
            assert said in failed["last_error"]
            assert requests(controller) == []


_NOT_JSON, _WRONG_TYPES = b"{", b'{"TaskState": 5, "Members": [5, {"@odata.id": 5}], "Messages": 5, "Actions": [5]}'


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("Tasks/", _NOT_JSON),
        ("Tasks/", _WRONG_TYPES),
        ("UpdateService$", _WRONG_TYPES),
        ("Systems/1$", _NOT_JSON),
        ("Managers/BMC$", _WRONG_TYPES),
        ("NetworkAdapters", _NOT_JSON),
    ],
)
def test_nonsense(
    database_url: str,
    running: RedfishService,
    controller: Controller,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    body: bytes,
) -> None:
    """After any answer of a controller, the node is free in the end."""
    switch_at_once(monkeypatch, controller)
    quick = {"firmware_update_overall_timeout": 1, "firmware_update_resource_validation_timeout": 0.3}
    with Service(database_url, **{**SETTINGS, "redfish": {**SETTINGS["redfish"], **quick}}) as service:
        service.add_conductor("c1")
        manageable(service, running)
        controller.faults = [Fault(path=path, method="GET", body=body)]
        after = clean(service, update(flash("bmc", "1.0.0", wait=1)))
    assert after["reservation"] is None
    assert "Unexpected" not in (after["last_error"] or "")
