"""Every transaction that writes loses a race once, and is run again: a driver is called once for each request."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.drivers import registry
from baremetal_sched.machines.machine import NOTHING
from tests.functional.conductor.test_driver_calls import await_settled, reservation
from tests.service import Service

MEDIA = {"device_type": "cdrom", "image_url": "http://images/a.iso"}


@dataclass(frozen=True)
class Asked:
    """A request for the node, its status, and the method of the driver that it is about."""

    method: str
    path: str
    body: Any
    status: int
    called: str


KINDS = {
    "boot device": Asked("PUT", "/management/boot_device", {"boot_device": "pxe"}, 204, "management.set_boot_device"),
    "read of a boot device": Asked("GET", "/management/boot_device", None, 200, "management.get_boot_device"),
    "supported boot devices": Asked(
        "GET", "/management/boot_device/supported", None, 200, "management.get_supported_boot_devices"
    ),
    "indicator": Asked("GET", "/management/indicators/led@system", None, 200, "management.get_indicator_state"),
    "NMI": Asked("PUT", "/management/inject_nmi", {}, 204, "management.inject_nmi"),
    "VIF": Asked("POST", "/vifs", {"id": "a"}, 204, "network.vif_attach"),
    "VIFs": Asked("GET", "/vifs", None, 200, "network.vif_list"),
    "validation": Asked("GET", "/validate", None, 200, "power.validate"),
    "boot mode": Asked("PUT", "/states/boot_mode", {"target": "uefi"}, 202, "management.set_boot_mode"),
    "secure boot": Asked("PUT", "/states/secure_boot", {"target": True}, 202, "management.set_secure_boot"),
    "media": Asked("POST", "/vmedia", MEDIA, 204, "management.attach_virtual_media"),
    "media that is detached": Asked("DELETE", "/vmedia", None, 204, "management.detach_virtual_media"),
    "console": Asked("PUT", "/states/console", {"enabled": True}, 202, "console.start_console"),
    "power": Asked("PUT", "/states/power", {"target": "power off"}, 202, "power.set_power_state"),
    "deployment": Asked("PUT", "/states/provision", {"target": "active"}, 202, "deploy.deploy"),
    "exclusive method": Asked("POST", "/vendor_passthru/third_method_sync", {"bar": "meow"}, 200, "vendor.call"),
    "shared method": Asked("POST", "/vendor_passthru/fourth_method_shared_lock", {"bar": "woof"}, 202, "vendor.call"),
    "asynchronous method": Asked("POST", "/vendor_passthru/second_method", {"bar": "kazoo"}, 202, "vendor.call"),
}

#: What methods say that fake machines do not have.
STAND_INS: dict[str, Any] = {
    "management.inject_nmi": None,
    "management.set_boot_mode": NOTHING,
    "management.set_secure_boot": NOTHING,
    "network.vif_attach": NOTHING,
    "network.vif_list": [],
}


@pytest.fixture
def losing(service: Service, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Counter[str]]:
    """Let every transaction lose a race once from now on; returns how many lost, and how many were committed."""
    confirm, lost = service.database.schema.confirm, set[int]()
    counted: Counter[str] = Counter()

    def lose_once(connection: Any) -> None:
        thread = threading.get_ident()
        if thread not in lost:
            lost.add(thread)
            counted["lost"] += 1
            raise StaleDataError
        lost.discard(thread)
        counted["committed"] += 1
        confirm(connection)

    def begin() -> Counter[str]:
        monkeypatch.setattr(service.database.schema, "confirm", lose_once)
        return counted

    return begin


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each method of the fake interfaces is called, validation of calls aside."""
    counted: Counter[str] = Counter()

    def note(kind: str, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            counted[f"{kind}.{name}"] += 1
            called = f"{kind}.{name}"
            return STAND_INS[called] if called in STAND_INS else original(*arguments, **named)

        return call

    for (kind, name), interface in list(registry.LOADED.items()):
        if name in ("fake", "noop"):
            for method in {each.called for each in KINDS.values() if each.called.startswith(f"{kind}.")}:
                _, _, attribute = method.partition(".")
                original = getattr(interface, attribute)
                monkeypatch.setattr(interface, attribute, note(kind, attribute, original))
    return counted


@pytest.mark.parametrize("kind", KINDS)
def test_a_driver_is_called_once_although_every_race_is_lost(
    service: Service, kind: str, losing: Callable[[], Counter[str]], called: Counter[str]
) -> None:
    asked = KINDS[kind]
    service.add_node("n1")
    called.clear()
    counted = losing()
    service.baremetal(asked.method, f"/nodes/n1{asked.path}", asked.body, status=asked.status)
    service.call_drivers("c1")
    service.work()
    await_settled(service)
    assert reservation(service) is None
    assert counted["lost"] == counted["committed"] > 0
    assert called[asked.called] == 1
