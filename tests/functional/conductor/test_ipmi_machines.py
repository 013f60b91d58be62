"""Machines with IPMI controllers: ipmitool talks to a controller of pyghmi."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.drivers import power_waiting
from tests.emulators.ipmi_bmc import PASSWORD, IpmiBmc, ipmi_bmc
from tests.restored import Rows
from tests.service import Service, fault
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sqlite_only,
    pytest.mark.skipif(shutil.which("ipmitool") is None, reason="needs ipmitool: apt-get install ipmitool"),
]

TASK = next(task for task in PERIODIC_TASKS if task.name == "power")
RECOVERY = next(task for task in PERIODIC_TASKS if task.name == "power failures")
IPMI = {"command_retry_timeout": 1, "min_command_interval": 0}


@pytest.fixture(scope="module")
def controller() -> Iterator[IpmiBmc]:
    with ipmi_bmc() as running:
        yield running


@pytest.fixture
def bmc(controller: IpmiBmc) -> IpmiBmc:
    controller.power = "off"
    controller.let_switching_take(0)
    (controller.folder / "boot").write_text("0000000000")
    (controller.folder / "journal").write_text("")
    return controller


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power_waiting, "PACE", power_waiting.Pace(first=0.05, longest=0.2, settle=1))


@pytest.fixture
def fleet(database_url: str) -> Iterator[Service]:
    with make_fleet(database_url) as service:
        yield service


def make_fleet(database_url: str, **conductor: Any) -> Service:
    service = Service(
        database_url,
        DEFAULT={"enabled_hardware_types": ["ipmi"]},
        ipmi=IPMI,
        conductor={
            "power_state_change_timeout": 2,
            "soft_power_off_timeout": 2,
            "sync_power_state_interval": 0.01,
            **conductor,
        },
    )
    service.add_conductor("c1")
    return service


def enroll(service: Service, driver_info: dict[str, Any], **fields: Any) -> str:
    body = {"driver": "ipmi", "driver_info": driver_info, "deploy_interface": "ramdisk", "resource_class": "gold"}
    uuid: str = service.baremetal("POST", "/nodes", {**body, **fields}).json["uuid"]
    return uuid


def provision(service: Service, uuid: str, target: str, **more: Any) -> dict[str, Any]:
    service.baremetal("PUT", f"/nodes/{uuid}/states/provision", {"target": target, **more})
    service.work()
    return service.node(uuid)


def manage(service: Service, uuid: str) -> dict[str, Any]:
    return provision(service, uuid, "manage")


def switch(service: Service, uuid: str, target: str, **more: Any) -> dict[str, Any]:
    service.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": target, **more})
    service.work()
    return service.node(uuid)


def do(service: Service, task: Any) -> None:
    """Run a periodic task; addresses that were silent are not left alone."""
    service.conductors["c1"]._host.back_off.note_answer(["127.0.0.1"])
    service.conductors["c1"].run_periodic_task(task)
    service.work()


def test_from_enrolment_to_an_offer_and_back(fleet: Service, bmc: IpmiBmc) -> None:
    uuid = enroll(fleet, bmc.driver_info(), automated_clean=False)
    node = manage(fleet, uuid)
    assert (node["provision_state"], node["power_state"], node["last_error"]) == ("manageable", "power off", None)
    provision(fleet, uuid, "provide")
    assert fleet.node(uuid)["provision_state"] == "available"
    assert switch(fleet, uuid, "power on")["power_state"] == "power on"
    assert bmc.power == "on"
    assert fleet.candidates("resources=CUSTOM_GOLD:1") == {uuid}

    bmc.power = "off"
    do(fleet, TASK)
    assert bmc.power == "on"  # switched back
    do(fleet, TASK)
    node = fleet.node(uuid)
    assert (node["power_state"], node["maintenance"], node["last_error"]) == ("power on", False, None)


def test_a_machine_that_boots_over_the_network_gets_an_instance_and_is_emptied(fleet: Service, bmc: IpmiBmc) -> None:
    uuid = enroll(fleet, bmc.driver_info(ipmi_disable_boot_timeout=False), automated_clean=False)
    manage(fleet, uuid)
    provision(fleet, uuid, "provide")
    node = provision(fleet, uuid, "active")
    assert (node["provision_state"], node["power_state"], node["last_error"]) == ("active", "power on", None)
    assert bmc.journal == ["boot option 5: e004000000", "on"]
    node = provision(fleet, uuid, "deleted")
    assert (node["provision_state"], node["power_state"], bmc.power) == ("available", "power off", "off")


def test_a_silent_controller_fails_a_deployment(fleet: Service, bmc: IpmiBmc) -> None:
    uuid = enroll(fleet, bmc.driver_info(), automated_clean=False)
    manage(fleet, uuid)
    provision(fleet, uuid, "provide")
    with bmc.silent():
        node = provision(fleet, uuid, "active")
    assert (node["provision_state"], node["reservation"]) == ("deploy failed", None)
    assert "cannot be reached at 127.0.0.1" in node["last_error"]
    assert "Get Auth Capabilities" in node["last_error"] or "did not end in time" in node["last_error"]


def test_or_the_node_says_what_the_machine_does(database_url: str, bmc: IpmiBmc) -> None:
    with make_fleet(database_url, force_power_state_during_sync=False) as service:
        uuid = enroll(service, bmc.driver_info())
        manage(service, uuid)
        switch(service, uuid, "power on")
        bmc.power = "off"
        do(service, TASK)
        node = service.node(uuid)
        assert (node["power_state"], bmc.power) == ("power off", "off")
        history = service.baremetal("GET", f"/nodes/{uuid}/history").json["history"]
        assert "The machine is in state 'power off', not in 'power on'" in str(
            [service.baremetal("GET", f"/nodes/{uuid}/history/{each['uuid']}").json["event"] for each in history]
        )


def test_all_that_power_can_be_brought_to(fleet: Service, bmc: IpmiBmc) -> None:
    uuid = enroll(fleet, bmc.driver_info())
    manage(fleet, uuid)
    bmc.let_switching_take(0.1)
    for target, state, asked in (
        ("rebooting", "power on", ["on"]),
        ("rebooting", "power on", ["off", "on"]),
        ("soft rebooting", "power on", ["soft", "on"]),
        ("soft power off", "power off", ["soft"]),
        ("soft power off", "power off", []),
        ("power on", "power on", ["on"]),
        ("power off", "power off", ["off"]),
    ):
        (bmc.folder / "journal").write_text("")
        node = switch(fleet, uuid, target)
        assert (node["power_state"], node["target_power_state"], node["last_error"]) == (state, None, None)
        assert bmc.journal == asked
        assert f"power {bmc.power}" == state
    fleet.patch(uuid, ("add", "/disable_power_off", True))
    switch(fleet, uuid, "power on")
    assert switch(fleet, uuid, "rebooting")["last_error"] is None
    assert bmc.journal[-2:] == ["on", "reset"]
    assert "needs the power to go off, which the node forbids" in switch(fleet, uuid, "soft rebooting")["last_error"]


def test_a_machine_that_does_not_obey(fleet: Service, bmc: IpmiBmc) -> None:
    uuid = enroll(fleet, bmc.driver_info())
    manage(fleet, uuid)
    bmc.let_switching_take(-1)
    node = switch(fleet, uuid, "power on", timeout=1)
    assert node["power_state"] == "power off"
    assert node["last_error"] == (
        "Failed to change power state to 'power on' by 'power on': The machine is in power state 'power off', not in "
        "'power on', 1 seconds after its controller was asked for 'power on'."
    )


def test_a_controller_that_lets_nobody_in(fleet: Service, bmc: IpmiBmc, row: Rows) -> None:
    for told, said in [
        ({"ipmi_password": "wrong-ipmi-1"}, "the controller refuses ipmi_username, ipmi_password or ipmi_priv_level"),
        ({"ipmi_address": "nowhere.invalid"}, "The machine cannot be reached at nowhere.invalid"),
        ({"ipmi_address": None}, "Failed to validate power driver interface"),
        ({"ipmi_cipher_suite": 17}, "is not what we requested"),
    ]:
        with row(told, said):
            uuid = enroll(fleet, bmc.driver_info(**told))
            node = manage(fleet, uuid)
            assert node["provision_state"] == "enroll"
            assert said in node["last_error"]
            assert PASSWORD not in str(node)


def test_a_controller_that_is_silent_and_then_answers_again(fleet: Service, bmc: IpmiBmc) -> None:
    uuid = enroll(fleet, bmc.driver_info(), automated_clean=False)
    manage(fleet, uuid)
    provision(fleet, uuid, "provide")
    switch(fleet, uuid, "power on")
    with bmc.silent():
        assert "cannot be reached at 127.0.0.1" in switch(fleet, uuid, "rebooting")["last_error"]
        for _ in range(12):
            if not fleet.node(uuid)["maintenance"]:
                do(fleet, TASK)
        node = fleet.node(uuid)
        assert (node["maintenance"], node["fault"]) == (True, "power failure")
        assert "max retries exceeded" in node["maintenance_reason"]
        assert fleet.candidates("resources=CUSTOM_GOLD:1") == set()
    wait_until(lambda: (do(fleet, RECOVERY), not fleet.node(uuid)["maintenance"])[1], "the recovery")
    node = fleet.node(uuid)
    assert (node["maintenance"], node["fault"], node["power_state"]) == (False, None, "power on")
    assert fleet.candidates("resources=CUSTOM_GOLD:1") == {uuid}


def test_boot_devices(fleet: Service, bmc: IpmiBmc) -> None:
    uuid = enroll(fleet, bmc.driver_info())
    path = f"/nodes/{uuid}/management/boot_device"
    supported = fleet.baremetal("GET", f"{path}/supported").json
    assert supported == {"supported_boot_devices": ["pxe", "disk", "safe", "cdrom", "bios"]}
    assert fleet.baremetal("GET", path).json == {"boot_device": None, "persistent": False}
    for device, persistent, flags in (("pxe", True, "e004"), ("cdrom", False, "a014"), ("disk", False, "a008")):
        fleet.baremetal("PUT", path, {"boot_device": device, "persistent": persistent})
        assert fleet.baremetal("GET", path).json == {"boot_device": device, "persistent": persistent}
        assert bmc.boot == f"{flags}000000"
    fleet.patch(
        uuid, ("add", "/properties/capabilities", "boot_mode:bios"), ("add", "/properties/vendor", "Supermicro")
    )
    fleet.baremetal("PUT", path, {"boot_device": "disk", "persistent": True})
    assert bmc.boot == "c008000000"
    fleet.patch(uuid, ("add", "/properties/capabilities", "boot_mode:uefi"))
    fleet.baremetal("PUT", path, {"boot_device": "disk", "persistent": True})
    assert bmc.boot == "e024000000"
    assert fleet.baremetal("GET", path).json == {"boot_device": "disk", "persistent": True}
    assert "Invalid boot device floppy" in fault(fleet.baremetal("PUT", path, {"boot_device": "floppy"}, status=400))
    assert "boot option 3: 08" in bmc.journal
    (bmc.folder / "journal").write_text("")
    fleet.patch(uuid, ("add", "/driver_info/ipmi_disable_boot_timeout", False))
    fleet.baremetal("PUT", path, {"boot_device": "pxe"})
    assert bmc.journal == ["boot option 5: a004000000"]


def test_a_controller_that_forgets_is_told_before_each_boot(fleet: Service, bmc: IpmiBmc) -> None:
    uuid = enroll(fleet, bmc.driver_info(ipmi_force_boot_device=True, ipmi_disable_boot_timeout=False))
    manage(fleet, uuid)
    path = f"/nodes/{uuid}/management/boot_device"
    fleet.baremetal("PUT", path, {"boot_device": "disk", "persistent": True})
    assert fleet.baremetal("GET", path).json == {"boot_device": "disk", "persistent": True}
    for _ in range(2):
        (bmc.folder / "journal").write_text("")
        switch(fleet, uuid, "power on")
        switch(fleet, uuid, "rebooting")
        switch(fleet, uuid, "power off")
        disk = "boot option 5: a008000000"
        assert bmc.journal == [disk, "on", "off", disk, "on", "off"]
    fleet.baremetal("PUT", path, {"boot_device": "pxe", "persistent": False})
    (bmc.folder / "journal").write_text("")
    switch(fleet, uuid, "power on")
    switch(fleet, uuid, "rebooting")
    assert bmc.journal == ["on", "off", disk, "on"]


def test_interrupts_and_methods_of_the_vendor(fleet: Service, bmc: IpmiBmc) -> None:
    uuid = enroll(fleet, bmc.driver_info())
    manage(fleet, uuid)
    fleet.baremetal("PUT", f"/nodes/{uuid}/management/inject_nmi", {}, status=204)
    methods = fleet.baremetal("GET", f"/nodes/{uuid}/vendor_passthru/methods").json
    assert set(methods) == {"send_raw", "bmc_reset"}
    for method, body in (
        ("send_raw", {"raw_bytes": "0x30 0 7"}),
        ("bmc_reset", {}),
        ("bmc_reset", {"warm": "false"}),
        ("send_raw", {"raw_bytes": "0x30 0xc1"}),
    ):
        fleet.baremetal("POST", f"/nodes/{uuid}/vendor_passthru/{method}", body, status=202)
        fleet.work()
    assert bmc.journal == ["diag", "raw 0: 07", "warm reset", "cold reset", "raw 193: "]
    assert "refuses a command: Unable to send RAW command" in fleet.node(uuid)["last_error"]
    for method, body in (
        ("send_raw", {}),
        ("send_raw", {"raw_bytes": "0x30"}),
        ("send_raw", {"raw_bytes": "0x30 -f"}),
        ("send_raw", {"raw_bytes": "0x30 256"}),
        ("send_raw", {"raw_bytes": ["0x30", "1"]}),
        ("send_raw", {"raw_bytes": "1 " * 1000}),
        ("bmc_reset", {"warm": "lukewarm"}),
        ("bmc_reset", {"cold": True}),
    ):
        fleet.baremetal("POST", f"/nodes/{uuid}/vendor_passthru/{method}", body, status=400)
    steps = [{"interface": "vendor", "step": "send_raw", "args": {"raw_bytes": "0x30 0 9"}}]
    node = provision(fleet, uuid, "clean", clean_steps=steps, disable_ramdisk=True)
    assert (node["provision_state"], bmc.journal[-1]) == ("manageable", "raw 0: 09")


def test_what_a_driver_wants_to_know_and_validation(fleet: Service, bmc: IpmiBmc, tmp_path: Path) -> None:
    known = fleet.baremetal("GET", "/drivers/ipmi/properties").json
    assert {"ipmi_address", "ipmi_username", "ipmi_password", "ipmi_hex_kg_key", "ipmi_bridging"} <= set(known)
    uuid = enroll(fleet, {"ipmi_address": "10.0.0.1", "ipmi_port": 70000})
    report = fleet.baremetal("GET", f"/nodes/{uuid}/validate").json
    for interface in ("power", "management"):
        assert report[interface] == {
            "result": False,
            "reason": "driver_info/ipmi_port must be a number from 1 to 65535.",
        }


def test_without_ipmitool_the_conductor_starts_and_validation_says_what_to_do(
    fleet: Service, bmc: IpmiBmc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    fleet.add_conductor("c1")
    uuid = enroll(fleet, bmc.driver_info())
    assert "ipmitool is not installed" in fleet.baremetal("GET", f"/nodes/{uuid}/validate").json["power"]["reason"]
    assert "Install it there" in manage(fleet, uuid)["last_error"]
