"""The deploy interface "ramdisk" on machines that exist in the database only: what it asks of boot and power."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from baremetal_sched.drivers.fake.hardware import FakePower
from baremetal_sched.drivers.fake.provisioning import FakeBoot
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine
from tests.functional.baremetal.provisioning import ask, do, state_of
from tests.functional.compute.test_servers import add_flavor, add_image, boot, show
from tests.functional.conductor.test_orphans import ORPHANS, die
from tests.leaks import WATCH
from tests.restored import Rows
from tests.service import Service, fault

ISO = "http://images.example.com/rescue.iso"
SETTINGS: dict[str, Any] = {
    "enabled_deploy_interfaces": ["fake", "direct", "ramdisk"],
    "enabled_boot_interfaces": ["fake", "ipxe"],
}


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, DEFAULT=SETTINGS) as service:
        service.add_conductor("c1")
        yield service


@pytest.fixture
def node(service: Service) -> str:
    """An available node, whose instance is to run from memory."""
    uuid = service.add_node("n1", deploy_interface="ramdisk", automated_clean=False)
    service.patch("n1", ("add", "/instance_info/boot_iso", ISO))
    return uuid


@pytest.fixture
def journal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of boot and power interface, in order."""
    calls: list[str] = []

    def noting(name: str) -> Callable[..., None]:
        return lambda self, machine: calls.append(name)

    for name in ("prepare_instance", "clean_up_instance", "prepare_ramdisk"):
        monkeypatch.setattr(FakeBoot, name, noting(name))
    switch = FakePower.set_power_state

    def set_power_state(self: FakePower, machine: Machine, target: str, timeout: int | None = None) -> str:
        calls.append(target)
        return switch(self, machine, target, timeout)

    monkeypatch.setattr(FakePower, "set_power_state", set_power_state)
    return calls


def test_an_instance_is_booted_rebuilt_and_taken_away(service: Service, node: str, journal: list[str]) -> None:
    shown = do(service, "active")
    assert (state_of(shown), shown["power_state"]) == (("active", None), "power on")
    assert journal == ["power off", "prepare_instance", "rebooting"]
    assert service.steps_done(node) == ["deploy.deploy"]

    journal.clear()
    shown = do(service, "rebuild")
    assert (state_of(shown), journal) == (("active", None), ["power off", "prepare_instance", "rebooting"])

    journal.clear()
    shown = do(service, "deleted")
    assert (state_of(shown), shown["power_state"]) == (("available", None), "power off")
    assert (journal, shown["instance_info"]) == (["power off", "clean_up_instance"], {})


def test_power_that_must_stay_on(service: Service, node: str, journal: list[str]) -> None:
    service.patch(node, ("add", "/disable_power_off", True))
    assert state_of(do(service, "active")) == ("active", None)
    assert journal == ["prepare_instance", "rebooting"]
    journal.clear()
    assert state_of(do(service, "deleted")) == ("available", None)
    assert journal == ["clean_up_instance", "rebooting"]


def test_what_cannot_be_booted_is_refused(service: Service, node: str, row: Rows) -> None:
    for info, text in [
        ({}, "instance_info/boot_iso is missing: the URL (http or https) of the ISO image"),
        ({"kernel": ISO, "ramdisk": ISO}, "Of kernel and ramdisk no ISO is built here"),
        ({"boot_iso": 7}, "instance_info/boot_iso must be a URL of up to 2048 characters"),
        ({"boot_iso": ["a"]}, "instance_info/boot_iso must be a URL"),
        ({"boot_iso": f"http://h/{'a' * 2048}"}, "instance_info/boot_iso must be a URL of up to 2048 characters"),
        ({"boot_iso": "http://h/a\nb"}, "instance_info/boot_iso must be a URL of"),
        ({"boot_iso": "http://[h/a"}, "instance_info/boot_iso is not a URL"),
        ({"boot_iso": "http://h:x/a"}, "instance_info/boot_iso is not a URL"),
        ({"boot_iso": "file:///etc/passwd"}, "with one of these schemes: http, https"),
        ({"boot_iso": "/a.iso"}, "with one of these schemes: http, https"),
        ({"boot_iso": "http:///a.iso"}, "with one of these schemes: http, https"),
        ({"boot_iso": ISO, "image_source": ISO}, "an image_source and a boot_iso. Remove one of them"),
    ]:
        with row(info, text):
            service.patch(node, ("replace", "/instance_info", info))
            assert text in fault(ask(service, "active", status=400))
            report = service.baremetal("GET", f"/nodes/{node}/validate").json
            assert report["deploy"]["result"] is False
            assert text in report["deploy"]["reason"]
            assert state_of(service.node(node)) == ("available", None)


def test_a_boot_server_decides_what_is_booted(service: Service, node: str) -> None:
    service.patch(node, ("add", "/boot_interface", "ipxe"))
    assert "The boot interface 'ipxe' cannot boot instance_info/boot_iso" in fault(ask(service, "active", status=400))
    service.patch(node, ("remove", "/instance_info/boot_iso"))
    assert state_of(do(service, "active")) == ("active", None)


def test_a_boot_interface_of_others_says_that_it_cannot(
    service: Service, node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(FakeBoot, "validate_ramdisk_instance")
    refused = fault(ask(service, "active", status=400))
    assert "The boot interface 'fake' cannot boot an instance that runs from memory." in refused


def test_what_boot_does_to_the_node_is_written(service: Service, node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeBoot, "prepare_instance", lambda self, machine: Effect(internal={"device": "cdrom"}))
    monkeypatch.setattr(FakeBoot, "clean_up_instance", lambda self, machine: Effect(internal={"device": None}))
    assert do(service, "active")["driver_internal_info"]["device"] == "cdrom"
    assert do(service, "deleted")["driver_internal_info"]["device"] is None


def test_an_image_that_cannot_be_had(service: Service, node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise InvalidValue(message="no such image")

    monkeypatch.setattr(FakeBoot, "prepare_instance", refuse)
    shown = do(service, "active")
    assert state_of(shown) == ("deploy failed", "active")
    assert "Step deploy.deploy failed: no such image" in shown["last_error"]
    assert (shown["reservation"], shown["power_state"]) == (None, "power off")
    assert state_of(do(service, "deleted")) == ("available", None)


@pytest.mark.parametrize("stage", ["prepare_instance", "set_power_state"])
def test_a_conductor_dies_at_it_and_the_next_one_finishes(
    service: Service, node: str, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """Whether or not it had prepared the boot."""

    class Died(BaseException):
        """Nothing of the conductor is left to write anything down."""

    interface = FakeBoot if stage == "prepare_instance" else FakePower
    original, calls = getattr(interface, stage), list[str]()

    def dying(self: Any, machine: Machine, *arguments: Any) -> Any:
        calls.append(stage)
        if len(calls) == (1 if stage == "prepare_instance" else 2):
            raise Died
        return original(self, machine, *arguments)

    monkeypatch.setattr(interface, stage, dying)
    ask(service, "active")
    with pytest.raises(Died):
        service.work()
    assert service.node(node)["reservation"] == "c1"
    die(service, "c1")
    del service.conductors["c1"]
    service.add_conductor("c2").run_periodic_task(ORPHANS)
    service.work()
    shown = service.node(node)
    assert (state_of(shown), shown["reservation"], shown["power_state"]) == (("active", None), None, "power on")


def test_a_password_in_the_url_is_not_shown(service: Service, node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: FakeBoot, machine: Machine) -> None:
        url = machine.instance_info["boot_iso"]
        raise InvalidValue(message=f"cannot fetch {url}")

    monkeypatch.setattr(FakeBoot, "prepare_instance", refuse)
    WATCH.told({"image": {"password": "Img-Passw0rd"}})
    service.patch(node, ("add", "/instance_info/boot_iso", ISO.replace("//", "//ann:Img-Passw0rd@")))
    shown = do(service, "active")
    assert shown["provision_state"] == "deploy failed"
    assert shown["instance_info"]["boot_iso"] == ISO.replace("//", "//ann:******@")
    assert "cannot fetch http://ann:******@images" in shown["last_error"]


def test_a_server_that_runs_from_memory(service: Service, node: str) -> None:
    service.patch(node, ("replace", "/instance_info", {}))
    flavor = add_flavor(service)
    written, booted = add_image(service), add_image(service, "rescue", boot_iso=ISO)
    refused = boot(service, flavor, written).json["server"]["id"]
    service.work()
    assert show(service, refused)["status"] == "ERROR"
    assert service.node(node)["provision_state"] == "available"

    server = boot(service, flavor, booted).json["server"]["id"]
    service.work()
    assert show(service, server)["status"] == "ACTIVE"
    info = service.node(node)["instance_info"]
    assert (info["boot_iso"], "image_source" in info) == (ISO, False)
    service.compute("DELETE", f"/servers/{server}")
    service.work()
    assert state_of(service.node(node)) == ("available", None)


def test_machines_with_ipmi(database_url: str, row: Rows) -> None:
    """They boot from the network, and what a boot server has for them is its own affair."""
    for deploy_interface, instance_info, reason in [
        ("ramdisk", {}, None),
        ("ramdisk", {"kernel": ISO, "ramdisk": ISO}, None),
        ("ramdisk", {"boot_iso": ISO}, "The boot interface 'ipxe' cannot boot instance_info/boot_iso"),
        ("direct", {"image_source": ISO}, "checksum"),
    ]:
        with row(deploy_interface, instance_info, reason):
            with Service(database_url, DEFAULT={"enabled_hardware_types": ["fake-hardware", "ipmi"]}) as service:
                service.add_conductor("c1")
                fields = {"deploy_interface": deploy_interface, "instance_info": instance_info}
                service.baremetal("POST", "/nodes", {"driver": "ipmi", "name": "n1", **fields})
                said = service.baremetal("GET", "/nodes/n1/validate").json["deploy"]
            assert said["result"] is (reason is None)
            assert reason is None or reason in said["reason"]
