# tier: first
"""Which hardware types and interfaces a conductor serves, and what the API makes of that."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete

from baremetal_sched.conductor.daemon import ConductorDaemon
from baremetal_sched.conductor.process import check_registration
from baremetal_sched.db.models import ConductorHardwareType
from baremetal_sched.drivers import registry
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import VendorMethod
from baremetal_sched.settings import load
from tests.service import Service

MANUAL = "manual-management"


def conductor(service: Service, host: str = "c1", group: str = "", **options: Any) -> ConductorDaemon:
    """A conductor with these options, registered."""
    overrides = {
        "DEFAULT": {"host": host, "enabled_hardware_types": [MANUAL], **options},
        "conductor": {"conductor_group": group},
    }
    added = ConductorDaemon(service.database, load(overrides=overrides))
    added.register()
    service.conductors[host] = added
    return added


def refusal(**options: Any) -> str:
    """Why a conductor with these options does not start."""
    with pytest.raises(InvalidValue) as refused:
        check_registration(load(overrides={"DEFAULT": options}))
    return str(refused.value)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for metadata of a package that is installed while the test runs; it is read when a driver is needed."""
    folder = tmp_path / "rack_drivers-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: rack-drivers\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._entry_points.cache_clear()
    yield folder / "entry_points.txt"
    registry._entry_points.cache_clear()


def test_interfaces_that_are_not_named_are_not_enabled(service: Service) -> None:
    conductor(service, enabled_power_interfaces=["agent"], enabled_inspect_interfaces=["agent", "no-inspect"])
    driver = service.baremetal("GET", f"/drivers/{MANUAL}").json
    assert driver["enabled_power_interfaces"] == ["agent"]
    assert driver["default_power_interface"] == "agent"
    assert driver["enabled_management_interfaces"] == ["fake", "noop"]
    body = {"driver": MANUAL, "power_interface": "fake"}
    refused = service.baremetal("POST", "/nodes", body, status=400)
    assert "Could not find the power interface 'fake'. Valid interfaces are ['agent']." in refused.text
    assert service.baremetal("POST", "/nodes", {"driver": MANUAL}).json["power_interface"] == "agent"


def test_a_default_that_is_named(service: Service) -> None:
    conductor(service, default_management_interface="fake", default_deploy_interface="noop")
    driver = service.baremetal("GET", f"/drivers/{MANUAL}").json
    assert (driver["default_management_interface"], driver["default_deploy_interface"]) == ("fake", "noop")
    node = service.baremetal("POST", "/nodes", {"driver": MANUAL, "name": "m1"}).json
    assert (node["management_interface"], node["deploy_interface"], node["boot_interface"]) == ("fake", "noop", "ipxe")
    patch = [{"op": "add", "path": "/deploy_interface", "value": "direct"}]
    assert service.baremetal("PATCH", "/nodes/m1", patch).json["deploy_interface"] == "direct"
    assert service.baremetal("PATCH", "/nodes/m1", [{"op": "remove", "path": "/deploy_interface"}]).json[
        "deploy_interface"
    ] == ("noop")


def test_conductors_of_a_group_may_differ_and_those_of_another_do_not_count(service: Service) -> None:
    conductor(service, "a", enabled_management_interfaces=["noop"])
    conductor(service, "b", enabled_management_interfaces=["fake"])
    conductor(service, "other", "rack2", enabled_management_interfaces=["noop"])
    for name in ("noop", "fake"):
        service.baremetal("POST", "/nodes", {"driver": MANUAL, "management_interface": name}, status=201)
    assert service.baremetal("POST", "/nodes", {"driver": MANUAL}).json["management_interface"] == "noop"
    body = {"driver": MANUAL, "management_interface": "fake", "conductor_group": "rack2"}
    refused = service.baremetal("POST", "/nodes", body, status=400)
    assert "Valid interfaces are ['noop']" in refused.text


def test_an_interface_that_is_enabled_no_more_fails_what_needs_it(service: Service) -> None:
    conductor(service)
    node = service.baremetal("POST", "/nodes", {"driver": MANUAL, "power_interface": "fake"}).json["uuid"]
    service.baremetal("PUT", f"/nodes/{node}/states/power", {"target": "power on"}, status=202)
    conductor(service, enabled_power_interfaces=["agent"])
    service.work()
    assert (
        "Could not find the power interface 'fake'. Valid interfaces are ['agent']." in service.node(node)["last_error"]
    )


def test_conductors_of_the_release_before_say_less(service: Service) -> None:
    """They register the names of interfaces and no more; nodes are created all the same."""
    conductor(service)
    service.database.write(lambda session: session.execute(delete(ConductorHardwareType)))
    node = service.baremetal("POST", "/nodes", {"driver": MANUAL, "power_interface": "fake"}).json
    assert (node["power_interface"], node["management_interface"]) == ("fake", "noop")
    body = {"driver": MANUAL, "bios_interface": "fake"}
    assert "Valid interfaces are ['no-bios']" in service.baremetal("POST", "/nodes", body, status=400).text
    assert service.baremetal("GET", f"/drivers/{MANUAL}/properties").json == {}


def test_what_stops_the_start(subtests: pytest.Subtests) -> None:
    for options, reason in [
        ({"enabled_hardware_types": "ilo"}, "Unknown hardware types: ilo. Installed are: fake-hardware, ipmi, man"),
        (
            {"enabled_power_interfaces": "fake,ilo"},
            "enabled_power_interfaces names 'ilo'. No installed package provides power interface 'ilo'",
        ),
        ({"enabled_raid_interfaces": "fake"}, "No raid interface of hardware type manual-management is enabled."),
        ({"default_boot_interface": "ilo"}, "default_boot_interface is 'ilo', which hardware type fake-hardware does"),
        ({"default_bios_interface": "fake"}, "default_bios_interface is 'fake', which hardware type manual-management"),
    ]:
        with subtests.test(msg=repr((options, reason))):
            assert reason in refusal(**options)


def test_a_library_that_is_missing_is_named_with_what_to_install(package: Path) -> None:
    package.write_text(f"[{registry.INTERFACES}]\npower.rack = nosuchlibrary.power:RackPower [rack]\n")
    reason = refusal(enabled_power_interfaces="agent,fake,rack")
    assert "enabled_power_interfaces names 'rack'. The power interface 'rack' cannot be loaded" in reason
    assert "No module named 'nosuchlibrary'" in reason
    assert "Install 'rack-drivers[rack]', which has what it needs." in reason


def test_what_is_not_named_and_cannot_be_loaded_is_left_out(
    service: Service, package: Path, tmp_path: Path, lines: io.StringIO
) -> None:
    package.write_text(
        f"[{registry.INTERFACES}]\npower.rack = nosuchlibrary.power:RackPower [rack]\n"
        f"[{registry.HARDWARE_TYPES}]\nrack = rack_type:RACK\n"
    )
    (tmp_path / "rack_type.py").write_text(
        "from dataclasses import replace\n"
        "from baremetal_sched.drivers.manual import MANUAL_MANAGEMENT as KNOWN\n"
        "RACK = replace(KNOWN, name='rack', interfaces={**KNOWN.interfaces, 'power': ('rack', 'fake')})\n"
    )
    conductor(service, enabled_hardware_types=["rack"])
    written = map(json.loads, lines.getvalue().splitlines())
    [line] = [line for line in written if line["event"] == "interface left out"]
    assert line["interface"] == "power.rack"
    assert "No module named 'nosuchlibrary'" in line["reason"]
    assert service.baremetal("GET", "/drivers/rack").json["enabled_power_interfaces"] == ["fake"]
    assert service.baremetal("POST", "/nodes", {"driver": "rack"}).json["power_interface"] == "fake"


def test_two_packages_with_one_name_are_refused(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(registry.LOADED, ("power", "fake"), raising=False)
    package.write_text(f"[{registry.INTERFACES}]\npower.fake = rack_drivers:RackPower\n")
    assert "Two installed packages have the entry point 'power.fake'" in refusal(enabled_power_interfaces="fake")


def test_methods_of_a_driver_are_those_of_its_default_vendor_interface(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = {"list_racks": VendorMethod("List all racks", ("GET",), asynchronous=False)}
    monkeypatch.setattr(registry.interface("vendor", "fake"), "driver_methods", methods, raising=False)
    conductor(service, enabled_hardware_types=["fake-hardware", MANUAL])
    shown = service.baremetal("GET", "/drivers/fake-hardware/vendor_passthru/methods").json
    assert (shown["list_racks"]["async"], shown["list_racks"]["http_methods"]) == (False, ["GET"])
    assert service.baremetal("GET", f"/drivers/{MANUAL}/vendor_passthru/methods").json == {}


def test_offers_cost_one_statement(service: Service) -> None:
    """And only where interfaces are decided about."""
    conductor(service)

    def asked(method: str, path: str, body: Any) -> int:
        with service.statements() as statements:
            service.baremetal(method, path, body)
        return sum("conductor_hardware_types" in statement for statement in statements)

    assert asked("POST", "/nodes", {"driver": MANUAL, "name": "m1"}) == 1
    assert asked("PATCH", "/nodes/m1", [{"op": "add", "path": "/extra/a", "value": 1}]) == 0
    assert asked("PATCH", "/nodes/m1", [{"op": "add", "path": "/power_interface", "value": "fake"}]) == 1
